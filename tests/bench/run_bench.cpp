// Whole simulations, everything on: V0 contracts, records of every request, exact percentiles, KV
// accounting and timeline. Read `requests/s`; compare ratios, machines differ.

#include <benchmark/benchmark.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/scenario_file.hpp"

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

// Every other family at 70 % of its own capacity on that traffic, found by a saturated run. Static
// batches serve few requests a second, so fewer are sent.
double capacity_of(const std::string& engine) {
  ScenarioFlags flags;
  flags.set = {"engine=" + engine, "workload.arrivals.request_rate=1000",
               "workload.num_requests=5000"};
  const RunResult result = run(load_scenario("chat-million", flags), Catalog::embedded());
  return result.summary.metrics.request_throughput;
}

void family(benchmark::State& state, const std::string& engine) {
  static std::map<std::string, double> capacities;  // Google Benchmark calls it several times
  const auto [capacity, is_new] = capacities.try_emplace(engine, 0.0);
  if (is_new) capacity->second = capacity_of(engine);
  run_scenario(state, "chat-million",
               {"engine=" + engine,
                "workload.arrivals.request_rate=" + std::to_string(0.7 * capacity->second),
                "workload.num_requests=200000"});
}
BENCHMARK_CAPTURE(family, vllm_v0, R"({"name":"vllm","version":"0.6","max_model_len":16384})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family, trtllm, R"({"name":"trtllm"})")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family, sglang, R"({"name":"sglang"})")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family, tgi, R"({"name":"tgi"})")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family, sarathi, R"({"name":"sarathi"})")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family, orca, R"({"name":"orca"})")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family, llamacpp, R"({"name":"llamacpp"})")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family, hf, R"({"name":"hf"})")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family, static_batches, R"({"name":"static"})")->Unit(benchmark::kMillisecond);

// Prompts that share documents and histories: the Mooncake conversation trace a hundred times over,
// at the rate of one.
void mooncake_hundredfold(benchmark::State& state) {
  const std::filesystem::path trace = std::filesystem::path(HEADROOM_SHARED_DIR) /
                                      "traces/mooncake-fast25/conversation_trace.jsonl";
  if (!std::filesystem::exists(trace)) {
    state.SkipWithError(("no trace at " + trace.string()).c_str());
    return;
  }
  run_scenario(state, "mooncake-prefix-cache",
               {"workload.trace.file=" + trace.string(), "workload.trace.copies=100",
                "workload.trace.copies_share_prefixes=true", "workload.trace.rate_scale=0.01"});
}
BENCHMARK(mooncake_hundredfold)->Unit(benchmark::kMillisecond);

// 64 replicas, each with the traffic of `chat_million`.
void fleet_of_64(benchmark::State& state, const std::string& router) {
  run_scenario(
      state, "chat-million",
      {"fleet.replicas=64", "fleet.router.policy=" + router, "workload.arrivals.request_rate=1427",
       "workload.num_requests=500000", "output.timeline_interval_s=60"});
}
BENCHMARK_CAPTURE(fleet_of_64, round_robin, "round_robin")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fleet_of_64, least_outstanding, "least_outstanding")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fleet_of_64, prefix_affinity, "prefix_affinity")->Unit(benchmark::kMillisecond);

// A thousand replicas; the time of a request grows with the logarithm of their number.
void fleet_of_1000(benchmark::State& state) {
  run_scenario(state, "chat-million",
               {"fleet.replicas=1000", "workload.arrivals.request_rate=22300",
                "workload.num_requests=" + std::to_string(state.range(0)),
                "output.timeline_interval_s=600"});
}
BENCHMARK(fleet_of_1000)->Arg(250'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// Sixteen users, each of whom asks again when his answer is there: a batch changes as often,
// however long requests are and take. The timeline has a row for as many requests.
void at_fixed_changes(benchmark::State& state, std::int64_t prompt, std::int64_t output,
                      const std::string& timeline_s) {
  const auto fixed = [](std::int64_t tokens) {
    return R"({"law":"fixed","tokens":)" + std::to_string(tokens) + "}";
  };
  run_scenario(state, "chat-million",
               {R"(workload={"num_requests":200000,"closed_loop":{"users":16,"start_within_s":)" +
                    timeline_s + R"(},"prompt":)" + fixed(prompt) + R"(,"output":)" +
                    fixed(output) + R"(,"max_tokens":{"rule":"value","value":8192}})",
                "engine.max_model_len=131072", "engine.max_num_batched_tokens=131072",
                "output.timeline_interval_s=" + timeline_s});
}

// Cost does not grow with the outputs where batches change as often.
void output_length(benchmark::State& state) {
  at_fixed_changes(state, 512, state.range(0), std::to_string(state.range(0) / 128));
}
BENCHMARK(output_length)->Arg(256)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

// Nor with the context: prompts that are computed in one step each.
void context_length(benchmark::State& state) {
  at_fixed_changes(state, state.range(0), 256, std::to_string(2 + state.range(0) / 1024));
}
BENCHMARK(context_length)->Arg(256)->Arg(2048)->Arg(16384)->Unit(benchmark::kMillisecond);

// With as many requests in a batch that arrive by chance, long outputs cost what they add in
// changes that no longer fall together.
void output_length_by_chance(benchmark::State& state) {
  const std::string tokens = std::to_string(state.range(0));
  run_scenario(state, "chat-million",
               {"workload.arrivals.request_rate=" +
                    std::to_string(2000.0 / static_cast<double>(state.range(0))),
                "workload.num_requests=200000",
                R"(workload.output={"law":"fixed","tokens":)" + tokens + "}"});
}
BENCHMARK(output_length_by_chance)->Arg(256)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

// Linear in the number of requests.
void requests(benchmark::State& state) {
  run_scenario(state, "chat-million", {"workload.num_requests=" + std::to_string(state.range(0))});
}
BENCHMARK(requests)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// Cost does not grow with the batch: as many requests at once as are allowed, at all times.
void batch_limit(benchmark::State& state) {
  run_scenario(state, "chat-million",
               {"workload.arrivals.request_rate=1000", "workload.num_requests=200000",
                "engine.max_num_seqs=" + std::to_string(state.range(0))});
}
BENCHMARK(batch_limit)->Arg(16)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

// Replicas behind least_outstanding, each with the traffic of `requests`.
void replicas(benchmark::State& state) {
  const double rate = 9.5 * static_cast<double>(state.range(0));
  run_scenario(state, "chat-million",
               {"fleet.replicas=" + std::to_string(state.range(0)),
                "workload.arrivals.request_rate=" + std::to_string(rate),
                "workload.num_requests=400000", "output.timeline_interval_s=600"});
}
BENCHMARK(replicas)->Arg(1)->Arg(4)->Arg(16)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

// Requests summed up as they leave, in flat memory.
void streaming(benchmark::State& state) {
  run_scenario(state, "chat-million",
               {"workload.arrivals.request_rate=22.3", "output.streaming=true"});
}
BENCHMARK(streaming)->Unit(benchmark::kMillisecond);

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
