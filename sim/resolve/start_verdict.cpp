#include "sim/resolve/start_verdict.hpp"

#include <fmt/format.h>

#include "sim/resolve/platform.hpp"

namespace headroom {
namespace {

// max_model_len is an option of the engine, and the user's or the model's: not found from the pool.
bool checks_length(const Resolved& resolved, const MemoryBudget& budget) {
  const auto& asked = resolved.scenario.engine.max_model_len;
  const auto rule = resolved.rules.find("/engine/max_model_len");
  if (rule != resolved.rules.end() && rule->second.starts_with("-1:")) return false;
  return asked && *asked > 0 && budget.max_model_len == *asked;
}

// What is missing is less than what the budget is known to.
bool is_close(const Resolved& resolved, const StartupFailure& failure) {
  const bool by_length = failure.stage == StartupStage::max_length_request;
  return by_length && sizes_its_pool(resolved) &&
         static_cast<double>(failure.free_bytes) * (1 + kPoolError) >=
             static_cast<double>(failure.wanted_bytes);
}

}  // namespace

std::string_view name_of(StartVerdict verdict) {
  switch (verdict) {
    case StartVerdict::starts: return "starts";
    case StartVerdict::may_not_start: return "may_not_start";
    case StartVerdict::does_not_start: return "does_not_start";
  }
  return "";
}

bool sizes_its_pool(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  return !resolved.engine->share_option.empty() && !e.kv_cache_memory_bytes &&
         !e.num_gpu_blocks_override;
}

MemoryBudget least_pool(const MemoryBudget& budget) {
  MemoryBudget least = budget;
  const auto lower = [](std::int64_t& value) {
    value = static_cast<std::int64_t>(static_cast<double>(value) * (1 - kPoolError));
  };
  lower(least.kv_pool_bytes);
  lower(least.total_blocks);
  lower(least.usable_blocks);
  lower(least.kv_tokens);
  least.max_concurrency *= 1 - kPoolError;
  return least;
}

std::int64_t certain_length(const StartupFailure& failure) {
  constexpr std::int64_t kBlock = 16;
  const auto feasible = static_cast<double>(failure.largest_feasible_max_model_len);
  return static_cast<std::int64_t>(feasible * (1 - kPoolError)) / kBlock * kBlock;
}

StartVerdict start_verdict(const Resolved& resolved, const MemoryBudget& budget) {
  if (budget.failure) return StartVerdict::does_not_start;
  if (platform_gap(resolved)) return StartVerdict::may_not_start;
  if (budget.reread_weight_bytes > 0) return StartVerdict::may_not_start;
  const bool known = !sizes_its_pool(resolved) || !checks_length(resolved, budget);
  return known || least_pool(budget).max_concurrency >= 1 ? StartVerdict::starts
                                                          : StartVerdict::may_not_start;
}

std::string start_reason(const Resolved& resolved, const MemoryBudget& budget) {
  switch (start_verdict(resolved, budget)) {
    case StartVerdict::starts: return "";
    case StartVerdict::may_not_start:
      if (const auto gap = platform_gap(resolved)) return "may not start: " + gap->text;
      if (budget.reread_weight_bytes > 0) {
        return fmt::format(
            "{:.2f} GiB of the weights do not fit in memory: every step reads them from the file "
            "again, whose time is not simulated",
            gib_from_bytes(budget.reread_weight_bytes));
      }
      return fmt::format(
          "may not start: the KV pool holds {:.2f} requests of the longest length that the engine "
          "accepts ({}), and its size is known to about {:.0f} %",
          budget.max_concurrency, budget.max_model_len, 100 * kPoolError);
    case StartVerdict::does_not_start: break;
  }
  return budget.failure->message +
         (is_close(resolved, *budget.failure)
              ? fmt::format(" (close: the budget is known to about {:.0f} %)", 100 * kPoolError)
              : "");
}

}  // namespace headroom
