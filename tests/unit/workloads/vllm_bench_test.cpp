#include "workloads/traces/vllm_bench.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/trace_rows.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::vllm_bench_test {
namespace {

using Rows = std::vector<std::string>;

// A result with these lists, on one line.
std::string result(const std::string& lists) {
  return R"({"completed": 1, "total_input_tokens": 1, "request_throughput": 1.0)" +
         (lists.empty() ? "" : ", " + lists) + "}";
}

const std::string kLengths = R"("input_lens": [7, 8], "output_lens": [1, 2])";

TEST_CASE("a detailed result of vllm bench serve is read with what was measured", "[workloads]") {
  // Times in ns; E2E latency = TTFT + sum of the gaps, each rounded to a ns.
  CHECK(trace_rows::in_file(trace_rows::sample("vllm_bench.json")) ==
        Rows{"1000250000000,512,4 ttft=250000000 e2el=310000000",
             "1000250000000,128,3 ttft=125000001 e2el=875000001",
             "1001500000000,256,0",  // failed
             "1001750000000,64,1 ttft=30100000 e2el=30100000",
             "1002000000000,300,8 ttft=500000000 e2el=750000000",
             "1001999000000,260,4 ttft=150000000 e2el=450000000"});
}

TEST_CASE("a result of vllm bench serve becomes a trace, failed requests counted", "[workloads]") {
  const Trace trace = read_trace(trace_rows::sample("vllm_bench.json"), {});
  CHECK(trace.format == "vllm_bench");
  CHECK(trace.clock == TraceClock::absolute);
  CHECK(trace.offset_ns == 1'000'250'000'000);
  CHECK(trace.rows_read == 6);
  CHECK(trace.rows_dropped.output_only == 1);
  CHECK(trace.backward_steps == 1);
  CHECK(trace.rows.back().time_ns == 1'750'000'000);
}

TEST_CASE("without start_times the requests of a result have no time", "[workloads]") {
  CHECK(trace_rows::in(result(kLengths)) == Rows{"-,7,1", "-,8,2"});
  CHECK(trace_rows::in(result(kLengths + R"(, "start_times": null)")) == Rows{"-,7,1", "-,8,2"});
  const TempFile file(result(kLengths + R"(, "ttfts": [0.5, 0.25])"));
  CHECK(read_trace(file.path(), {}).clock == TraceClock::none);
  CHECK(trace_rows::in_file(file.path()) == Rows{"-,7,1 ttft=500000000", "-,8,2 ttft=250000000"});
}

TEST_CASE("an error or an answer without tokens makes a failed request", "[workloads]") {
  CHECK(trace_rows::in(result(kLengths + R"(, "errors": ["", "timeout"], "ttfts": [1, 2])")) ==
        Rows{"-,7,1 ttft=1000000000", "-,8,0"});
  CHECK(trace_rows::in(
            result(R"("input_lens": [7], "output_lens": [0], "errors": [null], "ttfts": [1])")) ==
        Rows{"-,7,0"});
}

TEST_CASE("line ends do not matter to a result of vllm bench serve", "[workloads]") {
  CHECK(trace_rows::line_ends_do_not_matter(
      trace_rows::bytes_of(trace_rows::sample("vllm_bench.json"))));
}

TEST_CASE("SGLang's result at its default rate is read", "[workloads]") {
  // python -m sglang.bench_serving --output-details: request_rate is Infinity, which is no JSON.
  CHECK(trace_rows::in(result(R"("request_rate": Infinity, "generated_texts": ["In \"NaN\\\", N"],)"
                              R"( "input_lens": [7], "output_lens": [3], "ttfts": [0.5],)"
                              R"( "itls": [[0.25]], "max_concurrency": null)")) ==
        Rows{"-,7,3 ttft=500000000 e2el=750000000"});
  // In a word that ends a block of the file.
  const std::string far(262'144, ' ');
  for (std::size_t cut = 0; cut < 12; ++cut) {
    CHECK(trace_rows::in(result(far.substr(cut + 60) + R"("request_rate":Infinity,)" + kLengths)) ==
          Rows{"-,7,1", "-,8,2"});
  }
  CHECK(trace_rows::error_in(result(R"("request_rate": Nothing)")).starts_with(":1: malformed"));
  CHECK(trace_rows::error_in(result(R"("request_rate": -Infinity)")).starts_with(":1: malformed"));
}

TEST_CASE("several runs in one result file are refused by their number", "[workloads]") {
  const std::string run = result(kLengths);
  CHECK(trace_rows::error_in(run + "\n" + run + "\n" + run) ==
        ": 3 runs in one file (--append-result; SGLang always appends), expected 1: split it into "
        "one file per line");
}

TEST_CASE("a result without details or with lists that do not fit is refused", "[workloads]") {
  CHECK(trace_rows::error_in(result("")) ==
        ":1: no input_lens: run vllm bench serve with --save-detailed, or SGLang's bench_serving "
        "with --output-details");
  CHECK(trace_rows::error_in(result(R"("input_lens": [1])")) ==
        ":1: no output_lens: run vllm bench serve with --save-detailed, or SGLang's bench_serving "
        "with --output-details");
  CHECK(trace_rows::error_in(result(kLengths + R"(, "ttfts": [0.5])")) ==
        ":1: ttfts has 1 elements, expected 2, as input_lens has");
  CHECK(trace_rows::error_in(result(kLengths + R"(, "itls": [[], [], []])")) ==
        ":1: itls has 3 elements, expected 2, as input_lens has");
}

TEST_CASE("a malformed value of a result is refused with its place in the document",
          "[workloads]") {
  CHECK(trace_rows::error_in("\n" + result("\n\"output_lens\": [1, -2]")) ==
        ":3: output_lens[1] is '-2', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(trace_rows::error_in(result(R"("input_lens": [1.5])")) ==
        ":1: input_lens[0] is '1.5', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(trace_rows::error_in(result(R"("input_lens": 4)")) ==
        ":1: input_lens is '4', expected an array (0 rows read)");
  CHECK(trace_rows::error_in(result(R"("ttfts": {"a": 1})")) ==
        ":1: ttfts is an object, expected an array (0 rows read)");
  CHECK(trace_rows::error_in(result(R"("itls": [[0.5], 0.25])")) ==
        ":1: itls[1] is '0.25', expected an array of numbers (0 rows read)");
  CHECK(trace_rows::error_in(result(R"("itls": [[0.5, null]])")) ==
        ":1: itls[0][1] is null, expected a number >= 0 within 146 years (0 rows read)");
  CHECK(trace_rows::error_in(result(R"("itls": [[3e9, 3e9]])")) ==
        ":1: itls[0][1] is '3e9', expected numbers with a sum within 146 years (0 rows read)");
  CHECK(trace_rows::error_in(result(R"("start_times": [-1.0])")) ==
        ":1: start_times[0] is '-1.0', expected a number >= 0 within 285 years (0 rows read)");
}

TEST_CASE("a result that is no JSON is refused with its line", "[workloads]") {
  CHECK(trace_rows::error_in(result("\n\"ttfts\": [NaN]")) ==
        ":2: ttfts[0] is 'NaN', expected a number >= 0 within 285 years (0 rows read)");
  CHECK(trace_rows::error_in(result(kLengths).substr(0, 80)) ==
        ":1: malformed JSON at byte 81 (0 rows read)");
  CHECK(trace_rows::error_in(result(kLengths) + "\n3\n") == ":2: expected a JSON object or array");
}

}  // namespace
}  // namespace headroom::vllm_bench_test
