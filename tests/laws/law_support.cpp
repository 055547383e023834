#include "tests/laws/law_support.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/batching/vllm.hpp"
#include "scheduler/fleet/admission.hpp"
#include "scheduler/kv/paged.hpp"
#include "scheduler/routing/routers.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/metrics/fan_out.hpp"
#include "sim/metrics/recorder.hpp"
#include "sim/serving/fleet.hpp"
#include "tests/support/production.hpp"
#include "workloads/synthetic_source.hpp"

namespace headroom::laws {
namespace {

constexpr std::uint64_t kFirstSeed = 1001;
constexpr std::int64_t kHugePool = std::int64_t{1} << 40;  // blocks of 16 tokens

// Production's arrivals and lengths; lengths of laws that production does not have are drawn here.
class LawSource final : public WorkloadSource {
 public:
  LawSource(const Experiment& experiment, std::uint64_t seed)
      : inner_(options_of(experiment), seed),
        draw_prompt_(experiment.draw_prompt),
        draw_output_(experiment.draw_output),
        prompts_(seed, "law/prompt"),
        outputs_(seed, "law/output") {}

  [[nodiscard]] TimeNs next_time() override { return inner_.next_time(); }
  [[nodiscard]] Arrival take() override {
    Arrival arrival = inner_.take();
    if (draw_prompt_) arrival.prompt_tokens = draw_prompt_(prompts_);
    if (draw_output_) arrival.output_tokens = draw_output_(outputs_);
    return arrival;
  }
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override {
    inner_.on_done(index, outcome, now_ns);
  }

 private:
  static SyntheticOptions options_of(const Experiment& experiment) {
    SyntheticOptions options;
    options.arrivals.rate_per_s = experiment.rate_per_ms * 1000.0;
    options.prompt = experiment.prompt;
    options.output = experiment.output;
    options.num_requests = experiment.requests;
    return options;
  }

  SyntheticSource inner_;
  LengthDraw draw_prompt_;
  LengthDraw draw_output_;
  RandomStream prompts_;
  RandomStream outputs_;
};

struct Window {
  std::size_t first = 0;
  std::size_t last = 0;  // index of the request whose arrival ends it
};
Window window_of(std::size_t requests) { return {requests / 10, requests - requests / 20 - 1}; }

// Opens and closes with the arrivals that bound the window. A run of steps is reported when it
// ends, so one that straddles the end is seen after the window has closed.
class StepMeter final : public MetricsSink {
 public:
  explicit StepMeter(std::size_t requests) : window_(window_of(requests)) {}

  void on_steps(const StepRun& run) override {
    const TickSum pairs = static_cast<TickSum>(run.steps) * (run.steps - 1) / 2;
    const TickSum ticks =
        static_cast<TickSum>(run.first_ticks) * run.steps + pairs * run.slope_ticks;
    if (run.begin < ticks_from_ns(open_ns_) || open_ns_ < 0) return;
    if (run.begin + ticks > ticks_from_ns(close_ns_)) return;
    const Int128 rows = run.shape->decode_rows + run.shape->chunk_rows;
    totals.steps += run.steps;
    totals.ticks += ticks;
    totals.decode_rows += static_cast<Int128>(run.shape->decode_rows) * run.steps;
    totals.rows += rows * run.steps;
    totals.rows_squared += rows * rows * run.steps;
  }
  void on_request(const RequestRecord&) override {}
  void on_event(const EngineEvent& event) override {
    if (event.kind != EngineEventKind::queued) return;
    if (event.request == window_.first) open_ns_ = event.time_ns;
    if (event.request == window_.last) close_ns_ = event.time_ns;
  }
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  StepTotals totals;

 private:
  Window window_;
  TimeNs open_ns_ = -1;
  TimeNs close_ns_ = kNever;
};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

LengthDraw geometric(double mean) {
  const double log_failure = det::log(1.0 - 1.0 / mean);
  return [log_failure](RandomStream& stream) {
    const double u = stream.uniform();
    return 1 + static_cast<std::int32_t>(det::log(u) / log_failure);
  };
}

LengthDraw exponential(double mean) {
  return [mean](RandomStream& stream) {
    const double value = stream.exponential(mean) + 0.5;
    return std::max(1, static_cast<std::int32_t>(value));
  };
}

LengthOptions fixed(std::int64_t tokens) {
  LengthOptions options;
  options.tokens = tokens;
  return options;
}

std::span<const RequestRecord> LawRun::steady() const {
  const Window window = window_of(records.size());
  return std::span(records).subspan(window.first, window.last - window.first + 1);
}

double LawRun::sojourn_ms() const {
  Int128 sum = 0;
  for (const RequestRecord& record : steady()) sum += record.finish_ns - record.arrival_ns;
  return static_cast<double>(sum) / static_cast<double>(steady().size()) / kNsPerMsReal;
}

double LawRun::wait_ms() const {
  Int128 sum = 0;
  for (const RequestRecord& record : steady()) sum += record.first_scheduled_ns - record.arrival_ns;
  return static_cast<double>(sum) / static_cast<double>(steady().size()) / kNsPerMsReal;
}

double LawRun::wait_ms(std::int32_t prompt_tokens) const {
  Int128 sum = 0;
  std::int64_t count = 0;
  for (const RequestRecord& record : steady()) {
    if (record.prompt_tokens != prompt_tokens) continue;
    sum += record.first_scheduled_ns - record.arrival_ns;
    ++count;
  }
  return static_cast<double>(sum) / static_cast<double>(count) / kNsPerMsReal;
}

namespace {

ReplicaParts parts_of(const Experiment& experiment) {
  SchedulerOptions options;
  options.max_num_seqs = experiment.max_num_seqs;
  options.max_num_batched_tokens = experiment.max_num_batched_tokens;
  options.max_model_len = INT32_MAX;
  ReplicaParts parts;
  parts.options.max_sequences = experiment.max_num_seqs;
  parts.options.max_step_tokens = experiment.max_num_batched_tokens;
  parts.limits = {.max_model_len = INT32_MAX, .max_request_tokens = INT32_MAX};
  parts.kv = std::make_unique<PagedKv>(
      PagedKvOptions{.blocks = kHugePool, .enable_prefix_caching = false});
  parts.scheduler = experiment.scheduler ? experiment.scheduler(options)
                                         : std::make_unique<VllmScheduler>(options);
  parts.cost = std::make_unique<test::AffineStepCost>(experiment.cost);
  return parts;
}

}  // namespace

void run_replica(const Experiment& experiment, WorkloadSource& workload, MetricsSink& sink,
                 std::uint64_t router_seed) {
  std::vector<ReplicaParts> all;
  all.reserve(static_cast<std::size_t>(experiment.replicas));
  for (int i = 0; i < experiment.replicas; ++i) all.push_back(parts_of(experiment));
  RouterOptions options;
  options.seed = router_seed;
  options.replicas = all.size();
  FleetParts fleet_parts{router_row(experiment.router).make(options)};
  if (experiment.max_in_flight > 0) {
    fleet_parts.admission = std::make_unique<MaxInFlight>(experiment.max_in_flight);
  }
  Fleet fleet({}, std::move(all), std::move(fleet_parts), workload, sink);
  fleet.run({});
}

LawRun run_law(const Experiment& experiment, std::uint64_t seed, MetricsSink* observer) {
  const auto requests = static_cast<std::size_t>(experiment.requests);
  LawSource source(experiment, seed);
  Recorder recorder({.timeline = {.interval_ns = 0}, .expected_requests = requests});
  StepMeter steps(requests);
  std::vector<MetricsSink*> all{&recorder, &steps};
  if (observer != nullptr) all.push_back(observer);
  FanOut sinks(all);
  run_replica(experiment, source, sinks, seed);
  LawRun run;
  run.records.assign(recorder.records().begin(), recorder.records().end());
  run.steps = steps.totals;
  return run;
}

std::vector<Estimate> measure(const Experiment& experiment, const Measure& quantities) {
  std::vector<std::vector<double>> values;  // by quantity, then replication
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kReplications; ++seed) {
    const std::vector<double> measured = quantities(run_law(experiment, seed));
    values.resize(measured.size());
    for (std::size_t i = 0; i < measured.size(); ++i) values[i].push_back(measured[i]);
  }
  std::vector<Estimate> estimates;
  for (const std::vector<double>& of_quantity : values) {
    const double mean = mean_of(of_quantity);
    double squares = 0;
    for (const double value : of_quantity) squares += (value - mean) * (value - mean);
    const double count = kReplications;
    estimates.push_back({mean, std::sqrt(squares / (count - 1) / count)});
  }
  return estimates;
}

bool law_holds(const char* quantity, double expected, const Estimate& measured, double bias) {
  const double tolerance = 4 * measured.standard_error + bias;
  UNSCOPED_INFO(fmt::format("{}: expected {:.6g}, measured {:.6g}, tolerance {:.3g}", quantity,
                            expected, measured.mean, tolerance));
  return std::abs(measured.mean - expected) <= tolerance;
}

Experiment slower(Experiment experiment) {
  oracle::AffineCost& c = experiment.cost;
  for (Ticks* coefficient : {&c.step, &c.decode_row, &c.decode_context, &c.chunk_row,
                             &c.chunk_token, &c.chunk_context, &c.sampled_row}) {
    *coefficient = *coefficient / 100 * 105;
  }
  return experiment;
}

Experiment brief(Experiment experiment) {
  experiment.requests /= 4;
  return experiment;
}

}  // namespace headroom::laws
