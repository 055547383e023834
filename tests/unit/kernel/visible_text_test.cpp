#include "sim/kernel/visible_text.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace headroom::visible_text_test {
using namespace std::string_literals;

TEST_CASE("text without control characters is shown as it is") {
  CHECK(visible_text("") == "");
  CHECK(visible_text("llama-3.1 \\ x1b × ü 漢 \U0001F680") == "llama-3.1 \\ x1b × ü 漢 \U0001F680");
  CHECK(visible_text("\u00a0") == "\u00a0");  // the first character behind the C1 block
}

TEST_CASE("control characters of all blocks are shown escaped") {
  CHECK(visible_text("a\x1b[2Jb") == "a\\x1b[2Jb");
  CHECK(visible_text("a\0b\x7f\x08"s) == "a\\x00b\\x7f\\x08");
  CHECK(visible_text("\n\t\r") == "\\n\\t\\r");
  CHECK(visible_text("\u0080\u009b31m") == "\\u0080\\u009b31m");
}

TEST_CASE("bytes that are no UTF-8 are shown escaped, one by one") {
  CHECK(visible_text("a\xff\xfe") == "a\\xff\\xfe");
  CHECK(visible_text("\x9b") == "\\x9b");
  CHECK(visible_text("\xc3") == "\\xc3");                    // cut short
  CHECK(visible_text("\xc3(") == "\\xc3(");                  // the next character stays
  CHECK(visible_text("\xc0\x9b") == "\\xc0\\x9b");           // a control character, overlong
  CHECK(visible_text("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
}

TEST_CASE("composed text keeps its line breaks") {
  CHECK(visible_lines("a\n\nb\x1b\n") == "a\n\nb\\x1b\n");
  CHECK(visible_lines("\n") == "\n");
  CHECK(visible_lines("") == "");
}

}  // namespace headroom::visible_text_test
