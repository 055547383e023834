#include "workloads/traces/guidellm.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/trace_rows.hpp"
#include "workloads/traces/detect.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom::guidellm_test {
namespace {

using Rows = std::vector<std::string>;

// A report of one benchmark with these keys.
std::string report(const std::string& keys) {
  return R"({"benchmarks": [{"type_": "generative_benchmark", )" + keys + "}]}";
}

std::string successful(const std::string& requests) {
  return report(R"("requests": {"successful": [)" + requests + R"(], "errored": []})");
}

const trace_rows::Names kChats = {{{text_id("chat-1"), "chat-1"},
                                   {text_id("chat-2"), "chat-2"},
                                   {text_id("chat-3"), "chat-3"},
                                   {text_id("chat-4"), "chat-4"}}};

TEST_CASE("all benchmarks of a GuideLLM report are read in order of time", "[workloads]") {
  CHECK(trace_rows::in_file(trace_rows::sample("guidellm.json"), kChats) ==
        Rows{"1760000000500000000,100,20 class=0:synchronous session=chat-1 ttft=250125000 "
             "e2el=1500000000",
             "1760000001250000000,80,0 class=0:synchronous session=chat-2",  // cut off
             // 0.75 s after the answer that came 1.5 s after 0.5 s
             "1760000002750000000,130,30 class=0:synchronous session=chat-1 after=750000000 "
             "ttft=100000000 e2el=1000000000",
             "1760000003000000000,50,0 class=0:synchronous",
             "1760000009500000000,100,0 class=1:constant session=chat-4",  // an error
             "1760000010000000001,100,5 class=1:constant session=chat-3 ttft=80000000 "
             "e2el=500000000"});
}

TEST_CASE("a GuideLLM report becomes a trace without backward steps", "[workloads]") {
  const Trace trace = read_trace(trace_rows::sample("guidellm.json"), {});
  CHECK(trace.format == "guidellm");
  CHECK(trace.rows_read == 6);
  CHECK(trace.rows_dropped.output_only == 3);
  CHECK(trace.backward_steps == 0);
  CHECK(trace.classes == std::vector<std::string>{"0:synchronous", "1:constant"});
}

TEST_CASE("a report of one benchmark in GuideLLM's older layout has no classes", "[workloads]") {
  const std::string request =
      R"({"type_": "generative_text_response", "scheduler_info": {"start_time": 9},)"
      R"( "prompt_tokens": 3, "output_tokens": 4, "start_time": 2.5, "end_time": 3.0,)"
      R"( "request_latency": 0.5, "time_to_first_token_ms": 125.5})";
  CHECK(trace_rows::in(report(R"("args": {"strategy": {"type_": "throughput"}},)"
                              R"( "total_count": {"successful": 1},)"
                              R"( "requests": {"successful": [)" +
                              request + "]}")) ==
        Rows{"2500000000,3,4 ttft=125500000 e2el=500000000"});
}

TEST_CASE("line ends do not matter to a GuideLLM report", "[workloads]") {
  CHECK(trace_rows::line_ends_do_not_matter(
      trace_rows::bytes_of(trace_rows::sample("guidellm.json"))));
}

TEST_CASE("a GuideLLM report that is a sample of its requests is refused", "[workloads]") {
  const std::string one = R"("requests": {"successful": [{"request_start_time": 1}]})";
  CHECK(trace_rows::error_in(
            report(R"("scheduler_metrics": {"requests_made": {"successful": 3}}, )" + one)) ==
        ":1: benchmark 0 lists only 1 of its 3 successful requests: run guidellm "
        "without --sample-requests (1 rows read)");
  CHECK(trace_rows::error_in(report(R"("total_count": {"successful": 2}, )" + one)) ==
        ":1: benchmark 0 lists only 1 of its 2 successful requests: run guidellm "
        "without --sample-requests (1 rows read)");
}

TEST_CASE("a malformed request of a GuideLLM report is refused with its place", "[workloads]") {
  const std::string good = R"({"request_start_time": 1, "prompt_tokens": 1}, )";
  CHECK(trace_rows::error_in(successful(good + "\n" + R"({"prompt_tokens": "x"})")) ==
        ":2: benchmarks[0].requests.successful[1].prompt_tokens is 'x', expected an integer in "
        "0 .. 2147483647 (1 rows read)");
  CHECK(trace_rows::error_in(successful(R"({"request_latency": -0.5})")) ==
        ":1: benchmarks[0].requests.successful[0].request_latency is '-0.5', expected a number "
        ">= 0 within 285 years (0 rows read)");
  CHECK(trace_rows::error_in(successful(R"({"prompt_tokens": 1})")) ==
        ":1: benchmarks[0].requests.successful[0] is an object, expected an object with "
        "request_start_time (0 rows read)");
  CHECK(trace_rows::error_in(successful("7")) ==
        ":1: benchmarks[0].requests.successful[0] is '7', expected an object (0 rows read)");
  CHECK(trace_rows::error_in(report(R"("requests": null)")) ==
        ":1: benchmarks[0] is an object, expected an object with requests.successful (0 rows "
        "read)");
}

TEST_CASE("keys cannot pass for paths of a GuideLLM report", "[workloads]") {
  CHECK(trace_rows::error_in(R"({"benchmarks/#/requests/successful": [{"request_start_time": 1}],)"
                             R"( "benchmarks": [{"type_": "generative_benchmark"}]})") ==
        ":1: benchmarks[0] is an object, expected an object with requests.successful (0 rows "
        "read)");
}

}  // namespace
}  // namespace headroom::guidellm_test
