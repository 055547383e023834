// No format claims the files of another one.

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::trace_formats_test {

TEST_CASE("each sample of a table is recognised by its own format only", "[workloads]") {
  const std::vector<std::pair<std::string, std::string_view>> samples = {
      {"blis.csv", "blis"},         {"burstgpt.csv", "burstgpt"},
      {"headroom.csv", "headroom"}, {"splitwise.csv", "splitwise"},
      {"vidur.csv", "vidur"},       {"vidur_lengths.csv", "vidur"},
      {"blis.yaml", "blis"},        {"tracelab_csv.csv", "tracelab_csv"}};
  for (const auto& [name, expected] : samples) {
    LineReader lines(sample_path(name));
    const FileStart start = lines.start();
    std::vector<std::string_view> formats;
    for (const TraceFormat& format : trace_formats()) {
      if (format.recognises(start)) formats.push_back(format.name);
    }
    CHECK(formats == std::vector<std::string_view>{expected});
  }
}

}  // namespace headroom::trace_formats_test
