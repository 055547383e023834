#pragma once
// Requests of a fleet whose routes count other tokens, or send requests on to other routes when
// their answers are not good enough (docs/semantics.md, "Cascades"): the route that each of them is
// in, what it is there, and what its client sees of it. Fleet moves them along.

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/route_options.hpp"

namespace headroom {

class RouteStages final : private MetricsSink {
 public:
  // `replicas` in the fleet. What clients see of requests, and all else, goes to `sink`.
  RouteStages(RouteStagesParts parts, std::size_t replicas, MetricsSink& sink);

  // Where replicas and the door report to.
  [[nodiscard]] MetricsSink& sink() { return *this; }

  // Request `index` comes to its first route: as that sees it. Valid until the next verdict on it,
  // or its end.
  const Arrival& begin(const Arrival& arrival, std::uint64_t index);
  // The replica that gets it in the route that it is in.
  [[nodiscard]] std::uint32_t replica_for(const Arrival& here, std::uint64_t index,
                                          std::span<const ReplicaLoad> loads);

  // A replica says that `index` has left: whether it has left the fleet, too. Else its answer is
  // complete, and is judged from now on.
  [[nodiscard]] bool has_left(std::uint64_t index, TimeNs now_ns);
  [[nodiscard]] TimeNs next_verdict_ns() const {
    return verdicts_.empty() ? kNever : verdicts_.top().time_ns;
  }
  struct Verdict {
    std::uint64_t index = 0;
    const Arrival* next = nullptr;        // as the route that it goes to sees it, as of `begin`;
    Outcome outcome = Outcome::finished;  // or nullptr, and how it leaves: it is recorded
  };
  // The next one, when its time has come.
  [[nodiscard]] Verdict take_verdict();

  // It has left the fleet, and nothing refers to it any more.
  void forget(std::uint64_t index) { requests_.erase(index); }
  // The run is over: requests waiting for a verdict are unfinished.
  void stop();

  [[nodiscard]] const std::vector<RouteCounts>& counts() const { return counts_; }

 private:
  struct Staged {
    Arrival traffic;                    // as it came
    Arrival here;                       // as its route sees it
    std::vector<PrefixSegment> prefix;  // of `here`, where that is another one
    std::size_t route = 0;
    bool is_first = true;    // no route before this one
    bool escalates = false;  // its answer of this route will not be good enough
    bool is_judged = false;  // its answer of this route is complete: this one
    RequestRecord answer;
    // Of the routes before.
    TimeNs queued_ns = -1;
    TimeNs first_scheduled_ns = -1;
    std::int32_t preemptions = 0;
  };

  struct Due {
    TimeNs time_ns = 0;
    std::uint64_t order = 0;  // in which answers were complete
    std::uint64_t index = 0;
    bool is_patient = true;  // the client waits until its answer is judged
    friend constexpr auto operator<=>(const Due&, const Due&) = default;
  };

  void on_steps(const StepRun& run) override;
  void on_request(const RequestRecord& record) override;
  void on_event(const EngineEvent& event) override;
  void on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) override {
    sink_.on_idle(replica, instant, state);
  }

  void enter(Staged& request, std::uint64_t index, TokenCount answer_tokens);
  void scale_prompt(Staged& request, TokenCount answer_tokens) const;
  void escalate(Staged& request, std::uint64_t index);
  void pass_on(const Staged& request, RequestRecord record);
  [[nodiscard]] bool draws_escalation(std::size_t route, std::uint64_t index) const;

  RouteStagesParts parts_;
  MetricsSink& sink_;
  std::vector<std::uint8_t> is_judged_;                 // by replica: its answers are
  std::unordered_map<std::uint64_t, Staged> requests_;  // by index; never iterated
  std::priority_queue<Due, std::vector<Due>, std::greater<>> verdicts_;
  std::uint64_t answers_ = 0;  // that were judged
  std::vector<RouteCounts> counts_;
};

}  // namespace headroom
