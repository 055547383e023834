#pragma once
// Does a replica spend its time on computing again what it had computed? Our own definition, as
// engines have none: in an aligned window of 60 simulated seconds, more tokens were recomputed
// after preemptions than were sampled (ghost rows included). Recomputed = KV tokens dropped by a
// preemption less the prefix found when the request came back, counted in the window in which it
// came back. Only whole windows count: a run that ends just after a preemption has had no time to
// generate.

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/metrics/run_view.hpp"

namespace headroom {

inline constexpr TimeNs kThrashWindowNs = 60 * kNsPerSecond;

struct ThrashWindow {
  std::int64_t number = 0;  // [number, number + 1) * kThrashWindowNs
  TokenCount sampled_tokens = 0;
  TokenCount recomputed_tokens = 0;
};

class ThrashMeter {
 public:
  void add_run(const RunView& view);
  // The same of a run of one step, which ends in nanosecond `end_ns`.
  void add_step(const StepRun& run, TimeNs end_ns) {
    const TokenCount sampled = sampled_in(run);
    if (mostly(sampled > 0)) window_at(end_ns).sampled_tokens += sampled;
  }
  // Of a request that is admitted, preempted or cancelled.
  void add_event(const EngineEvent& event) {
    if (rarely(event.kind == EngineEventKind::preempted) || rarely(!dropped_.empty())) {
      add_to_dropped(event);
    }
  }

  // In order; only windows in which something happened.
  [[nodiscard]] std::span<const ThrashWindow> windows() const { return windows_; }
  [[nodiscard]] std::optional<ThrashWindow> first_thrashing(TimeNs end_ns) const;
  [[nodiscard]] TokenCount recomputed_tokens() const { return recomputed_; }

 private:
  // Tokens produced at the end of each step; extra ones occur only in runs of one step.
  [[nodiscard]] static TokenCount sampled_in(const StepRun& run) {
    return run.shape->sampled_rows + run.extra_tokens;
  }
  // Most often the latest.
  [[nodiscard]] ThrashWindow& window_at(TimeNs t) {
    const bool is_latest = mostly(t >= last_begin_ns_) && mostly(t < last_end_ns_);
    return is_latest ? windows_.back() : find_window(t);
  }
  [[nodiscard]] ThrashWindow& find_window(TimeNs t);
  void add_to_dropped(const EngineEvent& event);

  std::vector<ThrashWindow> windows_;
  TimeNs last_begin_ns_ = 0;  // of windows_.back()
  TimeNs last_end_ns_ = 0;
  std::unordered_map<std::uint64_t, TokenCount> dropped_;  // of requests that wait, preempted
  TokenCount recomputed_ = 0;
};

}  // namespace headroom
