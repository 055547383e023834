#include "tests/unit/workloads/trace_samples.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "sim/kernel/errors.hpp"
#include "tests/unit/workloads/trace_rows.hpp"

namespace headroom::trace_samples {
namespace {

namespace fs = std::filesystem;

constexpr std::array<Sample, 21> kSamples = {{
    {.file = "aibrix.jsonl", .format = "aibrix", .layout = Layout::json_lines, .late_line = 3},
    {.file = "aiperf.jsonl", .format = "aiperf", .layout = Layout::json_lines, .late_line = 2},
    {.file = "apex.jsonl", .format = "apex", .layout = Layout::json_lines, .late_line = 2},
    {.file = "azure.csv", .format = "azure", .layout = Layout::table, .late_line = 6},
    {.file = "bailian.jsonl", .format = "bailian", .layout = Layout::json_lines, .late_line = 2},
    {.file = "blis.csv",
     .format = "blis",
     .layout = Layout::table,
     .idle_end = "stop",
     .late_line = 5},
    {.file = "burstgpt.csv",
     .format = "burstgpt",
     .layout = Layout::table,
     .idle_end = "API log",
     .late_line = 4},
    {.file = "guidellm.json", .format = "guidellm", .layout = Layout::document},
    {.file = "headroom.csv", .format = "headroom", .layout = Layout::table, .late_line = 3},
    {.file = "llmservingsim.jsonl",
     .format = "llmservingsim",
     .layout = Layout::json_lines,
     .late_line = 4},
    {.file = "mooncake.jsonl", .format = "mooncake", .layout = Layout::json_lines, .late_line = 9},
    {.file = "ragpulse/0_trace.jsonl",
     .format = "ragpulse",
     .layout = Layout::json_lines,
     .late_line = 2},
    {.file = "sharegpt.json", .format = "sharegpt", .layout = Layout::document},
    {.file = "splitwise.csv",
     .format = "splitwise",
     .layout = Layout::table,
     .idle_end = "0",
     .late_line = 3},
    {.file = "tracelab.jsonl", .format = "tracelab", .layout = Layout::json_lines, .late_line = 2},
    {.file = "tracelab_csv.csv",
     .format = "tracelab_csv",
     .layout = Layout::table,
     .idle_end = "0",
     .late_line = 8},
    {.file = "vidur.csv", .format = "vidur", .layout = Layout::table, .late_line = 3},
    {.file = "vidur_lengths.csv", .format = "vidur", .layout = Layout::table},
    {.file = "vllm_bench.json", .format = "vllm_bench", .layout = Layout::document},
    {.file = "vllm_custom.jsonl", .format = "vllm_custom", .layout = Layout::json_lines},
    {.file = "weka.jsonl", .format = "weka", .layout = Layout::json_lines},
}};

fs::path folder_of_samples() { return fs::path(HEADROOM_SOURCE_DIR) / "tests" / "data" / "traces"; }

}  // namespace

std::span<const Sample> all() { return kSamples; }

std::string bytes_of(const Sample& sample) {
  return trace_rows::bytes_of((folder_of_samples() / sample.file).string());
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::string joined(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::string gzip(std::string_view bytes) {
  constexpr int kGzip = 16 + MAX_WBITS;  // zlib.h: the gzip format
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) ==
          Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  std::string text(bytes);
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

Place::Place(const Sample& sample) {
  static int number = 0;
  ++number;
  folder_ = fs::temp_directory_path() /
            ("headroom_traces_" + std::to_string(::getpid()) + "_" + std::to_string(number));
  fs::create_directories(folder_);
  const fs::path original = folder_of_samples() / sample.file;
  const bool has_folder = original.parent_path() != folder_of_samples();
  for (const fs::directory_entry& entry : fs::directory_iterator(original.parent_path())) {
    const bool belongs = has_folder || entry.path().stem() == original.stem();
    if (belongs && entry.is_regular_file() && entry.path() != original) {
      fs::copy_file(entry.path(), folder_ / entry.path().filename());
    }
  }
  path_ = folder_ / original.filename();
  fs::create_symlink(memory_.path(), path_);
}

Place::~Place() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Place::Outcome Place::outcome(std::string_view bytes) const {
  write(bytes);
  return outcome();
}

Place::Outcome Place::outcome() const {
  try {
    return {.records = trace_rows::in_file(path()), .error = {}};
  } catch (const DataError& error) {
    const std::string message = error.what();
    const bool has_path = message.starts_with(path());
    return {.records = {},
            .error = has_path ? message.substr(path().size()) : "no path: " + message};
  }
}

}  // namespace headroom::trace_samples
