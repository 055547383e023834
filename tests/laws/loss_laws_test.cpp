// VERIFICATION V3, C13 (Kaufman and Roberts) and C14 (Erlang B): requests that find no room are
// rejected. Steps take a = 1 ms whatever is in them; L tokens are L steps (prompts of one token).
//
// A request that comes within a step enters at its end and leaves L steps later, in the plan that
// lets others in before it takes in those of the last step. So later arrivals find it in their way
// for (L - 1/2) a on average: that is the service time of the law, and the offered load of a class
// is its rate times that. The blocks themselves are held for L a. Bias: one step of L; the law says
// what that is in rejects.

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "scheduler/routing/round_robin.hpp"
#include "sim/kernel/random.hpp"
#include "sim/serving/fleet.hpp"
#include "tests/laws/law_support.hpp"
#include "tests/laws/loss_scheduler.hpp"
#include "tests/support/production.hpp"

namespace headroom::laws::loss_laws_test {
namespace {

constexpr std::int32_t kBlockTokens = 4096;  // no answer is longer than one block

struct TrafficClass {
  double erlang = 0;
  std::int32_t blocks = 1;    // prompt and max_tokens
  std::int32_t tokens = 200;  // L; mean if geometric
};

struct LossModel {
  std::vector<TrafficClass> classes;
  BlockCount blocks = 1'000'000;
  std::int32_t seats = INT32_MAX;
  bool geometric_lengths = false;
  double step_ms = 1;             // what the law does not know of
  std::size_t requests = 30'000;  // of one run
};

class LossSource final : public WorkloadSource {
 public:
  LossSource(const LossModel& model, std::uint64_t seed)
      : model_(model),
        left_(model.requests),
        gaps_(seed, "law/arrivals"),
        classes_(seed, "law/class"),
        lengths_(seed, "law/output") {
    for (const TrafficClass& c : model.classes) rate_per_ms_ += rate_of(c);
    draw_time();
  }

  [[nodiscard]] TimeNs next_time() override { return left_ > 0 ? now_ns_ : kNever; }
  [[nodiscard]] Arrival take() override {
    double u = classes_.uniform() * rate_per_ms_;
    std::size_t number = 0;
    while (number + 1 < model_.classes.size() && u > rate_of(model_.classes[number])) {
      u -= rate_of(model_.classes[number++]);
    }
    const TrafficClass& c = model_.classes[number];
    Arrival arrival{.time_ns = now_ns_, .prompt_tokens = 1, .output_tokens = c.tokens};
    if (model_.geometric_lengths) arrival.output_tokens = geometric(c.tokens)(lengths_);
    arrival.max_tokens = c.blocks * kBlockTokens - 1;
    arrival.class_id = static_cast<std::int32_t>(number);
    --left_;
    draw_time();
    return arrival;
  }
  void on_done(std::uint64_t, Outcome, TimeNs) override {}

 private:
  static double rate_of(const TrafficClass& c) { return c.erlang / (c.tokens - 0.5); }
  void draw_time() { now_ns_ += static_cast<TimeNs>(gaps_.exponential(1e6 / rate_per_ms_) + 0.5); }

  LossModel model_;
  std::size_t left_;
  RandomStream gaps_;
  RandomStream classes_;
  RandomStream lengths_;
  double rate_per_ms_ = 0;
  TimeNs now_ns_ = 0;
};

// Shares of rejects by class, and mean used blocks, between the arrivals that end the first tenth
// and begin the last twentieth.
class LossMeter final : public MetricsSink {
 public:
  explicit LossMeter(const LossModel& model)
      : first_(model.requests / 10),
        last_(model.requests - model.requests / 20),
        came_(model.classes.size()),
        rejected_(model.classes.size()) {}

  void on_steps(const StepRun& run) override {
    if (open_ns_ < 0 || close_ns_ >= 0) return;
    used_ticks_ +=
        static_cast<TickSum>(run.first_ticks) * run.steps * run.state->pool.used_blocks();
  }
  void on_request(const RequestRecord& record) override {
    if (record.index < first_ || record.index >= last_) return;
    ++came_[record.class_id];
    rejected_[record.class_id] += record.outcome == Outcome::rejected ? 1 : 0;
  }
  void on_event(const EngineEvent& event) override {
    if (event.kind != EngineEventKind::queued) return;
    if (event.request == first_) open_ns_ = event.time_ns;
    if (event.request == last_) close_ns_ = event.time_ns;
  }
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> values;
    for (std::size_t i = 0; i < came_.size(); ++i) {
      values.push_back(static_cast<double>(rejected_[i]) / static_cast<double>(came_[i]));
    }
    const auto span = static_cast<double>(ticks_from_ns(close_ns_ - open_ns_));
    values.push_back(static_cast<double>(used_ticks_) / span);
    return values;
  }

 private:
  std::uint64_t first_;
  std::uint64_t last_;
  std::vector<std::int64_t> came_;
  std::vector<std::int64_t> rejected_;
  TickSum used_ticks_ = 0;
  TimeNs open_ns_ = -1;
  TimeNs close_ns_ = -1;
};

std::vector<double> run_once(const LossModel& model, std::uint64_t seed) {
  SchedulerOptions options;
  options.max_num_seqs = model.seats;
  ReplicaParts parts;
  parts.options.max_sequences = model.seats;
  parts.limits = {.max_model_len = INT32_MAX,
                  .max_request_tokens = model.blocks * kBlockTokens,
                  .reserves_max_tokens = true};
  parts.scheduler = std::make_unique<LossScheduler>(options);
  parts.kv = std::make_unique<PagedKv>(PagedKvOptions{.blocks = model.blocks,
                                                      .block_tokens = kBlockTokens,
                                                      .enable_prefix_caching = false,
                                                      .reserve_final = true});
  const auto step = static_cast<Ticks>(model.step_ms * static_cast<double>(kMs));
  parts.cost = std::make_unique<test::AffineStepCost>(oracle::AffineCost{.step = step});
  std::vector<ReplicaParts> all;
  all.push_back(std::move(parts));
  LossSource source(model, seed);
  LossMeter meter(model);
  Fleet fleet({}, std::move(all), std::make_unique<RoundRobinRouter>(), source, meter);
  CHECK(fleet.run({}) == StopReason::drained);
  return meter.values();
}

std::vector<Estimate> measure(const LossModel& model) {
  std::vector<Estimate> estimates(model.classes.size() + 1);
  std::vector<std::vector<double>> runs;
  for (int i = 0; i < kReplications; ++i) {
    runs.push_back(run_once(model, 2001 + static_cast<std::uint64_t>(i)));
  }
  for (std::size_t q = 0; q < estimates.size(); ++q) {
    double sum = 0;
    double squares = 0;
    for (const std::vector<double>& run : runs) sum += run[q];
    const double mean = sum / kReplications;
    for (const std::vector<double>& run : runs) squares += (run[q] - mean) * (run[q] - mean);
    estimates[q] = {mean, std::sqrt(squares / (kReplications - 1) / kReplications)};
  }
  return estimates;
}

LossModel wrong(LossModel model) {
  model.requests /= 3;  // enough to refuse it
  return model;
}
LossModel slower_steps(LossModel model) {
  model = wrong(std::move(model));
  model.step_ms = 1.05;
  return model;
}

// --- the law ------------------------------------------------------------------------------------

// Kaufman and Roberts: n q(n) = sum of erlang * size * q(n - size). Rejects of each class, then the
// mean of the units used. With one class of size 1 it is Erlang's B.
std::vector<double> loss_law(const std::vector<TrafficClass>& classes, BlockCount units) {
  std::vector<double> q(static_cast<std::size_t>(units) + 1);
  q[0] = 1;
  double sum = 1;
  for (std::size_t n = 1; n < q.size(); ++n) {
    for (const TrafficClass& c : classes) {
      const auto size = static_cast<std::size_t>(c.blocks);
      if (size <= n) q[n] += c.erlang * c.blocks * q[n - size] / static_cast<double>(n);
    }
    sum += q[n];
  }
  std::vector<double> values;
  for (const TrafficClass& c : classes) {
    double lost = 0;
    for (std::size_t n = q.size() - static_cast<std::size_t>(c.blocks); n < q.size(); ++n) {
      lost += q[n];
    }
    values.push_back(lost / sum);
  }
  double used = 0;
  for (std::size_t n = 1; n < q.size(); ++n) used += static_cast<double>(n) * q[n];
  values.push_back(used / sum);
  return values;
}

// `units` as the law knows them, whatever the model has.
bool loss_law_holds(const LossModel& model, BlockCount units) {
  const std::vector<double> expected = loss_law(model.classes, units);
  std::vector<TrafficClass> one_step_longer = model.classes;
  for (TrafficClass& c : one_step_longer) c.erlang *= 1 + 1.0 / c.tokens;
  const std::vector<double> longer = loss_law(one_step_longer, units);
  const std::vector<Estimate> measured = measure(model);
  bool holds = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const char* quantity = i < model.classes.size() ? "rejects of a class" : "mean used";
    holds = law_holds(quantity, expected[i], measured[i], longer[i] - expected[i]) && holds;
  }
  return holds;
}

// --- C13: 64 blocks, 6 erlang of 4 blocks, 1.5 erlang of 16 -------------------------------------

LossModel two_sizes() {
  return {.classes = {{.erlang = 6, .blocks = 4, .tokens = 1000},
                      {.erlang = 1.5, .blocks = 16, .tokens = 1000}},
          .blocks = 64};
}

TEST_CASE("law C13: a pool that rejects what does not fit loses as Kaufman and Roberts say") {
  const std::vector<double> law = loss_law(two_sizes().classes, 64);
  CHECK(law[0] == Approx(.05810).margin(5e-6));
  CHECK(law[1] == Approx(.28231).margin(5e-6));
  CHECK(law[2] == Approx(39.83).margin(5e-3));
  REQUIRE(loss_law_holds(two_sizes(), 64));
}

TEST_CASE("law C13 refuses slower steps and a pool that is one request larger") {
  REQUIRE_FALSE(loss_law_holds(slower_steps(two_sizes()), 64));
  LossModel larger = wrong(two_sizes());
  larger.blocks += 4;
  REQUIRE_FALSE(loss_law_holds(larger, 64));
}

// --- C14: 20 slots, 16 erlang -------------------------------------------------------------------

LossModel twenty_slots(std::vector<TrafficClass> classes) {
  return {.classes = std::move(classes), .seats = 20};
}

TEST_CASE("law C14: slots that reject when all are taken lose as Erlang's B says") {
  const std::vector<TrafficClass> one = {{.erlang = 16, .tokens = 250}};
  CHECK(loss_law(one, 20)[0] == Approx(.06441).margin(5e-6));
  REQUIRE(loss_law_holds(twenty_slots(one), 20));
  // The law knows of no lengths but the mean.
  LossModel geometric_lengths = twenty_slots({{.erlang = 16, .blocks = 1, .tokens = 250}});
  geometric_lengths.geometric_lengths = true;
  REQUIRE(loss_law_holds(geometric_lengths, 20));
  const std::vector<TrafficClass> two = {{.erlang = 8, .tokens = 100},
                                         {.erlang = 8, .tokens = 250}};
  CHECK(loss_law(two, 20)[0] == Approx(.06441).margin(5e-6));
  CHECK(loss_law(two, 20)[1] == Approx(.06441).margin(5e-6));
  REQUIRE(loss_law_holds(twenty_slots(two), 20));
}

TEST_CASE("law C14 refuses slower steps and one slot more") {
  const LossModel model = twenty_slots({{.erlang = 16, .tokens = 250}});
  REQUIRE_FALSE(loss_law_holds(slower_steps(model), 20));
  LossModel more = wrong(model);
  ++more.seats;
  REQUIRE_FALSE(loss_law_holds(more, 20));
}

}  // namespace
}  // namespace headroom::laws::loss_laws_test
