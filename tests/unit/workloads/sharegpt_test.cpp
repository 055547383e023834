#include "workloads/traces/sharegpt.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/trace_rows.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::sharegpt_test {
namespace {

using Rows = std::vector<std::string>;

TEST_CASE("the first two turns of a ShareGPT conversation are a request of estimated lengths",
          "[workloads]") {
  // Bytes of UTF-8 over 4, rounded up: 25 and 12; 9 and 5 (one letter of two bytes); 14; none; 25
  // and 0; 20 and 16.
  CHECK(trace_rows::in_file(trace_rows::sample("sharegpt.json")) ==
        Rows{"-,7,3", "-,3,2", "-,4,0", "-,0,0", "-,7,0", "-,5,4"});
}

TEST_CASE("conversations that vLLM would skip are counted", "[workloads]") {
  const Trace trace = read_trace(trace_rows::sample("sharegpt.json"), {});
  CHECK(trace.format == "sharegpt");
  CHECK(trace.clock == TraceClock::none);
  CHECK(trace.rows_read == 6);
  CHECK(trace.rows_dropped.output_only == 2);
  CHECK(trace.rows_dropped.both == 1);
  CHECK(trace.rows.size() == 3);
}

TEST_CASE("ShareGPT conversations may stand on lines of their own", "[workloads]") {
  CHECK(trace_rows::in(R"({"conversations": [{"value": "abcd"}, {"value": "abcde"}]})"
                       "\n"
                       R"({"id": 3, "conversations": [{"value": "a"}, {"value": null}]})"
                       "\n") == Rows{"-,1,2", "-,1,0"});
}

TEST_CASE("of turns with a role the request is all before the first answer", "[workloads]") {
  // 8 and 12 bytes before an answer of 16.
  const std::string turns = R"([{"role": "system", "content": "12345678"},)"
                            R"( {"role": "user", "content": "123456789012"},)"
                            R"( {"role": "assistant", "content": "1234567890123456"},)"
                            R"( {"role": "user", "content": "not counted"}])";
  for (const char* key : {"conversations", "conversation", "messages"}) {
    INFO(key);
    CHECK(trace_rows::in("{\"" + std::string(key) + "\": " + turns + "}\n") == Rows{"-,5,4"});
  }
  // Parts of a content are one text; a call of a tool has none.
  CHECK(trace_rows::in(
            R"([{"messages": [{"role": "user", "content": [{"type": "text", "text": "1234"},)"
            R"( {"type": "text", "text": "12345678"}]},)"
            R"( {"role": "assistant", "content": null, "tool_calls": [{"id": 1}]}]}])") ==
        Rows{"-,3,0"});
  CHECK(trace_rows::error_in(
            R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})") ==
        ":1: messages[0].content[0].type is 'image_url', expected text, because the tokens of "
        "anything else cannot be counted (0 rows read)");
}

TEST_CASE("conversations of LMSYS are read with their models and times", "[workloads]") {
  CHECK(trace_rows::in(R"({"conversation_id": "x", "model": "m", "conversation":)"
                       R"( [{"content": "1234", "role": "user"},)"
                       R"( {"content": "12345678", "role": "assistant"}], "turn": 1})") ==
        Rows{"-,1,2 class=m"});
  const auto battle = [](const std::string& time) {
    return R"({"model_a": "a", "model_b": "b", "conversation_a":)"
           R"( [{"content": "1234", "role": "user"}, {"content": "1234", "role": "assistant"}],)"
           R"( "conversation_b": [{"content": "1234", "role": "user"},)"
           R"( {"content": "12345678", "role": "assistant"}], "turn": 1)" +
           time + "}\n";
  };
  CHECK(trace_rows::in(battle(R"(, "tstamp": 1682351655.5)")) ==
        Rows{"1682351655500000000,1,1 class=a", "1682351655500000000,1,2 class=b"});
  // No common clock where a row has no time.
  CHECK(trace_rows::in(battle(R"(, "tstamp": 5)") + battle("")) ==
        Rows{"-,1,1 class=a", "-,1,2 class=b", "-,1,1 class=a", "-,1,2 class=b"});
}

TEST_CASE("turns without a text are refused", "[workloads]") {
  CHECK(trace_rows::error_in(R"({"conversations": [{"human": "a", "gpt": "b"}]})") ==
        ":1: conversations[0] is an object, expected a turn with a value or content (0 rows read)");
  CHECK(trace_rows::error_in(R"({"conversations": ["a", "b"]})") ==
        ":1: conversations[0] is 'a', expected a turn: an object with a value or content (0 rows "
        "read)");
}

TEST_CASE("lists of counted lengths are read as they are", "[workloads]") {
  CHECK(trace_rows::in("[[12, 34], [5, 0]]") == Rows{"-,12,34", "-,5,0"});
  CHECK(trace_rows::in("[\n  [\"Hello [1, 2]\", 12, 34],\n  [\"\", 6, 7]\n]") ==
        Rows{"-,12,34", "-,6,7"});
}

TEST_CASE("line ends do not matter to ShareGPT conversations", "[workloads]") {
  CHECK(trace_rows::line_ends_do_not_matter(
      trace_rows::bytes_of(trace_rows::sample("sharegpt.json"))));
}

TEST_CASE("a text longer than a block of the file is counted whole", "[workloads]") {
  const std::string text(1'000'003, 'x');  // 250,000.75 tokens
  CHECK(trace_rows::in(R"([{"conversations": [{"value": ")" + text + R"("}, {"value": "y"}]}])") ==
        Rows{"-,250001,1"});
}

TEST_CASE("a malformed ShareGPT file is refused with its place in the document", "[workloads]") {
  const std::string good = R"([{"conversations": [{"value": "a"}, {"value": "b"}]},)"
                           "\n";
  CHECK(trace_rows::error_in(good + R"({"conversations": [{"value": 7}]}])") ==
        ":2: [1].conversations[0].value is '7', expected a text (1 rows read)");
  CHECK(trace_rows::error_in(good + R"({"conversations": [{"value": ["a"]}]}])") ==
        ":2: [1].conversations[0].value is an array, expected a text (1 rows read)");
  CHECK(trace_rows::error_in(good + R"({"conversations": "a"}])") ==
        ":2: [1].conversations is 'a', expected an array of turns (1 rows read)");
  CHECK(trace_rows::error_in(good + R"({"items": []}])") ==
        ":2: [1] is an object, expected an object with conversations or messages (1 rows read)");
  CHECK(trace_rows::error_in(good + "3]") ==
        ":2: [1] is '3', expected an object with conversations, or an array of lengths (1 rows "
        "read)");
  CHECK(trace_rows::error_in("[[1, 2], [3]]") ==
        ":1: [1] is an array, expected an array with two lengths (1 rows read)");
  CHECK(trace_rows::error_in("[[1, 2, 3]]") ==
        ":1: [0][2] is '3', expected two lengths (0 rows read)");
  CHECK(trace_rows::error_in("[[1, -2]]") ==
        ":1: [0][1] is '-2', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(trace_rows::error_in(good) == ":1: malformed JSON at byte 55 (1 rows read)");
}

}  // namespace
}  // namespace headroom::sharegpt_test
