#include "sim/server/api_answer.hpp"

#include <catch2/catch.hpp>

#include "sim/scenario/json_document.hpp"

namespace headroom::api_answer_test {
namespace {

Json event_of(const std::string& piece) {
  REQUIRE(piece.starts_with("data: "));
  REQUIRE(piece.ends_with("\n\n"));
  return Json::parse(piece.substr(6));
}

TEST_CASE("pieces of a stream are events of JSON", "[server]") {
  const AnswerWriter text(false, 255, 17, "a \"model\"");
  const Json first = event_of(text.piece(1, " time", "", nullptr));
  CHECK(first["id"] == "cmpl-00000000000000ff");
  CHECK(first["object"] == "text_completion");
  CHECK(first["model"] == "a \"model\"");
  CHECK(first["choices"][0]["index"] == 1);
  CHECK(first["choices"][0]["text"] == " time");
  CHECK(first["choices"][0]["finish_reason"].is_null());
  CHECK_FALSE(first.contains("usage"));

  const AnswerWriter chat(true, 1, 17, "m");
  const AnswerUsage usage{3, 4};
  const Json last = event_of(chat.piece(0, "x", "stop", &usage));
  CHECK(last["object"] == "chat.completion.chunk");
  CHECK(last["choices"][0]["delta"]["content"] == "x");
  CHECK(last["choices"][0]["finish_reason"] == "stop");
  CHECK(last["usage"]["total_tokens"] == 7);
  CHECK(event_of(chat.role_piece(2))["choices"][0]["delta"]["role"] == "assistant");
  CHECK(event_of(chat.usage_piece(usage))["choices"].empty());
}

TEST_CASE("whole answers and errors are JSON", "[server]") {
  const AnswerWriter chat(true, 1, 17, "m");
  const WholeChoice choices[] = {{"a b", "length"}, {"c", "stop"}};
  const Json whole = Json::parse(chat.whole(choices, {2, 3}));
  CHECK(whole["choices"].size() == 2);
  CHECK(whole["choices"][1]["message"]["content"] == "c");
  CHECK(whole["usage"]["completion_tokens"] == 3);
  const Json error = Json::parse(error_json(404, "no \"x\"", "model"))["error"];
  CHECK(error["type"] == "NotFoundError");
  CHECK(error["message"] == "no \"x\"");
  CHECK(error["code"] == 404);
  CHECK(Json::parse(models_json("m", 1, 9))["data"][0]["max_model_len"] == 9);
  const std::int32_t ids[] = {4, 5};
  CHECK(Json::parse(tokens_json(ids, 9))["tokens"].size() == 2);
}

}  // namespace
}  // namespace headroom::api_answer_test
