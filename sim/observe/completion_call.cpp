#include "sim/observe/completion_call.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "sim/kernel/visible_text.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

constexpr std::size_t kShownError = 200;

// "{"error": {"message": ...}}", as OpenAI's API has it, or "{"message": ...}".
std::string message_in(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return body;
  for (const Json* place : {json.contains("error") ? &json["error"] : nullptr, &json}) {
    if (place == nullptr) continue;
    if (place->is_string()) return place->get<std::string>();
    if (place->is_object() && place->contains("message") && (*place)["message"].is_string()) {
      return (*place)["message"].get<std::string>();
    }
  }
  return body;
}

std::string problem_of(const HttpEnd& http, const CompletionStream& stream) {
  if (!stream.problem().empty()) return stream.problem();
  if (!http.problem.empty()) return http.problem;
  if (http.status != kHttpOk) return refusal_text(http);
  if (stream.chunks() == 0) return "an answer without a token";
  if (!stream.has_ended()) return "the answer ended without [DONE]";
  return {};
}

}  // namespace

std::string completion_json(const CompletionRule& rule, const std::string& prompt,
                            std::int64_t tokens, std::int32_t priority) {
  // Greedy: the sampler's work is the same for all.
  std::string body =
      fmt::format(R"({{"model":{},"prompt":{},"max_tokens":{},"temperature":0,"stream":true,)"
                  R"("stream_options":{{"include_usage":true}})",
                  Json(rule.model).dump(), prompt, tokens);
  if (rule.ignores_eos) body += R"(,"ignore_eos":true)";
  if (priority != 0) body += fmt::format(R"(,"priority":{})", priority);
  return body + "}";
}

void call_completions(HttpClient& client, std::string body, TimeNs timeout_ns,
                      std::function<void(const CompletionEnd&)> on_end) {
  const auto stream = std::make_shared<CompletionStream>();
  HttpCall call;
  call.path = "/v1/completions";
  call.body = std::move(body);
  call.timeout_ns = timeout_ns;
  call.on_bytes = [stream](std::string_view bytes, TimeNs now_ns) {
    return stream->feed(bytes, now_ns);
  };
  call.on_end = [stream, on_end = std::move(on_end)](const HttpEnd& http, TimeNs) {
    on_end({http, *stream, problem_of(http, *stream)});
  };
  client.start(std::move(call));
}

CompletionEnd complete_now(HttpClient& client, std::string body, TimeNs timeout_ns) {
  std::optional<CompletionEnd> ended;
  call_completions(client, std::move(body), timeout_ns,
                   [&ended](const CompletionEnd& end) { ended = end; });
  client.wait_for([&ended] { return ended.has_value(); });
  return *ended;
}

std::string refusal_text(const HttpEnd& end) {
  if (!end.problem.empty()) return end.problem;
  std::string text = fmt::format("the server answers {}", end.status);
  const std::string message = visible_text(message_in(end.body).substr(0, kShownError));
  if (!message.empty()) text += ": " + message;
  return text;
}

}  // namespace headroom
