#include "workloads/traces/guidellm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/json_values.hpp"
#include "workloads/traces/trace_document.hpp"

namespace headroom {
namespace {

constexpr std::string_view kBenchmark = "benchmarks/#";
constexpr std::string_view kRequests = "benchmarks/#/requests/";

// "successful" of "benchmarks/#/requests/successful/#/rest", and `rest`; nothing of other paths.
struct RequestPath {
  std::string_view list;
  std::string_view rest;
};

std::optional<RequestPath> request_path(std::string_view path) {
  if (!path.starts_with(kRequests)) return std::nullopt;
  path.remove_prefix(kRequests.size());
  const std::size_t slash = std::min(path.find('/'), path.size());
  RequestPath found{.list = path.substr(0, slash), .rest = {}};
  path.remove_prefix(slash);
  if (!path.starts_with("/#")) return std::nullopt;
  path.remove_prefix(2);
  if (path.starts_with('/')) path.remove_prefix(1);
  found.rest = path;
  return found;
}

}  // namespace

class GuideLlmReader::Report final : public TraceDocument::Handler {
 public:
  void open(TraceDocument& at) override {
    if (at.path() == "benchmarks") has_benchmarks_ = true;
    if (at.path() == kBenchmark) {
      benchmarks_.emplace_back();
      return;
    }
    if (at.path() == "benchmarks/#/requests/successful") benchmarks_.back().has_requests = true;
    const std::optional<RequestPath> request = request_path(at.path());
    if (!request || !request->rest.empty()) return;
    if (benchmarks_.empty()) at.refuse("a request of a benchmark");
    row_ = {};
    row_.benchmark = static_cast<std::uint32_t>(benchmarks_.size() - 1);
  }

  void value(TraceDocument& at) override {
    if (const std::optional<RequestPath> request = request_path(at.path())) {
      if (request->rest.empty()) at.refuse("an object");
      read_request(at, request->rest);
    } else if (!benchmarks_.empty()) {
      read_benchmark(at);
    }
  }

  void close(TraceDocument& at) override {
    if (at.path() == kBenchmark) check_complete(at);
    const std::optional<RequestPath> request = request_path(at.path());
    if (!request || !request->rest.empty()) return;
    if (row_.start_ns == kNoTime) at.refuse("an object with request_start_time");
    if (request->list == "successful") {
      ++benchmarks_.back().successful;
    } else {
      row_.output_tokens = 0;
      row_.ttft_ns = -1;
      row_.e2el_ns = -1;
    }
    rows_.push_back(row_);
    at.count_row();
  }

  // At the end of one of the file's JSON values.
  void check_report(const TraceDocument& at) {
    if (!std::exchange(has_benchmarks_, false)) {
      throw DataError(fmt::format("{}: expected a report with benchmarks ({} rows read)",
                                  at.place(), at.rows_read()));
    }
  }

  // In order of time.
  [[nodiscard]] std::vector<Row> take_rows() {
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.start_ns < b.start_ns; });
    return std::move(rows_);
  }
  [[nodiscard]] std::vector<std::string> classes() const {
    std::vector<std::string> names;
    if (benchmarks_.size() < 2) return names;
    for (const Benchmark& benchmark : benchmarks_) {
      names.push_back(fmt::format("{}:{}", names.size(), benchmark.strategy));
    }
    return names;
  }

 private:
  struct Benchmark {
    std::string strategy;
    bool has_requests = false;
    std::int32_t successful = 0;                  // in the list
    std::optional<std::int32_t> successful_made;  // in the benchmark
  };

  void read_request(TraceDocument& at, std::string_view key) {
    if (key == "prompt_tokens") {
      row_.prompt_tokens = at.count();
    } else if (key == "output_tokens") {
      row_.output_tokens = at.count();
    } else if (key == "request_start_time" || key == "start_time") {
      row_.start_ns = at.time(kNsPerSecond).value_or(kNoTime);
    } else if (key == "request_latency") {
      row_.e2el_ns = at.time(kNsPerSecond).value_or(-1);
    } else if (key == "time_to_first_token_ms") {
      row_.ttft_ns = at.time(kNsPerMs).value_or(-1);
    } else if (key == "info/conversation_id" && at.kind() != JsonNode::Kind::null) {
      row_.session = text_id(at.text());
    }
  }

  void read_benchmark(TraceDocument& at) {
    const std::string_view path = at.path();
    if (path == "benchmarks/#/config/strategy/type_" ||
        path == "benchmarks/#/args/strategy/type_") {
      benchmarks_.back().strategy = at.text();
    } else if (path == "benchmarks/#/scheduler_metrics/requests_made/successful" ||
               path == "benchmarks/#/total_count/successful") {
      benchmarks_.back().successful_made = at.count();
    }
  }

  void check_complete(TraceDocument& at) {
    const Benchmark& benchmark = benchmarks_.back();
    if (!benchmark.has_requests) at.refuse("an object with requests.successful");
    if (benchmark.successful_made.value_or(0) <= benchmark.successful) return;
    throw DataError(
        fmt::format("{}: benchmark {} lists only {} of its {} successful requests: run guidellm "
                    "without --sample-requests ({} rows read)",
                    at.place(), benchmarks_.size() - 1, benchmark.successful,
                    *benchmark.successful_made, at.rows_read()));
  }

  std::vector<Benchmark> benchmarks_;
  std::vector<Row> rows_;
  Row row_;
  bool has_benchmarks_ = false;  // in the JSON value that is read
};

bool is_guidellm(const FileStart& start) {
  return start.bytes.starts_with('{') && json_mentions(start, "benchmarks") &&
         start.bytes.find("\"generative_benchmark\"") != std::string_view::npos;
}

GuideLlmReader::GuideLlmReader(LineReader& lines) {
  TraceDocument document(lines);
  Report report;
  while (document.read(report)) report.check_report(document);
  rows_ = report.take_rows();
  classes_ = report.classes();
  find_gaps();
}

void GuideLlmReader::find_gaps() {
  std::unordered_map<std::uint64_t, TimeNs> ends;  // of the latest request by session
  for (Row& row : rows_) {
    if (row.session == kNoSession) continue;
    const auto [previous, first] = ends.try_emplace(row.session, kNoTime);
    if (!first && previous->second != kNoTime && row.start_ns >= previous->second) {
      row.after_previous_ns = row.start_ns - previous->second;
    }
    const bool ended = row.e2el_ns >= 0 && row.e2el_ns <= INT64_MAX - row.start_ns;
    previous->second = ended ? row.start_ns + row.e2el_ns : kNoTime;
  }
}

bool GuideLlmReader::next(TraceRecord& record) {
  if (at_ == rows_.size()) return false;
  const Row& row = rows_[at_++];
  record.time_ns = row.start_ns;
  record.prompt_tokens = row.prompt_tokens;
  record.output_tokens = row.output_tokens;
  record.class_name = classes_.empty() ? std::string_view() : classes_[row.benchmark];
  record.session = row.session;
  record.after_previous_ns = row.after_previous_ns;
  record.measured_ttft_ns = row.ttft_ns;
  record.measured_e2el_ns = row.e2el_ns;
  return true;
}

}  // namespace headroom
