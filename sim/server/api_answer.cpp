#include "sim/server/api_answer.hpp"

#include <fmt/format.h>

#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

std::string quoted_or_null(std::string_view text) {
  if (text.empty()) return "null";
  return fmt::format("\"{}\"", text);
}

std::string usage_text(const AnswerUsage& usage) {
  return fmt::format(R"({{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{}}})",
                     usage.prompt_tokens, usage.prompt_tokens + usage.completion_tokens,
                     usage.completion_tokens);
}

std::string head_of(std::string_view id, std::string_view object, std::int64_t created_s,
                    const std::string& model) {
  return fmt::format(R"({{"id":"{}","object":"{}","created":{},"model":{},"choices":[)", id, object,
                     created_s, Json(model).dump());
}

std::string_view type_of(int status) {
  switch (status) {
    case 401: return "AuthenticationError";
    case 404: return "NotFoundError";
    case 429: return "RateLimitError";
    default: break;
  }
  return status < 500 ? "BadRequestError" : "InternalServerError";
}

}  // namespace

AnswerWriter::AnswerWriter(bool is_chat, std::uint64_t number, std::int64_t created_s,
                           const std::string& model)
    : is_chat_(is_chat) {
  const std::string id = fmt::format("{}-{:016x}", is_chat ? "chatcmpl" : "cmpl", number);
  piece_head_ = "data: " + head_of(id, is_chat ? "chat.completion.chunk" : "text_completion",
                                   created_s, model);
  whole_head_ = head_of(id, is_chat ? "chat.completion" : "text_completion", created_s, model);
}

// One for each token that is sent: put together without a format.
std::string AnswerWriter::piece(std::size_t choice, std::string_view text,
                                std::string_view finish_reason, const AnswerUsage* usage) const {
  constexpr std::size_t kRest = 128;  // all but the head and the text; with usage it grows once
  std::string event;
  event.reserve(piece_head_.size() + text.size() + kRest);
  event += piece_head_;
  event += R"({"index":)";
  event += fmt::format_int(choice).c_str();
  event += is_chat_ ? R"(,"delta":{"content":")" : R"(,"text":")";
  event += text;
  event +=
      is_chat_ ? R"("},"logprobs":null,"finish_reason":)" : R"(","logprobs":null,"finish_reason":)";
  event += quoted_or_null(finish_reason);
  event += "}]";
  if (usage != nullptr) event += ",\"usage\":" + usage_text(*usage);
  event += "}\n\n";
  return event;
}

std::string AnswerWriter::role_piece(std::size_t choice) const {
  return fmt::format(
      "{}{{\"index\":{},\"delta\":{{\"role\":\"assistant\",\"content\":\"\"}},"
      "\"logprobs\":null,\"finish_reason\":null}}]}}\n\n",
      piece_head_, choice);
}

std::string AnswerWriter::usage_piece(const AnswerUsage& usage) const {
  return fmt::format("{}],\"usage\":{}}}\n\n", piece_head_, usage_text(usage));
}

std::string AnswerWriter::whole(std::span<const WholeChoice> choices,
                                const AnswerUsage& usage) const {
  std::string text = whole_head_;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::string_view form =
        is_chat_
            ? R"({{"index":{},"message":{{"role":"assistant","content":"{}"}},"logprobs":null,)"
              R"("finish_reason":"{}"}})"
            : R"({{"index":{},"text":"{}","logprobs":null,"finish_reason":"{}"}})";
    if (i > 0) text += ',';
    text += fmt::format(fmt::runtime(form), i, choices[i].text, choices[i].finish_reason);
  }
  return text + "],\"usage\":" + usage_text(usage) + "}";
}

std::string error_json(int status, std::string_view message, std::string_view param) {
  return fmt::format(R"({{"error":{{"message":{},"type":"{}","param":{},"code":{}}}}})",
                     Json(message).dump(), type_of(status),
                     param.empty() ? "null" : Json(param).dump(), status);
}

std::string error_piece(int status, std::string_view message) {
  return "data: " + error_json(status, message) + "\n\n";
}

std::string models_json(const std::string& model, std::int64_t created_s,
                        std::int64_t max_model_len) {
  const std::string name = Json(model).dump();
  return fmt::format(R"({{"object":"list","data":[{{"id":{0},"object":"model","created":{1},)"
                     R"("owned_by":"headroom","root":{0},"parent":null,"max_model_len":{2}}}]}})",
                     name, created_s, max_model_len);
}

std::string tokens_json(std::span<const std::int32_t> ids, std::int64_t max_model_len) {
  return fmt::format(R"({{"count":{},"max_model_len":{},"tokens":[{}],"token_strs":null}})",
                     ids.size(), max_model_len, fmt::join(ids, ","));
}

}  // namespace headroom
