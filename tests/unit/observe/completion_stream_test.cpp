// Times and counts of an answer, as it arrives in pieces of any size.

#include "sim/observe/completion_stream.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::completion_stream_test {
namespace {

std::string token(std::string_view text = " a") {
  return R"(data: {"choices": [{"index": 0, "text": ")" + std::string(text) +
         "\"}], \"usage\": null}\n\n";
}

const std::string kUsage =
    R"(data: {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 3}})"
    "\n\n";
const std::string kDone = "data: [DONE]\n\n";

}  // namespace

TEST_CASE("the first chunk ends TTFT, each later one a gap") {
  CompletionStream stream;
  CHECK(stream.feed(": ping\n\n" + token(), 100));
  CHECK(stream.feed(token(""), 130));  // a token without text of its own
  CHECK(stream.feed(token() + kUsage + kDone, 170));
  CHECK(stream.problem().empty());
  CHECK(stream.has_ended());
  CHECK(stream.first_ns() == 100);
  CHECK(stream.last_ns() == 170);
  CHECK(stream.gaps() == std::vector<TimeNs>{30, 40});
  CHECK(stream.prompt_tokens() == 40);
  CHECK(stream.output_tokens() == 3);
}

TEST_CASE("an event counts when its last byte has come") {
  const std::string bytes = token() + token();
  CompletionStream stream;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CHECK(stream.feed(std::string_view(bytes).substr(i, 1), static_cast<TimeNs>(i)));
  }
  CHECK(stream.chunks() == 2);
  // The line break before the blank line completes the event.
  CHECK(stream.first_ns() == static_cast<TimeNs>(token().size()) - 2);
}

TEST_CASE("an event with the usage and a choice without text is no token") {
  CompletionStream stream;
  CHECK(stream.feed(token() + token(), 10));
  CHECK(
      stream.feed("data: {\"choices\": [{\"text\": \"\", \"finish_reason\": \"length\"}], "
                  "\"usage\": {\"prompt_tokens\": 5, \"completion_tokens\": 2}}\n\n",
                  20));
  CHECK(stream.chunks() == 2);
  CHECK(stream.last_ns() == 10);
  CHECK(stream.output_tokens() == 2);
}

TEST_CASE("what is no answer is a problem, and nothing behind it is read") {
  for (const std::string& bad :
       {std::string("data: {not json\n\n"), std::string("data: 17\n\n"), std::string("<html>\n"),
        std::string("data: {\"error\": {\"message\": \"engine dead\"}}\n\n"),
        std::string(std::size_t{2} << 20, 'x')}) {
    CompletionStream stream;
    CHECK(stream.feed(token(), 1));
    CHECK_FALSE(stream.feed(bad, 2));
    CHECK_FALSE(stream.problem().empty());
    CHECK_FALSE(stream.feed(token(), 3));
    CHECK(stream.chunks() == 1);
  }
}

TEST_CASE("counts that are no counts are left out") {
  CompletionStream stream;
  CHECK(
      stream.feed("data: {\"choices\": [], \"usage\": {\"prompt_tokens\": -1, "
                  "\"completion_tokens\": \"three\"}}\n\n",
                  1));
  CHECK_FALSE(stream.prompt_tokens().has_value());
  CHECK_FALSE(stream.output_tokens().has_value());
}

}  // namespace headroom::completion_stream_test
