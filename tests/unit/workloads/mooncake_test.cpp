#include "workloads/traces/mooncake.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/workloads/infinite_prefix_cache.hpp"
#include "tests/unit/workloads/published_trace.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "tests/unit/workloads/text_file.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom::mooncake_test {
namespace {

using Lines = std::vector<std::string>;

// A row at 0 ms; `ids` as in JSON.
std::string row(int tokens, const std::string& ids) {
  return R"({"timestamp": 0, "input_length": )" + std::to_string(tokens) +
         R"(, "output_length": 1, "hash_ids": [)" + ids + "]}\n";
}

std::string row_of(int tokens, int ids) {
  std::string list = "0";
  for (int i = 1; i < ids; ++i) list += "," + std::to_string(i);
  return row(tokens, ids == 0 ? "" : list);
}

const std::string kGood = row_of(1300, 3);  // 512 + 512 + 276: blocks of 512

TEST_CASE("the Mooncake conversation trace is read as its reference values say",
          "[workloads][large]") {
  const auto trace = check_published("mooncake-fast25/conversation_trace.jsonl", "mooncake");
  if (!trace) return;
  CHECK(trace->backward_steps == 0);
  CHECK(trace->clock == TraceClock::absolute);
  const InfinitePrefixCache cache(*trace);
  CHECK(cache.pieces() == 288'500);
  CHECK(cache.hit_pieces() == 105'710);     // published: ratio 0.36641 of all blocks
  CHECK(cache.hit_tokens() == 54'098'411);  // 0.37362 of 144,793,823
}

TEST_CASE("rows of Mooncake and AIPerf are read with their blocks and sessions", "[workloads]") {
  const std::string a = " session=" + std::to_string(text_id("a"));
  CHECK(records_of_sample("mooncake.jsonl") ==
        Lines{"0,300,20 prefix=0:300", "0,1300,50 prefix=0:512|1:512|2:276",
              "1500250000,1024,8 prefix=0:512|1:512",  // 1500.25 ms
              "3000000000,600,0 prefix=0:512|3:88", "3000000000,512,30" + a + " prefix=7:512",
              "-,800,12" + a + " after=250500000 prefix=7:512|8:288",  // 250.5 ms
              "3100000000,0,5",                                        // a text, not counted
              "-,900,3" + a + " after=0", "4000000000,64,1 session=9",
              "-,128,2 session=9 after=40000000 prefix=11:128"});
}

TEST_CASE("line ends do not matter to Mooncake's rows", "[workloads]") {
  const Lines expected = records_of_sample("mooncake.jsonl");
  for (const std::string& text : same_files(text_file(sample_path("mooncake.jsonl")))) {
    CHECK(records_of(text) == expected);
  }
}

TEST_CASE("the first row with two ids or more tells the block size", "[workloads]") {
  // 700 tokens in n ids: 512 x 2, 256 x 3, 128 x 6, 64 x 11, 32 x 22, 16 x 44.
  const auto first_piece = [](int ids) {
    const std::string text = records_of(row_of(700, ids)).at(0);
    return text.substr(text.find("prefix=") + 7, text.find('|') - text.find("prefix=") - 7);
  };
  CHECK(first_piece(2) == "0:512");
  CHECK(first_piece(3) == "0:256");
  CHECK(first_piece(6) == "0:128");
  CHECK(first_piece(11) == "0:64");
  CHECK(first_piece(22) == "0:32");
  CHECK(first_piece(44) == "0:16");
  CHECK(records_of(row_of(1500, 2)).at(0) == "0,1500,1 prefix=0:1024|1:476");
  // One id says only that a block holds so much.
  CHECK(records_of(row_of(1000, 1) + row_of(0, 0) + row_of(1024, 1)) ==
        Lines{"0,1000,1 prefix=0:1000", "0,0,1", "0,1024,1 prefix=0:1024"});
  CHECK(records_of(row_of(10, 1) + row_of(17, 2)).at(1) == "0,17,1 prefix=0:16|1:1");
}

TEST_CASE("ids that do not fit into the file's block size are refused", "[workloads]") {
  CHECK(data_error(kGood + row_of(6758, 13)) ==
        ":2: hash_ids is '13 ids', expected 14: one for each block of 512 of the 6758 tokens "
        "(1 rows read)");
  CHECK(data_error(kGood + row_of(512, 2)) ==
        ":2: hash_ids is '2 ids', expected 1: one for each block of 512 of the 512 tokens "
        "(1 rows read)");
  CHECK(data_error(kGood + row_of(0, 1)) ==
        ":2: hash_ids is '1 ids', expected 0: one for each block of 512 of the 0 tokens "
        "(1 rows read)");
  CHECK(data_error(row_of(100, 3)) ==  // 34 to 49 tokens a block
        ":1: hash_ids is '3 ids', expected one for each block of 512 of the 100 tokens, or with a "
        "block size of 512, 16, 64, 128, 256, 1024, 32 (0 rows read)");
  CHECK(data_error(row_of(1025, 1)).starts_with(":1: hash_ids is '1 ids', expected one for each"));
  CHECK(data_error(row_of(600, 1) + kGood) ==
        ":2: hash_ids is '3 ids', expected equal block sizes: 512 tokens here, 600 in an earlier "
        "row (1 rows read)");
  CHECK(data_error(row_of(512, 1) + kGood) == "no error");
}

TEST_CASE("malformed values of Mooncake's rows are refused by key and value", "[workloads]") {
  const auto second_row = [](const std::string& text) { return data_error(kGood + text); };
  CHECK(second_row(R"({"timestamp": 1, "input_length": -5, "output_length": 1})") ==
        ":2: input_length is '-5', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"timestamp": 1, "input_length": 5, "output_length": 2147483648})") ==
        ":2: output_length is '2147483648', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"timestamp": 1, "output_length": 5})") ==
        ":2: input_length is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"timestamp": -1, "input_length": 5})") ==
        ":2: timestamp is '-1', expected a number >= 0 within 285 years (1 rows read)");
  CHECK(second_row(R"({"timestamp": "soon", "input_length": 5})") ==
        ":2: timestamp is 'soon', expected a number >= 0 within 285 years (1 rows read)");
  CHECK(second_row(R"({"timestamp": 1e13, "input_length": 5})") ==
        ":2: timestamp is '1e13', expected a number >= 0 within 285 years (1 rows read)");
  CHECK(second_row(R"({"timestamp": 1, "input_length": 5, "hash_ids": [-1]})") ==
        ":2: hash_ids is '-1', expected integers >= 0 (1 rows read)");
  CHECK(second_row(R"({"timestamp": 1, "input_length": 5, "hash_ids": [1.5]})") ==
        ":2: hash_ids is an array, expected an array of integers (1 rows read)");
  CHECK(second_row(R"({"timestamp": 1, "input_length": 5, "hash_ids": {}})") ==
        ":2: hash_ids is an object, expected an array of integers (1 rows read)");
  CHECK(second_row(R"({"timestamp": 1, "input_length": 5, "session_id": 1.5})") ==
        ":2: session_id is '1.5', expected a text or an integer >= 0 (1 rows read)");
  CHECK(second_row("[1]") == ":2: row is an array, expected a JSON object (1 rows read)");
  CHECK(second_row(R"({"timestamp": NaN})").starts_with(":2: malformed JSON"));
  CHECK(second_row(R"({"timestamp": 1)").starts_with(":2: malformed JSON"));
}

TEST_CASE("a row without a timestamp follows an earlier row of its session", "[workloads]") {
  const std::string wanted = "expected a number >= 0, or the session_id of an earlier row";
  CHECK(data_error(kGood + R"({"input_length": 5, "output_length": 1})") ==
        ":2: timestamp is missing, " + wanted + " (1 rows read)");
  CHECK(data_error(kGood + R"({"session_id": "x", "delay": 5, "input_length": 5})") ==
        ":2: timestamp is missing, " + wanted + " (1 rows read)");
  CHECK(data_error(kGood + R"({"timestamp": null, "input_length": 5, "session_id": ""})") ==
        ":2: timestamp is null, " + wanted + " (1 rows read)");
  CHECK(data_error(kGood + R"({"timestamp": 1, "session_id": 3, "input_length": 5})" + "\n" +
                   R"({"session_id": 3, "delay": -1, "input_length": 5})") ==
        ":3: delay is '-1', expected a number >= 0 within 285 years (2 rows read)");
}

TEST_CASE("a turn with a timestamp is sent at it, whatever its delay", "[workloads]") {
  CHECK(records_of(R"({"timestamp": 1, "session_id": 3, "input_length": 5, "output_length": 2})"
                   "\n"
                   R"({"timestamp": 9, "session_id": 3, "delay": 4, "input_length": 6,)"
                   R"( "output_length": 2})") ==
        Lines{"1000000,5,2 session=3", "9000000,6,2 session=3"});
}

TEST_CASE("a file without timestamps has no clock, and its sessions keep their gaps",
          "[workloads]") {
  const std::string content =
      R"({"session_id": "x", "delay": 7, "input_length": 300, "output_length": 40})"
      "\n"
      R"({"session_id": "x", "delay": 2, "input_length": 350, "output_length": 20})"
      "\n"
      R"({"input_length": 10, "output_length": 4})"
      "\n";
  const std::string x = " session=" + std::to_string(text_id("x"));
  CHECK(records_of(content) == Lines{"-,300,40" + x, "-,350,20" + x + " after=2000000", "-,10,4"});
  // Behind the part of a file by which its format is recognised.
  const std::string far = content + std::string(1'000'000, '\n');
  CHECK(data_error(far + R"({"timestamp": 5, "input_length": 1, "output_length": 1})") ==
        ":1000004: timestamp is '5', expected none, as the rows before have none (3 rows read)");
}

}  // namespace
}  // namespace headroom::mooncake_test
