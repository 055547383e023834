#pragma once
// What a rule for `max_tokens` costs an engine that sets aside memory for the whole of an answer
// before it is written: tokens per request, and requests that a KV pool holds at once.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/traces/trace_lengths.hpp"

namespace headroom {

struct ReservationOptions {
  std::int64_t kv_tokens = 100'000;  // of the pool; >= 1
  // >= 1; absent: the smallest power of two that holds the longest request.
  std::optional<std::int64_t> max_model_len = std::nullopt;
};

enum class ReservationRule : std::uint8_t {
  true_output,        // the oracle: not known in advance
  p99_output,         // for all requests the 99th percentile of the outputs
  longest_output,     // for all requests the longest output
  half_more,          // 1.5 x the request's own output, rounded up
  next_power_of_two,  // of the request's own output, as Orca (Pow2) in the vLLM paper
  max_model_len       // not declared: the engine's default, up to the longest sequence it takes
};
// "true_output", ...: as JSON spells it.
[[nodiscard]] std::string_view name_of(ReservationRule rule);

struct Reservation {
  ReservationRule rule = ReservationRule::true_output;
  // The same for all requests: max_tokens, or the length of the sequence for max_model_len.
  std::optional<std::int64_t> limit_tokens = std::nullopt;
  std::int64_t refused_requests = 0;   // prompts that leave no room below max_model_len
  std::int64_t cut_answers = 0;        // answers that end early at the limit
  double mean_reserved_tokens = 0;     // per request that is not refused
  double requests_at_once = 0;         // pool / mean
  double relative_to_true_output = 0;  // of requests_at_once
};

struct Reservations {
  std::int64_t requests = 0;
  std::int64_t kv_tokens = 0;
  std::int64_t max_model_len = 0;
  std::vector<Reservation> rules;  // one for each rule; empty without requests
};

// Takes requests one by one; prompt and output >= 1.
class ReservationMeter {
 public:
  explicit ReservationMeter(const ReservationOptions& options);  // ConfigError

  void add(std::int32_t prompt_tokens, std::int32_t output_tokens) {
    const std::int64_t tokens = std::int64_t{prompt_tokens} + output_tokens;
    longest_ = tokens > longest_ ? tokens : longest_;
    if (tokens > max_model_len_) count_too_long(prompt_tokens);
  }
  // `input` and `output` count the same requests.
  [[nodiscard]] Reservations finish(const TokenCounts& input, const TokenCounts& output) const;

 private:
  void count_too_long(std::int32_t prompt_tokens);

  ReservationOptions options_;
  std::int64_t max_model_len_;
  std::int64_t longest_ = 0;  // prompt + output
  std::int64_t refused_ = 0;
  std::int64_t cut_ = 0;
};

}  // namespace headroom
