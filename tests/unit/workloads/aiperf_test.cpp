#include "workloads/traces/aiperf.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/workloads/trace_rows.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::aiperf_test {
namespace {

using Rows = std::vector<std::string>;

std::string record(const std::string& metrics, const std::string& metadata = "") {
  return R"({"metadata": {"request_start_ns": 5)" + metadata + R"(}, "metrics": {)" + metrics +
         "}}\n";
}

const trace_rows::Names kUsers = {{{text_id("u-1"), "u-1"},
                                   {text_id("u-2"), "u-2"},
                                   {text_id("u-3"), "u-3"},
                                   {text_id("c-9"), "c-9"}}};

TEST_CASE("AIPerf records are read with what was measured", "[workloads]") {
  CHECK(trace_rows::in_file(trace_rows::sample("aiperf.jsonl"), kUsers) ==
        Rows{"1760000100532900361,560,11 class=warmup session=u-1 ttft=250500000 e2el=500000000",
             // 12 tokens of answer after 30 of reasoning; 0.5 sec
             "1760000100600000000,40,42 thinking=30 class=profiling session=u-2 e2el=500000000",
             // sent 500,000,001 ns after the end of the turn before it
             "1760000101532900362,600,20 thinking=5 class=profiling session=u-1 after=500000001 "
             "ttft=4875125 e2el=200000000",
             "1760000101300000000,77,0 class=profiling session=u-3",  // cancelled
             "1760000101400000000,5,0 class=profiling session=c-9",   // an error
             "1760000101600000000,0,0"});
}

TEST_CASE("AIPerf records of before October 2025 are read", "[workloads]") {
  const auto old = [](const std::string& turn, const std::string& start, const std::string& more) {
    return R"({"metadata": {"x_correlation_id": "u-1", "turn_index": )" + turn +
           R"(, "timestamp_ns": )" + start + R"(, "credit_phase": "profiling")" + more +
           R"(}, "metrics": {"input_sequence_length": {"value": 550, "unit": "tokens"},)"
           R"( "ttft": {"value": 250.5, "unit": "ms"}, "output_token_count": {"value": 62},)"
           R"( "request_latency": {"value": 500, "unit": "ms"}}})"
           "\n";
  };
  CHECK(trace_rows::in(old("0", "1759522419000000000", "") + old("1", "1759522420000000000", "") +
                           old("2", "1759522421000000000", R"(, "error": {"code": 499})"),
                       kUsers) ==
        Rows{"1759522419000000000,550,62 class=profiling session=u-1 ttft=250500000 e2el=500000000",
             "1759522420000000000,550,62 class=profiling session=u-1 after=500000000 "
             "ttft=250500000 e2el=500000000",
             "1759522421000000000,550,0 class=profiling session=u-1 after=500000000"});
}

TEST_CASE("AIPerf's summary and GenAI-Perf's profile are refused with the reason", "[workloads]") {
  CHECK(trace_rows::error_in(R"({"request_latency": {"unit": "ms"}, "input_config": {}})") ==
        ": is AIPerf's summary of a run, not its requests: use profile_export.jsonl");
  CHECK(trace_rows::error_in(R"({"experiments": [{"requests": [{"timestamp": 1,)"
                             R"( "response_timestamps": [2]}]}]})")
            .starts_with(": is a GenAI-Perf profile, which has no token counts"));
}

TEST_CASE("AIPerf records become a trace in order of their starts", "[workloads]") {
  const Trace trace = read_trace(trace_rows::sample("aiperf.jsonl"), {});
  CHECK(trace.format == "aiperf");
  CHECK(trace.backward_steps == 1);
  CHECK(trace.rows_dropped.output_only == 2);
  CHECK(trace.rows_dropped.both == 1);
  REQUIRE(trace.rows.size() == 3);
  CHECK(trace.rows[1].prompt_tokens == 40);
}

TEST_CASE("line ends do not matter to AIPerf records", "[workloads]") {
  CHECK(trace_rows::line_ends_do_not_matter(
      trace_rows::bytes_of(trace_rows::sample("aiperf.jsonl"))));
}

TEST_CASE("a malformed AIPerf record is refused with line, key and value", "[workloads]") {
  const std::string good = record("");
  CHECK(trace_rows::error_in(good + record(R"("input_sequence_length": {"value": -1})")) ==
        ":2: value is '-1', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(trace_rows::error_in(good + record(R"("output_sequence_length": 7)")) ==
        ":2: output_sequence_length is '7', expected an object with a value (1 rows read)");
  CHECK(trace_rows::error_in(good +
                             record(R"("request_latency": {"value": 1, "unit": "fortnights"})")) ==
        ":2: unit is 'fortnights', expected ns, us, ms, s or sec (1 rows read)");
  CHECK(trace_rows::error_in(good + record(R"("request_latency": {"value": -1, "unit": "s"})")) ==
        ":2: value is '-1', expected a number >= 0 within 285 years (1 rows read)");
  CHECK(trace_rows::error_in(good + record(R"("output_token_count": {"value": 2147483647},)"
                                           R"( "reasoning_token_count": {"value": 1})")) ==
        ":2: output_token_count is an object, expected less than 2^31 (1 rows read)");
  CHECK(trace_rows::error_in(good + R"({"metadata": {}, "metrics": {}})") ==
        ":2: request_start_ns is missing, expected nanoseconds since 1970 (1 rows read)");
  CHECK(trace_rows::error_in(good + R"({"metadata": {"request_start_ns": 1}})") ==
        ":2: metrics is missing, expected an object (1 rows read)");
  CHECK(trace_rows::error_in(good + R"({"metrics": {}})") ==
        ":2: metadata is missing, expected an object (1 rows read)");
}

}  // namespace
}  // namespace headroom::aiperf_test
