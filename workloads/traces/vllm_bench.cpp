#include "workloads/traces/vllm_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/trace_document.hpp"

namespace headroom {

// The lists of the file, each in its own order.
class VllmBenchReader::Columns final : public TraceDocument::Handler {
 public:
  void open(TraceDocument& at) override {
    if (at.path() == "itls/#") inter_token_ns_.push_back(0);
    note_list(at);
  }

  void value(TraceDocument& at) override {
    const std::string_view path = at.path();
    if (path == "itls/#/#") {
      add(at, inter_token_ns_.back());
    } else if (path == "input_lens/#") {
      input_.push_back(at.count());
    } else if (path == "output_lens/#") {
      output_.push_back(at.count());
    } else if (path == "start_times/#") {
      start_ns_.push_back(need_time(at));
    } else if (path == "ttfts/#") {
      ttft_ns_.push_back(need_time(at));
    } else if (path == "errors/#") {
      failed_.push_back(at.kind() != JsonNode::Kind::null && !at.text().empty());
    } else if (path == "itls/#") {
      at.refuse("an array of numbers");
    } else if (at.kind() != JsonNode::Kind::null && is_list(path)) {
      at.refuse("an array");
    }
  }

  // DataError: lists that are missing or differ in length.
  [[nodiscard]] std::vector<Row> rows(const TraceDocument& document) const {
    for (const std::string_view name : {"input_lens", "output_lens"}) {
      if (seen(name)) continue;
      throw DataError(
          fmt::format("{}: no {}: run vllm bench serve with --save-detailed, or SGLang's "
                      "bench_serving with --output-details",
                      document.place(), name));
    }
    check_size(document, "output_lens", output_.size());
    check_size(document, "start_times", start_ns_.size());
    check_size(document, "ttfts", ttft_ns_.size());
    check_size(document, "itls", inter_token_ns_.size());
    check_size(document, "errors", failed_.size());
    std::vector<Row> rows(input_.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = row(i);
    return rows;
  }

  [[nodiscard]] bool has_times() const { return seen("start_times"); }

 private:
  static constexpr std::array<std::string_view, 6> kLists = {
      "input_lens", "output_lens", "start_times", "ttfts", "itls", "errors"};

  static bool is_list(std::string_view path) {
    return std::ranges::find(kLists, path) != kLists.end();
  }
  void note_list(const TraceDocument& at) {
    const auto found = std::ranges::find(kLists, at.path());
    if (found == kLists.end()) return;
    if (at.kind() != JsonNode::Kind::array) at.refuse("an array");
    seen_[static_cast<std::size_t>(found - kLists.begin())] = true;
  }
  [[nodiscard]] bool seen(std::string_view list) const {
    return seen_[static_cast<std::size_t>(std::ranges::find(kLists, list) - kLists.begin())];
  }

  // So far that two of them can be added.
  static constexpr TimeNs kLongestNs = INT64_MAX / 2;

  static TimeNs need_time(const TraceDocument& at) {
    const std::optional<TimeNs> time_ns = at.time(kNsPerSecond);
    if (time_ns && *time_ns <= kLongestNs) return *time_ns;
    at.refuse("a number >= 0 within 146 years");
  }
  static void add(const TraceDocument& at, TimeNs& sum_ns) {
    const TimeNs time_ns = need_time(at);
    if (time_ns > kLongestNs - sum_ns) at.refuse("numbers with a sum within 146 years");
    sum_ns += time_ns;
  }

  void check_size(const TraceDocument& document, std::string_view list, std::size_t size) const {
    if (!seen(list) || size == input_.size()) return;
    throw DataError(fmt::format("{}: {} has {} elements, expected {}, as input_lens has",
                                document.place(), list, size, input_.size()));
  }

  [[nodiscard]] Row row(std::size_t i) const {
    Row row{.prompt_tokens = input_[i], .output_tokens = output_[i]};
    if (seen("start_times")) row.start_ns = start_ns_[i];
    if (seen("errors") && failed_[i]) row.output_tokens = 0;
    if (row.output_tokens == 0 || !seen("ttfts")) return row;
    row.ttft_ns = ttft_ns_[i];
    if (seen("itls")) row.e2el_ns = row.ttft_ns + inter_token_ns_[i];
    return row;
  }

  std::array<bool, kLists.size()> seen_{};
  std::vector<std::int32_t> input_;
  std::vector<std::int32_t> output_;
  std::vector<TimeNs> start_ns_;
  std::vector<TimeNs> ttft_ns_;
  std::vector<TimeNs> inter_token_ns_;  // sums
  std::vector<bool> failed_;
};

bool is_vllm_bench(const FileStart& start) {
  return start.bytes.starts_with('{') && json_mentions(start, "request_throughput") &&
         json_mentions(start, "total_input_tokens") && json_mentions(start, "completed");
}

VllmBenchReader::VllmBenchReader(LineReader& lines) {
  TraceDocument document(lines);
  Columns columns;
  if (document.read(columns)) rows_ = columns.rows(document);
  has_times_ = columns.has_times();

  class Skip final : public TraceDocument::Handler {
    void value(TraceDocument& /*at*/) override {}
  };
  Skip skip;
  int runs = 1;
  while (document.read(skip)) ++runs;
  if (runs != 1) {
    throw DataError(
        fmt::format("{}: {} runs in one file (--append-result; SGLang always appends), expected 1: "
                    "split it into one file per line",
                    lines.path(), runs));
  }
}

TraceClock VllmBenchReader::clock() const {
  return has_times_ ? TraceClock::absolute : TraceClock::none;
}

bool VllmBenchReader::next(TraceRecord& record) {
  if (at_ == rows_.size()) return false;
  const Row& row = rows_[at_++];
  record.time_ns = row.start_ns;
  record.prompt_tokens = row.prompt_tokens;
  record.output_tokens = row.output_tokens;
  record.measured_ttft_ns = row.ttft_ns;
  record.measured_e2el_ns = row.e2el_ns;
  return true;
}

}  // namespace headroom
