#include "workloads/traces/apex.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/workloads/record_text.hpp"
#include "tests/unit/workloads/text_file.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::apex_test {
namespace {

using Lines = std::vector<std::string>;

const std::string kGood = R"({"ContextTokens": 3, "GeneratedTokens": 4, "StartTimeOffset": 5})"
                          "\n";

TEST_CASE("rows of APEX+ are read with their offsets in nanoseconds", "[workloads]") {
  CHECK(records_of_sample("apex.jsonl") == Lines{"3772092432,304,82", "4572273200,497,178",
                                                 "4572273200,279,0", "4000000000,17,117",
                                                 "6111856069,1,1",  // .5 ns rounds up
                                                 "18895255548,264,111"});
  const Trace trace = read_trace(sample_path("apex.jsonl"), {});
  CHECK(trace.format == "apex");
  CHECK(trace.offset_ns == 3'772'092'432);
  CHECK(trace.backward_steps == 1);
  CHECK(trace.rows_dropped.output_only == 1);
  CHECK(trace.rows.size() == 5);
}

TEST_CASE("line ends do not matter to APEX+'s rows", "[workloads]") {
  const Lines expected = records_of_sample("apex.jsonl");
  for (const std::string& text : same_files(text_file(sample_path("apex.jsonl")))) {
    CHECK(records_of(text) == expected);
  }
}

TEST_CASE("malformed values of APEX+'s rows are refused by key and value", "[workloads]") {
  const auto second_row = [](const std::string& text) { return data_error(kGood + text); };
  CHECK(second_row(R"({"ContextTokens": -3, "GeneratedTokens": 4, "StartTimeOffset": 5})") ==
        ":2: ContextTokens is '-3', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"ContextTokens": 3, "StartTimeOffset": 5})") ==
        ":2: GeneratedTokens is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"GeneratedTokens": 3, "StartTimeOffset": 5})") ==
        ":2: ContextTokens is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"ContextTokens": 3, "GeneratedTokens": 4})") ==
        ":2: StartTimeOffset is missing, expected a number >= 0 (1 rows read)");
  CHECK(second_row(R"({"ContextTokens": 3, "GeneratedTokens": 4, "StartTimeOffset": 1e19})") ==
        ":2: StartTimeOffset is '1e19', expected a number >= 0 within 285 years (1 rows read)");
  CHECK(second_row(R"({"ContextTokens": 3, "GeneratedTokens": 4, "StartTimeOffset": true})") ==
        ":2: StartTimeOffset is 'true', expected a number >= 0 within 285 years (1 rows read)");
  CHECK(second_row("7") == ":2: row is '7', expected a JSON object (1 rows read)");
}

}  // namespace
}  // namespace headroom::apex_test
