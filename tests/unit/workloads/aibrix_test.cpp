#include "workloads/traces/aibrix.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/workloads/record_text.hpp"
#include "tests/unit/workloads/text_file.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::aibrix_test {
namespace {

using Lines = std::vector<std::string>;

// A row with these requests, at 5 ms.
std::string row(const std::string& requests) {
  return R"({"timestamp": 5, "requests": )" + requests + "}\n";
}

const std::string kGood = row(R"([{"Prompt Length": 3, "Output Length": 4}])");

TEST_CASE("a row of AIBrix is as many requests as it lists, in both spellings", "[workloads]") {
  CHECK(records_of_sample("aibrix.jsonl") ==
        Lines{"3827000000,297,96", "5038000000,125,3", "5038000000,12,0", "5038000000,363,35",
              "5751500000,101,40 session=0",  // 5751.5 ms
              "6000000000,202,0 session=1",   // an output_length of null
              "6000000000,155,9 session=0"});
  const Trace trace = read_trace(sample_path("aibrix.jsonl"), {});
  CHECK(trace.format == "aibrix");
  CHECK(trace.rows_read == 7);
  CHECK(trace.rows_dropped.output_only == 2);
}

TEST_CASE("rows without requests may stand anywhere", "[workloads]") {
  CHECK(records_of(row("[]") + kGood + row("[]") + row("[]") + kGood + row("[]")) ==
        Lines{"5000000,3,4", "5000000,3,4"});
  CHECK(records_of(row("[]")).empty());
}

TEST_CASE("line ends do not matter to AIBrix's rows", "[workloads]") {
  const Lines expected = records_of_sample("aibrix.jsonl");
  for (const std::string& text : same_files(text_file(sample_path("aibrix.jsonl")))) {
    CHECK(records_of(text) == expected);
  }
}

TEST_CASE("malformed values of AIBrix's rows are refused by key and value", "[workloads]") {
  const auto second_row = [](const std::string& text) { return data_error(kGood + text); };
  CHECK(second_row(R"({"requests": []})") ==
        ":2: timestamp is missing, expected a number >= 0 (1 rows read)");
  CHECK(second_row(R"({"timestamp": 5})") ==
        ":2: requests is missing, expected an array of objects (1 rows read)");
  CHECK(second_row(row("{}")) ==
        ":2: requests is an object, expected an array of objects (1 rows read)");
  CHECK(second_row(row("[1]")) ==
        ":2: requests is an array, expected an array of objects (1 rows read)");
  CHECK(second_row(row(R"(["text"])")) == ":2: requests is 'text', expected objects (1 rows read)");
  CHECK(second_row(row(R"([{"Output Length": 4}])")) ==
        ":2: prompt_length is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(row(R"([{"Prompt Length": 4}])")) ==
        ":2: output_length is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(row(R"([{"Prompt Length": 4, "Output Length": -4}])")) ==
        ":2: Output Length is '-4', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(row(R"([{"prompt_length": "...", "output_length": 4}])")) ==
        ":2: prompt_length is '...', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(row(R"([{"prompt_length": 5, "output_length": 4, "session_id": []}])")) ==
        ":2: session_id is an array, expected a text or an integer >= 0 (1 rows read)");
  CHECK(second_row(R"({"timestamp": "1:00", "requests": []})") ==
        ":2: timestamp is '1:00', expected a number >= 0 within 285 years (1 rows read)");
}

}  // namespace
}  // namespace headroom::aibrix_test
