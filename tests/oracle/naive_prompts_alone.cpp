#include "tests/oracle/naive_prompts_alone.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "sim/kernel/check.hpp"
#include "tests/oracle/naive_engine.hpp"
#include "tests/oracle/naive_policies.hpp"

namespace headroom::oracle {
namespace {

struct Rank {
  explicit Rank(Scenario own) : scenario(std::move(own)), state(scenario) {}
  Rank(const Rank&) = delete;  // its state refers to its scenario
  Rank& operator=(const Rank&) = delete;

  Scenario scenario;
  NaiveState state;
  std::vector<PlannedRow> rows;  // of the step in flight
};

class Ranks {
 public:
  Ranks(const Scenario& scenario, std::size_t ranks) : scenario_(scenario) {
    HEADROOM_CHECK(scenario.policy == Policy::sglang && scenario.depth == 1,
                   "what this twin knows");
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      Scenario own = scenario;
      own.decodes_go_on = true;
      own.arrivals.clear();
      for (std::size_t i = rank; i < scenario.arrivals.size(); i += ranks) {
        own.arrivals.push_back(scenario.arrivals[i]);
      }
      ranks_.emplace_back(std::move(own));
    }
  }

  std::vector<RequestResult> run() {
    for (TimeNs now = next_event(); now != kNever; now = next_event()) {
      const bool ended = step_end_ && floor_ns(*step_end_) == now;
      if (ended) end_step();
      bool arrived = false;
      for (; next_ < scenario_.arrivals.size() && scenario_.arrivals[next_].time_ns == now;
           ++next_) {
        NaiveState& state = ranks_[next_ % ranks_.size()].state;
        state.now = now;
        state.arrive(next_ / ranks_.size());
        arrived = true;
      }
      if (ended || (!step_end_ && (arrived || wakes_))) plan(now);
    }
    std::vector<RequestResult> results;
    for (std::size_t i = 0; i < scenario_.arrivals.size(); ++i) {
      results.push_back(ranks_[i % ranks_.size()].state.result.requests[i / ranks_.size()]);
    }
    return results;
  }

 private:
  [[nodiscard]] TimeNs next_event() const {
    if (wakes_) return now_;
    TimeNs next = step_end_ ? floor_ns(*step_end_) : kNever;
    if (next_ < scenario_.arrivals.size()) next = std::min(next, scenario_.arrivals[next_].time_ns);
    return next;
  }

  void end_step() {
    for (Rank& rank : ranks_) {
      std::vector<StepRow> rows;
      for (const PlannedRow& planned : rank.rows) rows.push_back(planned.row);
      rank.state.now = floor_ns(*step_end_);
      if (!rows.empty()) (void)rank.state.end_step(rows, *step_end_);
    }
    last_end_ = *step_end_;
    step_end_.reset();
  }

  void plan(TimeNs now) {
    now_ = now;
    wakes_ = false;
    bool runs = false;
    for (Rank& rank : ranks_) {
      rank.state.now = now;
      rank.state.steps_in_flight = 0;
      rank.state.wake_up.reset();
      rank.rows = plan_sglang(rank.state);
      runs = runs || !rank.rows.empty();
      wakes_ = wakes_ || rank.state.wake_up.has_value();
    }
    if (!runs) return;
    wakes_ = false;
    step_end_ = std::max(last_end_, ticks_from_ns(now)) + slowest();
  }

  [[nodiscard]] Ticks slowest() const {
    std::vector<StepShape> shapes;
    TokenCount all = 0;
    for (const Rank& rank : ranks_) {
      const auto is_prompt = [](const PlannedRow& planned) { return !planned.row.decodes; };
      std::vector<PlannedRow> rows = rank.rows;
      if (std::ranges::any_of(rows, is_prompt)) {
        std::erase_if(rows, [](const PlannedRow& planned) { return planned.row.decodes; });
      }
      shapes.push_back(shape_of(rows));
      all += shapes.back().decode_rows + shapes.back().chunk_tokens;
    }
    Ticks longest = 0;
    for (StepShape& shape : shapes) {
      if (shape.decode_rows + shape.chunk_rows == 0) continue;
      shape.all_rank_tokens = all;
      longest = std::max(longest, scenario_.cost(shape));
    }
    return longest;
  }

  const Scenario& scenario_;
  std::deque<Rank> ranks_;
  std::size_t next_ = 0;
  TimeNs now_ = 0;
  std::optional<TickSum> step_end_;
  TickSum last_end_ = 0;
  bool wakes_ = false;
};

}  // namespace

std::vector<RequestResult> run_naive_prompts_alone(const Scenario& scenario, std::size_t ranks) {
  return Ranks(scenario, ranks).run();
}

}  // namespace headroom::oracle
