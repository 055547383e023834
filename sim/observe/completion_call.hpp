#pragma once
// One request to /v1/completions, from its start to its end.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/observe/completion_stream.hpp"
#include "sim/observe/http_client.hpp"
#include "sim/observe/prompt_text.hpp"

namespace headroom {

// How a server wants to be asked.
struct CompletionRule {
  std::string model;  // as it is served
  PromptRule prompt;
  bool ignores_eos = true;  // the server can be told to answer to the full length
};

struct CompletionEnd {
  HttpEnd http;
  CompletionStream stream;
  std::string problem;  // empty: the answer is complete
};

// `prompt` is JSON. `tokens` are those of the answer.
[[nodiscard]] std::string completion_json(const CompletionRule& rule, const std::string& prompt,
                                          std::int64_t tokens, std::int32_t priority);

// Starts it; `on_end` is called once.
void call_completions(HttpClient& client, std::string body, TimeNs timeout_ns,
                      std::function<void(const CompletionEnd&)> on_end);

// The same, and waits for its end.
[[nodiscard]] CompletionEnd complete_now(HttpClient& client, std::string body, TimeNs timeout_ns);

// What an error's body says, on one line, shortened.
[[nodiscard]] std::string refusal_text(const HttpEnd& end);

}  // namespace headroom
