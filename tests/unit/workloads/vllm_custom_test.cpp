#include "workloads/traces/vllm_custom.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/workloads/trace_rows.hpp"

namespace headroom::vllm_custom_test {
namespace {

using Rows = std::vector<std::string>;

TEST_CASE("prompts for vLLM's custom data set are rows of estimated and stated lengths",
          "[workloads]") {
  const std::string sample = trace_rows::sample("vllm_custom.jsonl");
  CHECK(trace_rows::formats_of(trace_rows::bytes_of(sample)) == "vllm_custom");
  // 25, 28, 4, 29 and no bytes of UTF-8 over 4, rounded up.
  CHECK(trace_rows::in_file(sample) == Rows{"-,7,10", "-,7,1520", "-,1,0", "-,8,31", "-,0,5"});
  CHECK(trace_rows::line_ends_do_not_matter(trace_rows::bytes_of(sample)));
}

TEST_CASE("a prompt without the length of its answer is refused with the reason", "[workloads]") {
  CHECK(trace_rows::error_in(R"({"prompt": "What is the capital of India?"})") ==
        ":1: output_tokens is missing, expected the tokens of the answer (vLLM itself would use "
        "--custom-output-len) (0 rows read)");
  CHECK(trace_rows::error_in(R"({"prompt": ["a"], "output_tokens": 1})") ==
        ":1: prompt is an array, expected a text (0 rows read)");
  CHECK(trace_rows::error_in(R"({"prompt": "a", "output_tokens": -1})") ==
        ":1: output_tokens is '-1', expected an integer in 0 .. 2147483647 (0 rows read)");
}

}  // namespace
}  // namespace headroom::vllm_custom_test
