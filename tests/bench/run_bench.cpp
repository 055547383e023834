// Whole simulations, everything on: V0 contracts, records of every request, exact percentiles, KV
// accounting and timeline. Read `requests/s`; compare ratios, machines differ.

#include <benchmark/benchmark.h>

#include <string>

#include "hardware/catalog.hpp"
#include "sim/setup/run.hpp"
#include "sim/setup/scenario_file.hpp"

namespace headroom {
namespace {

void run_scenario(benchmark::State& state, const std::string& name, std::vector<std::string> set) {
  ScenarioFlags flags;
  flags.set = std::move(set);
  const Scenario scenario = load_scenario(name, flags);
  const Catalog catalog = Catalog::embedded();
  std::int64_t requests = 0;
  for (auto _ : state) {
    const RunResult result = run(scenario, catalog);
    requests += result.summary.requests.arrived;
    const auto arrived = static_cast<double>(result.summary.requests.arrived);
    state.counters["cost_evals/request"] =
        static_cast<double>(result.totals.cost_evaluations) / arrived;
    state.counters["events/request"] = static_cast<double>(result.totals.events) / arrived;
    state.counters["steps/request"] = static_cast<double>(result.summary.engine.steps) / arrived;
    state.counters["preemptions"] = static_cast<double>(result.summary.engine.preemptions);
  }
  state.counters["requests/s"] =
      benchmark::Counter(static_cast<double>(requests), benchmark::Counter::kIsRate);
}

// Llama-3.1-8B on an H100, Poisson, lognormal 512 in / 256 out, vLLM V1 0.19 defaults; the rate in
// hundredths of a request per second. 31.8 requests/s is the capacity.
void chat_million(benchmark::State& state) {
  run_scenario(state, "chat-million",
               {"workload.arrivals.request_rate=" +
                std::to_string(0.01 * static_cast<double>(state.range(0)))});
}
BENCHMARK(chat_million)->Arg(950)->Arg(2230)->Arg(2860)->Unit(benchmark::kMillisecond);

// The same traffic on a tenth of the pool: admission waits for memory and requests are preempted.
void chat_kv_bound(benchmark::State& state) {
  run_scenario(
      state, "chat-million",
      {"workload.arrivals.request_rate=14", "engine.num_gpu_blocks_override=2773",
       "workload.num_requests=300000", "workload.prompt.max=8000", "engine.max_model_len=12288"});
}
BENCHMARK(chat_kv_bound)->Unit(benchmark::kMillisecond);

// The same traffic at a tenth of the length, single-stepped: what the jumps save.
void single_steps(benchmark::State& state) {
  run_scenario(state, "chat-million",
               {"workload.arrivals.request_rate=22", "workload.num_requests=100000",
                "run.single_step=true"});
}
BENCHMARK(single_steps)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headroom

BENCHMARK_MAIN();
