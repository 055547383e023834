#include "sim/traces/trace_reservations.hpp"

#include <fmt/format.h>

#include <bit>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

void check_option(std::string_view flag, std::int64_t value) {
  if (value >= 1) return;
  throw ConfigError(fmt::format("{} {}: expected at least 1 token", flag, value));
}

std::int64_t power_of_two_for(std::int64_t tokens) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(tokens)));
}

// What a rule declares in all: the sum over the outputs.
Int128 sum_over(const TokenCounts& outputs, const auto& declared) {
  Int128 sum = 0;
  outputs.for_each(
      [&](std::int64_t tokens, std::int64_t same) { sum += Int128{declared(tokens)} * same; });
  return sum;
}

}  // namespace

std::string_view name_of(ReservationRule rule) {
  switch (rule) {
    case ReservationRule::true_output: return "true_output";
    case ReservationRule::p99_output: return "p99_output";
    case ReservationRule::longest_output: return "longest_output";
    case ReservationRule::half_more: return "times_output_1.5";
    case ReservationRule::next_power_of_two: return "next_power_of_two";
    case ReservationRule::max_model_len: return "max_model_len";
  }
  return "";
}

ReservationMeter::ReservationMeter(const ReservationOptions& options)
    : options_(options), max_model_len_(options.max_model_len.value_or(INT64_MAX)) {
  check_option("--kv-tokens", options.kv_tokens);
  check_option("--max-model-len", max_model_len_);
}

// A prompt as long as the limit leaves no room for a first token.
void ReservationMeter::count_too_long(std::int32_t prompt_tokens) {
  ++(prompt_tokens >= max_model_len_ ? refused_ : cut_);
}

Reservations ReservationMeter::finish(const TokenCounts& input, const TokenCounts& output) const {
  Reservations all;
  all.requests = input.count();
  all.kv_tokens = options_.kv_tokens;
  all.max_model_len = options_.max_model_len.value_or(power_of_two_for(longest_));
  if (all.requests == 0) return all;
  const Int128 prompts = input.sum();
  const std::int64_t p99 = output.percentile(99);
  const std::int64_t longest = output.max();
  const auto add = [&](Reservation one, Int128 reserved) {
    const std::int64_t taken = all.requests - one.refused_requests;
    if (taken > 0) {
      one.mean_reserved_tokens = static_cast<double>(reserved) / static_cast<double>(taken);
      one.requests_at_once = static_cast<double>(all.kv_tokens) / one.mean_reserved_tokens;
    }
    const Reservation& oracle = all.rules.empty() ? one : all.rules.front();
    one.relative_to_true_output = one.requests_at_once / oracle.requests_at_once;
    all.rules.push_back(one);
  };
  using enum ReservationRule;
  add({.rule = true_output}, prompts + output.sum());
  add({.rule = p99_output, .limit_tokens = p99, .cut_answers = output.count_above(p99)},
      prompts + Int128{p99} * all.requests);
  add({.rule = longest_output, .limit_tokens = longest}, prompts + Int128{longest} * all.requests);
  add({.rule = half_more},
      prompts + sum_over(output, [](std::int64_t tokens) { return (3 * tokens + 1) / 2; }));
  add({.rule = next_power_of_two}, prompts + sum_over(output, power_of_two_for));
  add({.rule = max_model_len,
       .limit_tokens = all.max_model_len,
       .refused_requests = refused_,
       .cut_answers = cut_},
      Int128{all.max_model_len} * (all.requests - refused_));
  return all;
}

}  // namespace headroom
