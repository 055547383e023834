// VERIFICATION V4: what changes of a scenario must do to its results.

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "tests/laws/law_schedulers.hpp"
#include "tests/laws/scenario_runs.hpp"
#include "tests/support/production.hpp"
#include "tests/support/scenario_generator.hpp"

namespace headroom::laws::metamorphic_test {
namespace {

using oracle::AffineCost;
using oracle::RequestResult;
using oracle::Scenario;

constexpr Ticks AffineCost::*kCoefficients[] = {&AffineCost::step,
                                                &AffineCost::decode_row,
                                                &AffineCost::decode_context,
                                                &AffineCost::chunk_row,
                                                &AffineCost::chunk_token,
                                                &AffineCost::chunk_context,
                                                &AffineCost::chunk_pair_twice,
                                                &AffineCost::sampled_row};

// --- all times k times as long ------------------------------------------------------------------

// Floors to whole ns scale only when there is nothing to floor.
Scenario in_whole_ns(Scenario s) {
  for (const auto c : kCoefficients) s.cost.*c = s.cost.*c / kTicksPerNs * kTicksPerNs;
  s.cost.step = std::max(s.cost.step, kTicksPerNs);
  return s;
}

Scenario scaled(Scenario s, std::int64_t k) {
  for (const auto c : kCoefficients) s.cost.*c *= k;
  for (Arrival& a : s.arrivals) a.time_ns *= k;
  s.batch_wait_ns *= k;
  return s;
}

bool scales(const Scenario& scenario, std::int64_t k, const Model& model) {
  const Scenario s = in_whole_ns(scenario);
  Results expected = run_scenario(s, model);
  for (RequestResult& r : expected) {
    for (TimeNs* t : {&r.queued_ns, &r.first_scheduled_ns, &r.first_token_ns, &r.finish_ns}) {
      if (*t > 0) *t *= k;
    }
  }
  return run_scenario(scaled(s, k), model) == expected;
}

bool scaling_holds(const Model& model) {
  return holds_for_all([&](const Scenario& s, std::uint64_t seed) {
    return verdict(scales(s, 2 + static_cast<std::int64_t>(seed % 6), model));
  });
}

TEST_CASE("law: k times the times and costs give k times the results") {
  REQUIRE(scaling_holds(production));
}

TEST_CASE("the law of scaling refuses an engine with a constant of its own") {
  REQUIRE_FALSE(scaling_holds([](Scenario s) {
    s.cost.step += kTicksPerNs;
    return production(s);
  }));
}

// --- other names --------------------------------------------------------------------------------

// Wrong: requests that arrive between two plans queue by the parity of their number.
class SortsByName final : public BatchScheduler {
 public:
  explicit SortsByName(std::unique_ptr<BatchScheduler> inner) : inner_(std::move(inner)) {}
  void enqueue(RequestId id, const Request&) override { arrived_.push_back(id); }
  void plan(const PlanContext& context, BatchPlan& plan) override {
    std::stable_sort(arrived_.begin(), arrived_.end(), [&](RequestId a, RequestId b) {
      return context.requests[a].index % 2 < context.requests[b].index % 2;
    });
    for (const RequestId id : arrived_) inner_->enqueue(id, context.requests[id]);
    arrived_.clear();
    inner_->plan(context, plan);
  }
  [[nodiscard]] bool on_leave(RequestId id) override { return inner_->on_leave(id); }
  void on_engine_lost() override { inner_->on_engine_lost(); }

 private:
  std::unique_ptr<BatchScheduler> inner_;
  std::vector<RequestId> arrived_;
};

// Other classes; and a request that is rejected at once shifts every number by one.
Scenario renamed(Scenario s) {
  std::int32_t name = 200;
  for (Arrival& a : s.arrivals) a.class_id = name--;
  Arrival too_long = s.arrivals.front();
  too_long.prompt_tokens = static_cast<std::int32_t>(s.max_model_len);
  s.arrivals.insert(s.arrivals.begin(), too_long);
  return s;
}

bool names_mean_nothing(const Model& model) {
  return holds_for_all([&](const Scenario& s, std::uint64_t) {
    Results results = run_scenario(renamed(s), model);
    if (results.front().outcome != Outcome::rejected) return Verdict::fails;
    results.erase(results.begin());
    return verdict(results == run_scenario(s, model));
  });
}

TEST_CASE("law: names and numbers of requests change no result") {
  REQUIRE(names_mean_nothing(production));
}

TEST_CASE("the law of names refuses an engine that sorts by number") {
  REQUIRE_FALSE(names_mean_nothing([](const Scenario& s) {
    ReplicaParts parts = production(s);
    parts.scheduler = std::make_unique<SortsByName>(std::move(parts.scheduler));
    return parts;
  }));
}

// Every second request becomes the twin of the one before it, with another name. Twins may swap
// places; the results, without saying whose they are, stay.
bool swaps_keep_the_multiset(Scenario s, const Model& model) {
  const auto key = [](const RequestResult& r) {
    return std::pair(r.finish_ns, std::pair(r.first_token_ns, r.output_tokens));
  };
  const auto sorted = [&](Results results) {
    std::sort(results.begin(), results.end(),
              [&](const auto& a, const auto& b) { return key(a) < key(b); });
    return results;
  };
  Scenario swapped = s;
  std::int32_t name = 0;
  for (std::size_t i = 0; i < s.arrivals.size(); ++i) {
    if (i % 2 == 1) s.arrivals[i] = s.arrivals[i - 1];
    s.arrivals[i].class_id = name++;
  }
  swapped.arrivals = s.arrivals;
  for (std::size_t i = 1; i < s.arrivals.size(); i += 2) {
    std::swap(swapped.arrivals[i - 1], swapped.arrivals[i]);
  }
  return sorted(run_scenario(s, model)) == sorted(run_scenario(swapped, model));
}

// Wrong: an odd name overtakes the one that came just before it.
class OvertakesByName final : public BatchScheduler {
 public:
  explicit OvertakesByName(std::unique_ptr<BatchScheduler> inner) : inner_(std::move(inner)) {}
  void enqueue(RequestId id, const Request& request) override {
    held_.push_back(id);
    if (request.class_id % 2 == 0 || held_.size() < 2) return;
    std::swap(held_.back(), held_[held_.size() - 2]);
  }
  void plan(const PlanContext& context, BatchPlan& plan) override {
    for (const RequestId id : held_) inner_->enqueue(id, context.requests[id]);
    held_.clear();
    inner_->plan(context, plan);
  }
  [[nodiscard]] bool on_leave(RequestId id) override { return inner_->on_leave(id); }
  void on_engine_lost() override { inner_->on_engine_lost(); }

 private:
  std::unique_ptr<BatchScheduler> inner_;
  std::vector<RequestId> held_;
};

TEST_CASE("law: requests that differ in name alone may swap places") {
  const auto holds = [](const Model& model) {
    return holds_for_all([&](const Scenario& s, std::uint64_t) {
      return verdict(swaps_keep_the_multiset(s, model));
    });
  };
  REQUIRE(holds(production));
  REQUIRE_FALSE(holds([](const Scenario& s) {
    ReplicaParts parts = production(s);
    parts.scheduler = std::make_unique<OvertakesByName>(std::move(parts.scheduler));
    return parts;
  }));
}

// --- two bursts with a drain between them -------------------------------------------------------

// Wrong: steps take a nanosecond longer from the 20th plan on.
class AgeingCost final : public StepCost {
 public:
  explicit AgeingCost(std::unique_ptr<StepCost> inner) : inner_(std::move(inner)) {}
  void price(const StepShape& shape, StepPrice& price) const override {
    inner_->price(shape, price);
    if (++plans_ < 20) return;
    price.base += kTicksPerNs;
    price.base_terms[CostTerm::step_overhead] += kTicksPerNs;
  }

 private:
  std::unique_ptr<StepCost> inner_;
  mutable int plans_ = 0;
};

// `first` as generated, then the arrivals of another seed at the same engine.
Verdict drain_separates(Scenario first, std::uint64_t seed, const Model& model) {
  first.prefix_caching = false;
  Scenario second = first;
  second.arrivals = oracle::random_scenario(seed + 1'000'000).arrivals;
  Results expected = run_scenario(first, model);
  TimeNs end_ns = 0;
  for (const RequestResult& r : expected) {
    if (r.outcome == Outcome::unfinished) return Verdict::does_not_apply;
    end_ns = std::max(end_ns, r.finish_ns);
  }
  // A ghost row may run for a step after the last finish: leave more time than any step takes.
  const TimeNs start_ns = 100 * (end_ns + 1);
  const Results later = shifted(run_scenario(second, model), start_ns);
  expected.insert(expected.end(), later.begin(), later.end());
  Scenario both = first;
  for (Arrival a : second.arrivals) {
    a.time_ns += start_ns;
    both.arrivals.push_back(a);
  }
  return verdict(run_scenario(both, model) == expected);
}

bool separation_holds(const Model& model) {
  return holds_for_all(
      [&](const Scenario& s, std::uint64_t seed) { return drain_separates(s, seed, model); });
}

TEST_CASE("law: two bursts with a drain between them are two runs") {
  REQUIRE(separation_holds(production));
}

TEST_CASE("the law of two bursts refuses an engine that ages") {
  REQUIRE_FALSE(separation_holds([](const Scenario& s) {
    ReplicaParts parts = production(s);
    parts.cost = std::make_unique<AgeingCost>(std::move(parts.cost));
    return parts;
  }));
}

// --- one slot -----------------------------------------------------------------------------------

Scenario with_room(Scenario s) {
  const TokenCount tokens = 2 * s.max_model_len;
  s.kv_blocks = tokens / s.block_size + 2;
  s.kv_tokens = tokens;
  s.watermark = 0;
  return s;
}

Scenario one_slot_of(Scenario s) {
  s = with_room(std::move(s));
  s.max_num_seqs = 1;
  return s;
}

// Its tokens, that is. The instant at which it is scheduled may come later: with pipeline depth 2
// it is planned while a ghost row of the one before runs if it is there by then, else after that
// row.
bool no_later(const RequestResult& now, const RequestResult& before) {
  return now.first_token_ns <= before.first_token_ns && now.finish_ns <= before.finish_ns;
}

bool removing_delays_nobody(const Scenario& s, const Model& model) {
  const Results before = run_scenario(s, model);
  for (std::size_t gone = 0; gone < s.arrivals.size(); ++gone) {
    Scenario fewer = s;
    fewer.arrivals.erase(fewer.arrivals.begin() + static_cast<std::ptrdiff_t>(gone));
    const Results now = run_scenario(fewer, model);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!no_later(now[i], before[i < gone ? i : i + 1])) return false;
    }
  }
  return true;
}

bool lower_costs_delay_nobody(const Scenario& s, const Model& model) {
  const Results before = run_scenario(s, model);
  for (const auto coefficient : kCoefficients) {
    Scenario cheaper = s;
    cheaper.cost.*coefficient = s.cost.*coefficient / 3;
    cheaper.cost.step = std::max(cheaper.cost.step, kTicksPerNs);
    const Results now = run_scenario(cheaper, model);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!no_later(now[i], before[i])) return false;
    }
  }
  return true;
}

TEST_CASE("law: with one slot a request that stays away delays nobody") {
  REQUIRE(holds_for_all([](const Scenario& s, std::uint64_t) {
    return verdict(removing_delays_nobody(one_slot_of(s), production));
  }));
}

TEST_CASE("law: with one slot a lower cost delays nobody") {
  REQUIRE(holds_for_all([](const Scenario& s, std::uint64_t) {
    return verdict(lower_costs_delay_nobody(one_slot_of(s), production));
  }));
}

// With several slots a request admitted earlier may slow down the step of another one.
TEST_CASE("the laws of one slot do not hold for several") {
  REQUIRE_FALSE(holds_for_all([](const Scenario& s, std::uint64_t) {
    return verdict(removing_delays_nobody(with_room(s), production));
  }));
  REQUIRE_FALSE(holds_for_all([](const Scenario& s, std::uint64_t) {
    return verdict(lower_costs_delay_nobody(with_room(s), production));
  }));
}

// Last come, first served: who stays away lets another one begin, and that one is in the way.
TEST_CASE("the laws of one slot do not hold for the last come first served") {
  const Model last_come = [](const Scenario& s) {
    ReplicaParts parts = production(s);
    parts.scheduler = std::make_unique<OneSlot>(Order::last_come);
    parts.options.max_step_tokens = INT64_MAX;
    return parts;
  };
  const auto prompts_only = [](Scenario s) {
    s = one_slot_of(std::move(s));
    s.policy = oracle::Policy::vllm;
    s.memory = oracle::Memory::paged;
    s.depth = 1;
    s.responds_at_end = false;
    s.max_num_batched_tokens = s.max_model_len;
    for (Arrival& a : s.arrivals) a.output_tokens = a.max_tokens = 1;
    return s;
  };
  REQUIRE_FALSE(holds_for_all([&](const Scenario& s, std::uint64_t) {
    return verdict(removing_delays_nobody(prompts_only(s), last_come));
  }));
  REQUIRE_FALSE(holds_for_all([&](const Scenario& s, std::uint64_t) {
    return verdict(lower_costs_delay_nobody(prompts_only(s), last_come));
  }));
}

}  // namespace
}  // namespace headroom::laws::metamorphic_test
