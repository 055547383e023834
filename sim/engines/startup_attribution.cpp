#include "sim/engines/startup_attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/engines/engine_log.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/size_of.hpp"

namespace headroom {
namespace {

constexpr double kRoundingGib = 0.005;  // of one figure with two digits

bool within(double value, double expected, double share) {
  return size_of(value - expected) <= share * size_of(expected);
}

}  // namespace

Attributor::Attributor(const StartupLog& log, const ModelledMemory& modelled)
    : log_(log), modelled_(modelled), pool_(reported_pool_gib(log)) {}

std::vector<Attribution> Attributor::run() {
  if (pool_) ++figures_;
  add(MemoryCause::pool, pool_, modelled_.kv_gib, 0, "memory for KV; the causes below explain it");
  log_.engine->log->attribute(*this);
  if (pool_) add_rest();
  add_tokens();
  return std::move(found_);
}

void Attributor::add(MemoryCause cause, const FoundNumber& reported, double modelled,
                     double coefficient, std::string why) {
  Attribution entry{
      .cause = cause, .reported = std::nullopt, .modelled = modelled, .why = std::move(why)};
  if (reported) {
    entry.reported = reported->value;
    entry.line = reported->line;
    entry.pool_effect_gib = coefficient * (reported->value - modelled);
    if (coefficient != 0) ++figures_;
  } else if (cause != MemoryCause::pool && coefficient != 0) {
    unreported_.emplace_back(name_of(cause));
  }
  found_.push_back(std::move(entry));
}

void Attributor::add_effect(MemoryCause cause, const FoundNumber& reported, double modelled,
                            double coefficient, double effect_gib, std::string why) {
  add(cause, reported, modelled, coefficient, std::move(why));
  found_.back().pool_effect_gib = effect_gib;
}

void Attributor::add_rest() {
  double explained = 0;
  for (const Attribution& entry : found_) explained += entry.pool_effect_gib;
  const double difference = pool_->value - modelled_.kv_gib;
  const double rest = difference - explained;
  const double bound = kRoundingGib * static_cast<double>(figures_);
  const double rounding = std::clamp(rest, -bound, bound);
  Attribution rounded{.cause = MemoryCause::rounding, .reported = {}, .modelled = {}, .why = {}};
  rounded.pool_effect_gib = rounding;
  rounded.why =
      fmt::format("rounding of {} two-digit figures: at most {:.3f} GiB", figures_, bound);
  Attribution unexplained{
      .cause = MemoryCause::unexplained, .reported = {}, .modelled = {}, .why = {}};
  unexplained.pool_effect_gib = rest - rounding;
  unexplained.why = "not explained by any reported term";
  if (!unreported_.empty()) {
    std::string names;
    for (const std::string& name : unreported_) names += (names.empty() ? "" : ", ") + name;
    unexplained.why += "; not in the log: " + names;
  }
  const double sum = explained + rounded.pool_effect_gib + unexplained.pool_effect_gib;
  // Absurd figures of a damaged log cancel with what double precision leaves.
  HEADROOM_CHECK(size_of(sum - difference) <= 1e-9 + 1e-12 * size_of(explained),
                 fmt::format("effects {} do not add up to the difference {}", sum, difference));
  found_.push_back(std::move(rounded));
  found_.push_back(std::move(unexplained));
}

void Attributor::add_tokens() {
  const FoundCount& tokens = log_.kv_tokens ? log_.kv_tokens : log_.max_tokens;
  if (!tokens || modelled_.kv_tokens <= 0) return;
  const auto reported = static_cast<double>(tokens->value);
  const auto expected = static_cast<double>(modelled_.kv_tokens);
  found_.push_back(Attribution{.cause = MemoryCause::token_counting,
                               .reported = reported,
                               .modelled = expected,
                               .line = tokens->line,
                               .why = token_reason(reported)});
}

// Which way of counting gives the reported tokens, once the pools are brought to one size.
std::string Attributor::token_reason(double reported) const {
  constexpr double kSame = 0.01;  // blocks are rounded down once, groups once more
  const double scale = pool_ && modelled_.kv_gib > 0 ? pool_->value / modelled_.kv_gib : 1;
  if (within(reported, scale * static_cast<double>(modelled_.kv_tokens), kSame)) {
    return "follows from the memory for KV";
  }
  const auto block = static_cast<double>(modelled_.block_size);
  const auto blocks = static_cast<double>(modelled_.kv_blocks);
  const auto groups = static_cast<double>(modelled_.kv_groups);
  if (blocks > 0 && within(reported, scale * blocks / groups * block, kSame)) {
    return fmt::format(
        "counted as blocks / {} groups * {} tokens (hybrid model, up to about v0.19)",
        modelled_.kv_groups, modelled_.block_size);
  }
  const double requests = modelled_.max_concurrency * static_cast<double>(modelled_.max_model_len);
  if (requests > 0 && within(reported, scale * requests, kSame)) {
    return "counted as max_concurrency * max_model_len (newer releases)";
  }
  if (blocks > 0 && within(reported, scale * blocks * block, kSame)) {
    return "counted as blocks * block size, ignoring groups";
  }
  return "different pool layout: bytes per token or groups differ";
}

std::string_view name_of(MemoryCause cause) {
  constexpr std::array<std::string_view, 12> kNames{
      "memory for KV", "total memory", "share", "weights",  "activation",  "outside torch",
      "graphs",        "others",       "peak",  "rounding", "unexplained", "token counting"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::vector<Attribution> attribute(const StartupLog& log, const ModelledMemory& modelled) {
  return Attributor(log, modelled).run();
}

}  // namespace headroom
