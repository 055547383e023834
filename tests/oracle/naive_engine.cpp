#include "tests/oracle/naive_engine.hpp"

#include <algorithm>
#include <deque>

#include "sim/kernel/check.hpp"
#include "tests/oracle/naive_policies.hpp"

namespace headroom::oracle {

StepShape shape_of(const std::vector<PlannedRow>& rows) {
  StepShape shape;
  for (const PlannedRow& planned : rows) {
    const TokenCount q = planned.row.tokens;
    const TokenCount ctx = planned.context_before;
    if (planned.row.decodes) {
      ++shape.decode_rows;
      shape.decode_context += ctx + q;
    } else {
      ++shape.chunk_rows;
      shape.chunk_tokens += q;
      shape.chunk_context += ctx + q;
      shape.chunk_pairs_twice += q * (2 * ctx + q);
    }
    if (planned.row.samples) ++shape.sampled_rows;
  }
  return shape;
}

namespace {

bool is_memory_of(Policy policy, Memory memory) {
  if (policy == Policy::llamacpp) return memory == Memory::slots;
  const bool places = policy == Policy::orca || policy == Policy::static_batch;
  return memory == Memory::paged || (memory == Memory::contiguous && places);
}

class NaiveEngine {
 public:
  NaiveEngine(const Scenario& scenario, const CostFunction& cost)
      : scenario_(scenario), cost_(cost), state_(scenario) {
    const bool legal = (scenario.depth == 1 || scenario.depth == 2) &&
                       (scenario.policy != Policy::static_batch || scenario.depth == 1) &&
                       is_memory_of(scenario.policy, scenario.memory) &&
                       (scenario.policy != Policy::static_batch || !state_.api.exists());
    HEADROOM_CHECK(legal, "a combination the specification has no rules for");
    const auto earlier = [](const Arrival& a, const Arrival& b) { return a.time_ns < b.time_ns; };
    HEADROOM_CHECK(std::is_sorted(scenario.arrivals.begin(), scenario.arrivals.end(), earlier),
                   "arrivals in order of time");
  }

  Result run() {
    for (TimeNs next = next_event(); next != kNever; next = next_event()) {
      state_.now = next;
      const bool step_ended = end_steps();
      const bool arrived = arrive_all();
      const bool woken = state_.wake_up == state_.now;
      const bool gave_up = give_up_all(step_ended || in_flight_.empty());
      if (step_ended || (in_flight_.empty() && (arrived || woken || gave_up))) make_plans();
      if (steps_without_token_ < kThrashSteps) continue;
      state_.result.thrashed = true;
      return state_.result;
    }
    HEADROOM_CHECK(state_.running.empty(), "a running request always has a step");
    return state_.result;
  }

 private:
  struct Sent {
    TimeNs ready_ns = 0;
    std::size_t request = 0;
  };

  TimeNs next_event() const {
    TimeNs next = kNever;
    if (!in_flight_.empty()) next = std::min(next, floor_ns(in_flight_.front().end));
    if (next_arrival_ < scenario_.arrivals.size()) {
      next = std::min(next, scenario_.arrivals[next_arrival_].time_ns);
    }
    for (const Sent& sent : sent_) next = std::min(next, sent.ready_ns);
    if (state_.wake_up) next = std::min(next, *state_.wake_up);
    for (std::size_t i = 0; i < next_arrival_; ++i) next = std::min(next, patience_ends(i));
    return next;
  }

  // When the client of an arrived request goes; kNever: it has gone, or got what it waited for.
  TimeNs patience_ends(std::size_t request) const {
    const Sequence& seq = state_.sequences[request];
    const bool with_the_engine = state_.result.requests[request].queued_ns >= 0;
    if (seq.left || seq.given_up || !with_the_engine) return kNever;
    if (seq.has_all_tokens() && !scenario_.responds_at_end) return kNever;
    const Arrival& arrival = scenario_.arrivals[request];
    const TimeNs first_ns = state_.result.requests[request].first_token_ns;
    const bool begun =
        first_ns >= 0 && first_ns <= arrival.first_token_deadline_ns && !scenario_.responds_at_end;
    return begun ? arrival.deadline_ns
                 : std::min(arrival.deadline_ns, arrival.first_token_deadline_ns);
  }

  bool give_up_all(bool plans_now) {
    bool any = false;
    for (std::size_t i = 0; i < next_arrival_; ++i) {
      if (patience_ends(i) != state_.now) continue;
      state_.give_up(i, plans_now, samples_in_flight(i));
      any = true;
    }
    return any;
  }

  bool samples_in_flight(std::size_t request) const {
    for (const StepEntry& step : in_flight_) {
      for (const StepRow& row : step.rows) {
        if (row.request == request && row.samples) return true;
      }
    }
    return false;
  }

  bool end_steps() {
    bool any = false;
    while (!in_flight_.empty() && floor_ns(in_flight_.front().end) == state_.now) {
      const bool token = state_.end_step(in_flight_.front().rows, in_flight_.front().end);
      latest_end_ = in_flight_.front().end;
      steps_without_token_ = token ? 0 : steps_without_token_ + 1;
      in_flight_.pop_front();
      any = true;
    }
    return any;
  }

  bool arrive_all() {
    bool any = false;
    while (next_arrival_ < scenario_.arrivals.size() &&
           scenario_.arrivals[next_arrival_].time_ns == state_.now) {
      if (state_.api.exists()) {
        send(next_arrival_);
      } else {
        state_.arrive(next_arrival_);
        any = true;
      }
      ++next_arrival_;
    }
    while (const Sent* next = next_sent()) {
      const std::size_t request = next->request;
      sent_.erase(sent_.begin() + (next - sent_.data()));
      state_.arrive(request);
      any = true;
    }
    return any;
  }

  // Of several answers of a prompt only the first is sent.
  bool comes_with_prompt_before(std::size_t request) const {
    if (request == 0 || scenario_.arrivals[request].shared_prompt == 0) return false;
    const Arrival& before = scenario_.arrivals[request - 1];
    return before.shared_prompt == scenario_.arrivals[request].shared_prompt;
  }

  // Who loses patience before the engine has the request is gone then.
  void send(std::size_t request) {
    const Arrival& arrival = scenario_.arrivals[request];
    if (!comes_with_prompt_before(request)) {
      prompt_ready_ns_ = state_.api.send(arrival.prompt_tokens, state_.now);
    }
    const TimeNs ready_ns = prompt_ready_ns_;
    const TimeNs gone_ns = std::min(arrival.first_token_deadline_ns, arrival.deadline_ns);
    if (gone_ns >= ready_ns) return sent_.push_back({ready_ns, request});
    state_.sequences[request].left = true;
    state_.result.requests[request].outcome = Outcome::cancelled;
    state_.result.requests[request].finish_ns = gone_ns;
  }

  // The first of those that reach the engine now.
  const Sent* next_sent() const {
    const Sent* first = nullptr;
    for (const Sent& sent : sent_) {
      if (sent.ready_ns == state_.now && (first == nullptr || sent.request < first->request)) {
        first = &sent;
      }
    }
    return first;
  }

  std::vector<PlannedRow> plan() {
    switch (scenario_.policy) {
      case Policy::vllm: return plan_vllm(state_);
      case Policy::orca: return plan_orca(state_);
      case Policy::static_batch: return plan_static(state_);
      case Policy::vllm_v0: return plan_vllm_v0(state_);
      case Policy::sarathi: return plan_sarathi(state_);
      case Policy::tgi: return plan_tgi(state_);
      case Policy::trtllm: return plan_trtllm(state_);
      case Policy::sglang: return plan_sglang(state_);
      case Policy::llamacpp: return plan_llamacpp(state_);
    }
    HEADROOM_CHECK(false, "unknown policy");
    return {};
  }

  void make_plans() {
    state_.wake_up.reset();
    while (in_flight_.size() < scenario_.steps_ahead()) {
      state_.steps_in_flight = in_flight_.size();
      const std::vector<PlannedRow> rows = plan();
      if (rows.empty()) break;
      add_step(rows);
    }
    if (!in_flight_.empty()) state_.wake_up.reset();  // the next step end comes first
  }

  void add_step(const std::vector<PlannedRow>& rows) {
    StepEntry step;
    step.planned_ns = state_.now;
    step.shape = shape_of(rows);
    const Ticks loads = state_.load_adapters();
    step.shape.adapters = static_cast<std::int64_t>(state_.adapters.batch.size());
    for (const PlannedRow& planned : rows) {
      if (state_.sequences[planned.row.request].adapter == 0) continue;
      step.shape.adapter_tokens += planned.row.tokens;
    }
    for (const PlannedRow& planned : rows) step.rows.push_back(planned.row);
    const Ticks work = cost_(step.shape) + loads;
    HEADROOM_CHECK(work > 0, "a step takes time");
    step.start = std::max(last_end_, planned_at());
    step.end = scenario_.stages.empty() ? step.start + work : leaves_stages(work);
    const auto duration = static_cast<Ticks>(step.end - step.start);
    last_end_ = step.end;
    in_flight_.push_back(step);
    Totals& totals = state_.result.totals;
    ++totals.steps;
    totals.busy_ticks += duration;
    totals.prefill_tokens += step.shape.chunk_tokens;
    state_.result.timeline.push_back(step);
  }

  // Steps are planned when one ends, at its exact instant, or when none is in flight.
  TickSum planned_at() const { return std::max(ticks_from_ns(state_.now), latest_end_); }

  // docs/semantics.md 28, stage by stage: each takes up a micro-batch when it has done the ones
  // before it, prepares it, and begins when the stage before has handed it over.
  TickSum leaves_stages(Ticks work) {
    const AffineCost& cost = scenario_.cost;
    std::int64_t all_layers = 0;
    for (const std::int64_t layers : scenario_.stages) all_layers += layers;
    stage_ends_.resize(scenario_.stages.size(), 0);
    TickSum arrives = planned_at();
    std::int64_t layers = 0;
    for (std::size_t stage = 0; stage < stage_ends_.size(); ++stage) {
      const Int128 before = Int128{work} * layers / all_layers;
      layers += scenario_.stages[stage];
      const bool is_last = stage + 1 == stage_ends_.size();
      const Int128 own = Int128{work} * layers / all_layers - before + (is_last ? cost.head : 0);
      const TickSum ready = std::max(planned_at(), stage_ends_[stage]) + cost.prepare;
      stage_ends_[stage] = std::max(ready, arrives) + own;
      arrives = stage_ends_[stage] + cost.hand_over;
    }
    return stage_ends_.back();
  }

  const Scenario& scenario_;
  const CostFunction& cost_;
  NaiveState state_;
  std::vector<TickSum> stage_ends_;  // of what was planned, by stage
  TickSum latest_end_ = 0;           // of the steps that have ended
  std::deque<StepEntry> in_flight_;  // the first one runs, the others follow back to back
  std::size_t next_arrival_ = 0;
  std::vector<Sent> sent_;
  TimeNs prompt_ready_ns_ = 0;  // of the prompt sent last
  TickSum last_end_ = 0;        // of the last step planned
  StepCount steps_without_token_ = 0;
};

}  // namespace

Result run_naive(const Scenario& scenario) { return run_naive(scenario, scenario.cost); }

Result run_naive(const Scenario& scenario, const CostFunction& cost) {
  return NaiveEngine(scenario, cost).run();
}

}  // namespace headroom::oracle
