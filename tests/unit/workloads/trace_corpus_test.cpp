// What the trace fuzzer (tests/fuzz) starts from and what it found: read here without a fuzzer.

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/trace_bytes.hpp"
#include "tests/unit/workloads/trace_rows.hpp"
#include "tests/unit/workloads/trace_samples.hpp"

namespace headroom::trace_corpus_test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const std::string& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(fs::path(HEADROOM_SOURCE_DIR) / folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

TEST_CASE("whatever the fuzzer found is read or refused", "[workloads]") {
  TraceBytes file;
  std::vector<fs::path> inputs = files_below("tests/data/traces");
  REQUIRE(inputs.size() >= trace_samples::all().size());
  const std::vector<fs::path> found = files_below("tests/fuzz/corpus/traces");
  REQUIRE_FALSE(found.empty());
  inputs.insert(inputs.end(), found.begin(), found.end());
  for (const fs::path& input : inputs) {
    INFO(input.string());
    CHECK_NOTHROW(file.read(trace_rows::bytes_of(input.string())));
  }
}

TEST_CASE("the fuzzer's way of reading reads every sample", "[workloads]") {
  TraceBytes file;
  for (const trace_samples::Sample& sample : trace_samples::all()) {
    const std::string outcome = file.read(trace_samples::bytes_of(sample));
    CHECK(outcome.starts_with(std::string(sample.format) + ' '));
  }
}

}  // namespace
}  // namespace headroom::trace_corpus_test
