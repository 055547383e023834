#include "workloads/max_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kMaxDeclared = INT32_MAX;

std::int32_t checked(std::int64_t tokens, std::int64_t low, std::string_view option) {
  if (tokens < low || tokens > kMaxDeclared) {
    throw ConfigError(fmt::format("max_tokens: {} is {}; allowed: {} .. {} tokens", option, tokens,
                                  low, kMaxDeclared));
  }
  return static_cast<std::int32_t>(tokens);
}

}  // namespace

MaxTokens::MaxTokens(const MaxTokensOptions& options)
    : rule_(options.rule),
      keeps_declared_(options.keep_declared || rule_ == MaxTokensRule::engine_default) {
  switch (rule_) {
    case MaxTokensRule::engine_default: break;
    case MaxTokensRule::value: value_ = checked(options.value, 1, "value"); break;
    case MaxTokensRule::times_output:
      if (!(options.times_output >= 1.0 && options.times_output <= 1e6)) {
        throw ConfigError(fmt::format("max_tokens: times_output is {}; allowed: 1 .. 1000000",
                                      options.times_output));
      }
      millionths_ = static_cast<std::int64_t>(options.times_output * 1e6 + 0.5);
      break;
    case MaxTokensRule::per_class:
      if (options.per_class.empty()) throw ConfigError("max_tokens: per_class has no values");
      for (const std::int64_t tokens : options.per_class) {
        per_class_.push_back(checked(tokens, 0, "a value of per_class"));
      }
      break;
  }
}

void MaxTokens::check_class(std::int32_t class_id) const {
  if (rule_ != MaxTokensRule::per_class) return;
  if (class_id >= 0 && static_cast<std::size_t>(class_id) < per_class_.size()) return;
  throw ConfigError(fmt::format("max_tokens: per_class has no value for class {}; it has {}",
                                class_id, per_class_.size()));
}

std::int32_t MaxTokens::declared(const Arrival& arrival) const {
  switch (rule_) {
    case MaxTokensRule::engine_default: return 0;
    case MaxTokensRule::value: return value_;
    case MaxTokensRule::times_output: {
      const Int128 product = static_cast<Int128>(arrival.output_tokens) * millionths_;
      const Int128 tokens = (product + kMillion - 1) / kMillion;
      return static_cast<std::int32_t>(std::min<Int128>(tokens, kMaxDeclared));
    }
    case MaxTokensRule::per_class: return per_class_[static_cast<std::size_t>(arrival.class_id)];
  }
  return 0;
}

void MaxTokens::apply(Arrival& arrival) {
  check_class(arrival.class_id);
  const bool stays = keeps_declared_ && arrival.max_tokens > 0;
  if (!stays) arrival.max_tokens = declared(arrival);
  if (arrival.max_tokens == 0 || arrival.output_tokens <= arrival.max_tokens) return;
  arrival.output_tokens = arrival.max_tokens;
  arrival.thinking_tokens = std::min(arrival.thinking_tokens, arrival.output_tokens);
  ++outputs_cut_;
}

}  // namespace headroom
