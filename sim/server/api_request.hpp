#pragma once
// Requests of OpenAI's API, read from JSON.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/server/token_rule.hpp"

namespace headroom {

// A request that is not served: an HTTP status, and what the client is told.
class ApiRefusal : public std::runtime_error {
 public:
  ApiRefusal(int status, const std::string& message, std::string param = {})
      : std::runtime_error(message), status_(status), param_(std::move(param)) {}
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& param() const { return param_; }  // empty: of no single one

 private:
  int status_;
  std::string param_;
};

struct ApiLimits {
  std::string model;                // the name that requests may give
  std::int64_t max_model_len = 0;   // tokens, prompt and answer
  std::int64_t most_answers = 256;  // of one request: prompts times n
};

// A request of /v1/completions or /v1/chat/completions.
struct CompletionAsk {
  bool is_chat = false;
  std::vector<std::vector<TokenId>> prompts;  // one or more, each of one token or more
  std::optional<std::int32_t> max_tokens;     // absent: as many as fit
  std::int32_t min_tokens = 0;
  bool ignore_eos = false;
  std::int32_t n = 1;  // answers to each prompt
  std::int32_t priority = 0;
  bool stream = false;
  bool include_usage = false;           // of a stream: at its end,
  bool continuous_usage_stats = false;  // and with every piece

  [[nodiscard]] std::size_t answers() const { return prompts.size() * static_cast<std::size_t>(n); }
};

// ApiRefusal 400, 404 (another model): what is wrong, by its name. Fields that change only the
// wording of an answer, such as temperature and stop, are ignored.
[[nodiscard]] CompletionAsk read_completion(std::string_view body, bool is_chat,
                                            const TokenRule& rule, const ApiLimits& limits);

// A request of /tokenize: the tokens of its prompt or messages.
[[nodiscard]] std::vector<TokenId> read_tokenize(std::string_view body, const TokenRule& rule,
                                                 const ApiLimits& limits);

}  // namespace headroom
