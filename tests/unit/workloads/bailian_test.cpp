#include "workloads/traces/bailian.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/workloads/record_text.hpp"
#include "tests/unit/workloads/text_file.hpp"

namespace headroom::bailian_test {
namespace {

using Lines = std::vector<std::string>;

std::string row(const std::string& begin, int tokens = 17, const std::string& ids = "0,1") {
  return "{" + begin + R"(, "timestamp": 1.5, "input_length": )" + std::to_string(tokens) +
         R"(, "output_length": 2, "type": "text", "turn": 1, "hash_ids": [)" + ids + "]}\n";
}

const std::string kGood = row(R"("chat_id": 1, "parent_chat_id": -1)");

// "chat:session" of rows that are given as "chat_id, parent_chat_id".
std::string sessions(const std::vector<std::pair<int, int>>& chats) {
  std::string content;
  for (const auto& [chat, parent] : chats) {
    content += row("\"chat_id\": " + std::to_string(chat) +
                   ", \"parent_chat_id\": " + std::to_string(parent));
  }
  std::string text;
  for (const std::string& record : records_of(content)) {
    const std::size_t at = record.find("session=") + 8;
    text += record.substr(at, record.find(' ', at) - at) + ' ';
  }
  return text;
}

TEST_CASE("rows of Bailian are read with trees as sessions and blocks of 16", "[workloads]") {
  CHECK(
      records_of_sample("bailian.jsonl") ==
      Lines{
          "0,40,12 class='text' session=3 prefix=0:16|1:16|2:8",
          "125000000,33,9 class='search' session=77 prefix=3:16|4:16|5:1",  // its parent is absent
          "7250000000,64,20 class='text' session=3 prefix=0:16|1:16|6:16|7:16",
          "7250000000,48,0 class='image' session=77 prefix=3:16|4:16|8:16",
          "61114000000,100,132 class='file' session=3 prefix=0:16|1:16|6:16|7:16|9:16|10:16|11:4",
          "70500000000,65,7 session=3 prefix=0:16|1:16|6:16|7:16|12:1",  // no type: no class
          "71000000000,16,1 class='thinking' session=20 prefix=13:16",
          "71000000000,16,1 class='coder' session=21 prefix=13:16"});
}

TEST_CASE("line ends do not matter to Bailian's rows", "[workloads]") {
  const Lines expected = records_of_sample("bailian.jsonl");
  for (const std::string& text : same_files(text_file(sample_path("bailian.jsonl")))) {
    CHECK(records_of(text) == expected);
  }
}

TEST_CASE("a session is the tree of requests below one root", "[workloads]") {
  CHECK(sessions({{1, -1}, {2, 1}, {3, 2}, {4, 1}, {5, -1}, {6, 5}}) == "1 1 1 1 5 5 ");
  CHECK(sessions({{2, 9}, {3, 9}, {4, 2}}) == "9 9 9 ");  // the absent parent is the root
}

TEST_CASE("parents in a circle or behind their children end at the row that came first",
          "[workloads]") {
  CHECK(sessions({{1, 1}, {2, 1}}) == "1 1 ");
  CHECK(sessions({{1, 2}, {2, 1}, {3, 2}}) == "2 2 2 ");
  CHECK(sessions({{1, 3}, {2, 1}, {3, 2}}) == "3 3 3 ");
  CHECK(sessions({{1, 2}, {2, 5}, {5, -1}, {6, 5}}) == "2 2 5 5 ");
}

TEST_CASE("malformed values of Bailian's rows are refused by key and value", "[workloads]") {
  const auto second_row = [](const std::string& text) { return data_error(kGood + text); };
  CHECK(second_row(row(R"("chat_id": -3)")) ==
        ":2: chat_id is '-3', expected an integer >= 0 (1 rows read)");
  CHECK(second_row(row(R"("parent_chat_id": 3)")) ==
        ":2: chat_id is missing, expected an integer >= 0 (1 rows read)");
  CHECK(second_row(row(R"("chat_id": 2, "parent_chat_id": -2)")) ==
        ":2: parent_chat_id is '-2', expected a chat_id, or -1 for none (1 rows read)");
  CHECK(second_row(row(R"("chat_id": "two")")) ==
        ":2: chat_id is 'two', expected a 64-bit integer (1 rows read)");
  CHECK(second_row(row(R"("chat_id": 2)", 33)) ==
        ":2: hash_ids is '2 ids', expected 3: one for each block of 16 of the 33 tokens "
        "(1 rows read)");
  CHECK(second_row(row(R"("chat_id": 2)", 17, "0,-1")) ==
        ":2: hash_ids is '-1', expected integers >= 0 (1 rows read)");
  CHECK(second_row(R"({"chat_id": 2, "input_length": 1, "output_length": 1})") ==
        ":2: timestamp is missing, expected a number >= 0 (1 rows read)");
  CHECK(second_row(R"({"chat_id": 2, "timestamp": 3, "output_length": 1})") ==
        ":2: input_length is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"chat_id": 2, "timestamp": 3, "input_length": 1})") ==
        ":2: output_length is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"chat_id": 2, "timestamp": 3, "input_length": 1.5})") ==
        ":2: input_length is '1.5', expected an integer in 0 .. 2147483647 (1 rows read)");
  const std::string lengths = R"("timestamp": 3, "input_length": 1, "output_length": 1)";
  CHECK(second_row(R"({"chat_id": 2, "turn": -1, )" + lengths + "}") ==
        ":2: turn is '-1', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"chat_id": 2, "chat_id": 3, )" + lengths + "}") ==
        ":2: malformed JSON (key 'chat_id' appears twice)");
  CHECK(second_row(R"({"chat_id": 2, "type": 7, )" + lengths + "}") ==
        ":2: type is '7', expected a text (1 rows read)");
}

TEST_CASE("missing counts of Bailian's rows are zero", "[workloads]") {
  CHECK(records_of(R"({"chat_id": 2, "timestamp": 3, "input_length": null, "output_length": 0})") ==
        Lines{"3000000000,0,0 session=2"});
}

}  // namespace
}  // namespace headroom::bailian_test
