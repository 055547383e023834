#include "sim/server/api_request.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/kernel/random.hpp"

namespace headroom::api_request_test {
namespace {

const TokenRule kRule(128'256);
const ApiLimits kLimits{.model = "m", .max_model_len = 100, .most_answers = 8};

CompletionAsk completion(const std::string& body) {
  return read_completion(body, false, kRule, kLimits);
}
CompletionAsk chat(const std::string& body) { return read_completion(body, true, kRule, kLimits); }

std::string refusal(const std::string& body, int status = 400, bool is_chat = false) {
  try {
    static_cast<void>(read_completion(body, is_chat, kRule, kLimits));
  } catch (const ApiRefusal& refused) {
    CHECK(refused.status() == status);
    return refused.what();
  }
  return "served";
}

TEST_CASE("a request for completions is read with OpenAI's defaults", "[server]") {
  const CompletionAsk ask = completion(R"({"prompt": "one two", "model": "m"})");
  CHECK(ask.prompts.size() == 1);
  CHECK(ask.prompts[0].size() == 2);
  CHECK(ask.max_tokens == 16);
  CHECK(ask.n == 1);
  CHECK_FALSE(ask.stream);
  CHECK_FALSE(completion(R"({"prompt": "x", "max_tokens": null})").max_tokens);
  CHECK_FALSE(chat(R"({"messages": [{"role": "user", "content": "x"}]})").max_tokens);
}

TEST_CASE("a prompt is a text, a list of ids, or a list of either", "[server]") {
  CHECK(completion(R"({"prompt": [3, 4, 5]})").prompts ==
        std::vector<std::vector<TokenId>>{{3, 4, 5}});
  CHECK(completion(R"({"prompt": [[3], [4, 5]]})").answers() == 2);
  CHECK(completion(R"({"prompt": ["a", "b c"], "n": 2})").answers() == 4);
  CHECK(refusal(R"({"prompt": []})") == "prompt is empty");
  CHECK(refusal(R"({"prompt": [1, "a"]})") ==
        "prompt is \"a\"; expected token ids from 0 to 128255");
  CHECK(refusal(R"({"prompt": 5})") ==
        "prompt is 5; expected a text, a list of token ids, or a list of either");
}

TEST_CASE("lengths are checked against the context", "[server]") {
  CHECK(completion(R"({"prompt": [1], "max_tokens": 99})").max_tokens == 99);
  CHECK(refusal(R"({"prompt": [1, 2], "max_tokens": 99})") ==
        "the prompt has 2 tokens and max_tokens is 99; the model takes 100 in all");
  CHECK(refusal(R"({"prompt": [1], "max_tokens": 1e2})") ==
        "max_tokens is 100.0; expected an integer from 1 to 100");
  CHECK(refusal(R"({"prompt": [1], "max_tokens": 18446744073709551615})") ==
        "max_tokens is 18446744073709551615; expected an integer from 1 to 100");
  CHECK(refusal(R"({"prompt": [1], "max_tokens": 3, "min_tokens": 4})") ==
        "min_tokens is 4, but max_tokens is 3");
  CHECK(chat(R"({"messages": [{"role": "u", "content": "x"}], "max_completion_tokens": 3,
                 "max_tokens": 5})")
            .max_tokens == 3);
}

TEST_CASE("what is wrong with a request is named", "[server]") {
  CHECK(refusal("") == "the body is not valid JSON");
  CHECK(refusal("{\"prompt\": \"\xff\"}") == "the body is not valid JSON");
  CHECK(refusal("{\"prompt\": " + std::string(1'000'000, '[')) ==
        "the body is nested deeper than 64 levels");
  CHECK(refusal("[]") == "the body is not a JSON object");
  CHECK(refusal("{}") == "prompt is missing");
  CHECK(refusal(R"({"model": "other", "prompt": "x"})", 404) == "no model \"other\"; m is served");
  CHECK(refusal(R"({"prompt": "x", "n": 9})") == "n is 9; expected an integer from 1 to 8");
  CHECK(refusal(R"({"prompt": ["x", "y", "z"], "n": 3})") ==
        "3 prompts with n = 3 are 9 answers; at most 8 in a request");
  CHECK(refusal(R"({"prompt": "x", "echo": true})") == "echo is not simulated");
  CHECK(
      refusal(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})", 400,
              true) ==
      "content is {\"type\":\"image_url\"}; expected parts of type text: images and sound are not "
      "served");
  // Values are shortened, and not in the middle of a letter.
  const std::string long_name(200, 'x');
  CHECK(refusal(R"({"prompt": "x", "stream": ")" + long_name + "\"}").size() < 150);
  CHECK(refusal("{\"prompt\": \"x\", \"stream\": \"" + std::string(78, 'x') + "\u20ac\u20ac\"}") ==
        "stream is \"" + std::string(78, 'x') + "...; expected true or false");
}

TEST_CASE("no bytes are read as anything but a request or a refusal", "[server]") {
  RandomStream random(3, "api_request_test");
  const std::string whole =
      R"({"prompt": ["a b", [1, 2]], "max_tokens": 5, "n": 2, "stream": true, "priority": -3,)"
      R"("stream_options": {"include_usage": true}, "messages": [{"role": "user", "content":)"
      R"([{"type": "text", "text": "hi"}]}], "ignore_eos": false, "min_tokens": 1})";
  int served = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string body = whole;
    for (std::int64_t n = random.uniform_int(0, 4); n > 0; --n) {
      const auto place = static_cast<std::size_t>(random.uniform_int(0, std::ssize(body) - 1));
      if (random.uniform_int(0, 1) == 0) {
        body[place] = static_cast<char>(random.uniform_int(0, 255));
      } else {
        body.erase(place, static_cast<std::size_t>(random.uniform_int(1, 9)));
      }
    }
    try {
      const CompletionAsk ask = read_completion(body, i % 2 == 0, kRule, kLimits);
      REQUIRE(ask.answers() >= 1);
      ++served;
    } catch (const ApiRefusal& refused) {
      REQUIRE(refused.status() >= 400);
    }
  }
  CHECK(served > 500);
}

}  // namespace
}  // namespace headroom::api_request_test
