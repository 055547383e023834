#include "workloads/traces/sharegpt.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/trace_rows.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom {
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
        ":2: [1] is an object, expected an object with conversations (1 rows read)");
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
}  // namespace headroom
