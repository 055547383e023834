// The formats that are benchmark results, recordings of agents and conversations: which one a file
// has.

#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/workloads/trace_rows.hpp"

namespace headroom::document_formats_test {
namespace {

std::string formats_of_sample(const std::string& name) {
  return trace_rows::formats_of(trace_rows::bytes_of(trace_rows::sample(name)));
}

TEST_CASE("each made-up result, recording and conversation has one format", "[workloads]") {
  CHECK(formats_of_sample("aiperf.jsonl") == "aiperf");
  CHECK(formats_of_sample("guidellm.json") == "guidellm");
  CHECK(formats_of_sample("sharegpt.json") == "sharegpt");
  CHECK(formats_of_sample("tracelab.jsonl") == "tracelab");
  CHECK(formats_of_sample("vllm_bench.json") == "vllm_bench");
  CHECK(formats_of_sample("weka.jsonl") == "weka");
}

TEST_CASE("what a file of texts quotes does not make it another format", "[workloads]") {
  CHECK(trace_rows::formats_of(R"([{"conversations": [{"value": "{\"metrics\": 1, )"
                               R"(\"request_start_ns\": 2, \"hash_ids\": [1]}"}]}])") ==
        "sharegpt");
}

TEST_CASE("files of other kinds are none of these formats", "[workloads]") {
  CHECK(trace_rows::formats_of("[]").empty());
  CHECK(trace_rows::formats_of("[1, 2]").empty());
  CHECK(trace_rows::formats_of("[").empty());
  CHECK(trace_rows::formats_of(R"({"benchmarks": []})").empty());
  CHECK(trace_rows::formats_of(R"({"requests": []})").empty());
  CHECK(trace_rows::formats_of(R"({"metadata": {"request_start_ns": 1}, "payload": {}})").empty());
}

}  // namespace
}  // namespace headroom::document_formats_test
