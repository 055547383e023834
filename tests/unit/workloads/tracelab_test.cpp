#include "workloads/traces/tracelab.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/workloads/trace_rows.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::tracelab_test {
namespace {

using Rows = std::vector<std::string>;

const std::uint64_t kA = text_id("claude:a");
const std::uint64_t kB = text_id("codex:b");

// The n-th piece that was added to a session's context.
trace_rows::Names names() {
  trace_rows::Names all{{{kA, "A"}, {kB, "B"}}};
  for (std::uint64_t n = 1; n < 10; ++n) {
    all.of.emplace_back(mixed_id(kA, n), "a" + std::to_string(n));
    all.of.emplace_back(mixed_id(kB, n), "b" + std::to_string(n));
  }
  return all;
}

std::string round(const std::string& keys) {
  return R"({"session_id": "s", "input_tokens_total": 10, "output_tokens": 1, "prefix_tokens": 4)" +
         (keys.empty() ? "" : ", " + keys) + "}\n";
}

const std::string kEvents =
    R"("timing_events": [{"event_type": "text", "timestamp": "2026-06-01T00:00:00Z"}])";

TEST_CASE("TraceLab rounds are read with their gaps and their session's context", "[workloads]") {
  // 1780292420 = 2026-06-01 05:40:20 UTC
  CHECK(trace_rows::in_file(trace_rows::sample("tracelab.jsonl"), names()) ==
        Rows{"1780292420000000000,300,50 class=big session=A prefix=a1:200|a2:100 answer=a3 "
             "e2el=3250000000",
             // No input: sent at the first answer.
             "1780292421000000000,40,30 thinking=12 class=small session=B prefix=b1:40 answer=b2 "
             "e2el=0",
             // Sent with the later of two results, 1 s after the answer; 340 of the context's 350
             // tokens were kept.
             "1780292424250000000,420,20 class=big session=A after=1000000000 "
             "prefix=a1:200|a2:100|a3:40|a4:80 answer=a5 e2el=1000000000",
             // No events: the tools of the round before took 1500.25 ms in all.
             "-,75,0 class=small session=B after=1500250000 prefix=b1:40|b2:30|b3:5",
             // Sent before the answer had ended; the context was cut to 100 tokens.
             "1780292425000000000,150,5 class=big session=A after=0 prefix=a1:100|a6:50 "
             "answer=a7 e2el=1000000000",
             "1780292460000000000,80,1 class=small session=B after=0 "
             "prefix=b1:40|b2:30|b3:5|b4:5 answer=b5"});
}

TEST_CASE("TraceLab rounds become a trace of sessions", "[workloads]") {
  const Trace trace = read_trace(trace_rows::sample("tracelab.jsonl"), {});
  CHECK(trace.format == "tracelab");
  CHECK(trace.clock == TraceClock::absolute);
  CHECK(trace.rows_read == 6);
  CHECK(trace.rows_dropped.output_only == 1);
  CHECK(trace.rows.back().time_ns == 40'000'000'000);
  CHECK(trace.classes == std::vector<std::string>{"big", "small"});
}

TEST_CASE("line ends do not matter to TraceLab rounds", "[workloads]") {
  CHECK(trace_rows::line_ends_do_not_matter(
      trace_rows::bytes_of(trace_rows::sample("tracelab.jsonl"))));
}

TEST_CASE("a malformed TraceLab round is refused with line, key and value", "[workloads]") {
  const std::string good = round(kEvents);
  const auto error = [&](const std::string& row) { return trace_rows::error_in(good + row); };
  CHECK(error(round(R"("timing_events": [{"event_type": "text", "timestamp": "noon"}])")) ==
        ":2: timestamp is 'noon', expected YYYY-MM-DDThh:mm:ss[.fraction][Z or +hh:mm], 1970 to "
        "2254 (1 rows read)");
  CHECK(error(round(R"("timing_events": [7])")) ==
        ":2: timing_events is an array, expected an array of objects (1 rows read)");
  CHECK(error(round(R"("tools": [{"tool_wall_latency_ms": "long"}])")) ==
        ":2: tool_wall_latency_ms is 'long', expected milliseconds, with a sum within 73 years "
        "(1 rows read)");
  CHECK(
      error(round(R"("tools": [{"tool_wall_latency_ms": 2e12},{"tool_wall_latency_ms": 2e12}])")) ==
      ":2: tool_wall_latency_ms is '2e12', expected milliseconds, with a sum within 73 years "
      "(1 rows read)");
  CHECK(error(round(R"("reasoning_output_tokens": -1)")) ==
        ":2: reasoning_output_tokens is '-1', expected an integer in 0 .. 2147483647 (1 rows "
        "read)");
  const std::string start = R"({"session_id": "s", "output_tokens": 1, )";
  CHECK(error(start + R"("input_tokens_total": 10, "prefix_tokens": 11})") ==
        ":2: prefix_tokens is '11', expected at most the 10 of input_tokens_total (1 rows read)");
  CHECK(error(start + R"("prefix_tokens": 11})") ==
        ":2: input_tokens_total is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(error(R"({"input_tokens_total": 10})") ==
        ":2: session_id is missing, expected the name of the session (1 rows read)");
  CHECK(trace_rows::error_in(round("")) ==
        ":1: timing_events is missing, expected at least one event with a time in the first round "
        "of the file (0 rows read)");
}

}  // namespace
}  // namespace headroom::tracelab_test
