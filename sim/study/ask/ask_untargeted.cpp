#include "sim/study/ask/ask_untargeted.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/budget/budget.hpp"
#include "sim/resolve/parallel.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/run_verdict.hpp"

namespace headroom {

std::optional<AskAtOnce> requests_at_once(const RunResult& run) {
  const ServingMetrics& m = run.summary.metrics;
  const Resolved& r = run.resolved;
  if (!run.started || m.completed == 0 || !r.scenario.fleet.groups.empty()) return std::nullopt;
  if (sets_aside(r)) return std::nullopt;
  const TokenCount tokens = promises_room(r)
                                ? mean_promise(run)
                                : (m.total_input_tokens + m.total_output_tokens) / m.completed;
  const std::int64_t held =
      concurrent_sequences(run.budget, std::max<TokenCount>(tokens, 1)) * r.sharding.data;
  if (held == 0) return std::nullopt;
  const std::int64_t seats = step_limits(r).max_num_seqs;
  return AskAtOnce{std::min(held, seats) * r.scenario.fleet.replicas.value_or(1),
                   held < seats ? Binds::pool : Binds::batch_limit};
}

std::string untargeted_reason(const RunResult& run) {
  const ServingMetrics& m = run.summary.metrics;
  std::string text =
      fmt::format("the engine keeps up, but no targets are set (--slo): mean TTFT {}, p99 {}",
                  latency_text(m.mean_ttft_ms), latency_text(m.p99_ttft_ms));
  // Engines that do not stream, and answers of one token, have no time between tokens.
  if (m.mean_tpot_ms > 0) {
    text += fmt::format(", mean TPOT {} ({:.3g} tokens/s a request)", latency_text(m.mean_tpot_ms),
                        1000 / m.mean_tpot_ms);
  }
  return text;
}

}  // namespace headroom
