#pragma once
// Answers of OpenAI's API, written as JSON: whole ones, and the events of streams.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headroom {

struct AnswerUsage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};

// One answer of a request that is not streamed.
struct WholeChoice {
  std::string text;
  std::string_view finish_reason;  // "stop", "length"
};

// What is the same in all that one request is answered with.
class AnswerWriter {
 public:
  // `created_s`: Unix time.
  AnswerWriter(bool is_chat, std::uint64_t number, std::int64_t created_s,
               const std::string& model);

  // An event with the next tokens of an answer. `finish_reason` empty: more follow. `usage`: also
  // what was used so far; nullptr: without.
  [[nodiscard]] std::string piece(std::size_t choice, std::string_view text,
                                  std::string_view finish_reason, const AnswerUsage* usage) const;
  // The event before the first tokens of an answer in a chat.
  [[nodiscard]] std::string role_piece(std::size_t choice) const;
  // The event behind all answers.
  [[nodiscard]] std::string usage_piece(const AnswerUsage& usage) const;
  [[nodiscard]] std::string whole(std::span<const WholeChoice> choices,
                                  const AnswerUsage& usage) const;

 private:
  bool is_chat_;
  std::string piece_head_;  // up to the list of choices
  std::string whole_head_;
};

inline constexpr std::string_view kStreamEnd = "data: [DONE]\n\n";

// {"error": {...}}; `param` empty: null.
[[nodiscard]] std::string error_json(int status, std::string_view message,
                                     std::string_view param = {});
// The same as an event of a stream that breaks off.
[[nodiscard]] std::string error_piece(int status, std::string_view message);

[[nodiscard]] std::string models_json(const std::string& model, std::int64_t created_s,
                                      std::int64_t max_model_len);
[[nodiscard]] std::string tokens_json(std::span<const std::int32_t> ids,
                                      std::int64_t max_model_len);

}  // namespace headroom
