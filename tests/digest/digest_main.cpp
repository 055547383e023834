// Prints one digest per scenario: the same lines from every compiler, build type and processor.
// Covers every policy, allocator, cost level, arrival process and length law, in runs of a few
// thousand requests so that an unoptimised build takes seconds.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> set;
  const char* scenario = "demo";
};

std::vector<Case> cases_of_workloads() {
  return {
      {"vllm", {}},
      {"vllm sync", {"engine.async_scheduling=false"}},
      {"vllm kv bound", {"engine.num_gpu_blocks_override=1600", "engine.max_model_len=16384"}},
      {"vllm no prefix cache", {"engine.enable_prefix_caching=false"}},
      {"vllm no chunks",
       {"engine.enable_chunked_prefill=false", "engine.max_num_batched_tokens=16384"}},
      {"vllm spec cost", {"cost.level=spec"}},
      {"vllm affine cost", {"cost.level=affine"}},
      {"vllm gamma", {"workload.arrivals.process=gamma", "workload.arrivals.burstiness=0.4"}},
      {"vllm constant", {"workload.arrivals.process=constant"}},
      {"vllm all at once", {"workload.arrivals={\"process\":\"all_at_once\"}"}},
      {"vllm bench arrivals", {"workload.arrivals.process=vllm_bench"}},
      {"vllm weibull", {"workload.arrivals.process=weibull", "workload.arrivals.shape=0.7"}},
      {"vllm on and off",
       {"workload.arrivals.process=on_off", "workload.arrivals.on_s=5",
        "workload.arrivals.off_s=5"}},
      {"vllm piecewise",
       {"workload.arrivals={\"process\":\"piecewise\",\"rates\":[2,20],"
        "\"durations_s\":[30,30],\"repeat\":true}"}},
      {"vllm diurnal", {"workload.arrivals.process=diurnal", "workload.arrivals.period_s=300"}},
      {"vllm behind an API server",
       {"engine.api_server_count=2", "engine.api_server.output_token_us=500"}},
      {"vllm ramp",
       {"workload.arrivals.process=ramp", "workload.arrivals.end_rate=20",
        "workload.arrivals.ramp_s=100", "workload.arrivals.ramp_shape=exponential"}},
      {"vllm normal and gamma",
       {"workload.prompt={\"law\":\"normal\",\"mean\":800,\"stddev\":300}",
        "workload.output={\"law\":\"gamma\",\"mean\":200,\"shape\":0.7}",
        "workload.length_correlation=0.6"}},
      {"vllm zipf and geometric",
       {"workload.prompt={\"law\":\"zipf\",\"max\":8000,\"exponent\":0.8}",
        "workload.output={\"law\":\"geometric\",\"mean\":150}"}},
      {"vllm times output",
       {"workload.max_tokens={\"rule\":\"times_output\",\"times_output\":1.5}"}},
  };
}

std::vector<Case> cases_of_engines() {
  return {
      {"orca", {"engine={\"name\":\"orca\",\"max_model_len\":16384}"}},
      {"orca paged",
       {"engine={\"name\":\"orca\",\"kv_allocator\":\"paged\",\"max_model_len\":16384}"}},
      {"static",
       {"engine={\"name\":\"static\",\"max_model_len\":16384}",
        "workload.arrivals.request_rate=1"}},
      {"static with a wait",
       {"engine={\"name\":\"static\",\"batch_wait_ms\":500,\"max_model_len\":16384}",
        "workload.arrivals.request_rate=1"}},
      {"vllm priorities and short chunks",
       {"engine={\"name\":\"vllm\",\"max_model_len\":16384,\"scheduling_policy\":"
        "\"priority\",\"long_prefill_token_threshold\":512}"}},
      {"vllm v0", {"engine={\"name\":\"vllm\",\"version\":\"0.6\",\"max_model_len\":16384}"}},
      {"sarathi", {"engine={\"name\":\"sarathi\",\"max_model_len\":16384}"}},
      {"trtllm", {"engine={\"name\":\"trtllm\",\"max_seq_len\":16384,\"max_num_tokens\":16384}"}},
      {"trtllm max utilization",
       {"engine={\"name\":\"trtllm\",\"max_seq_len\":16384,\"enable_chunked_prefill\":true,"
        "\"capacity_scheduler_policy\":\"MAX_UTILIZATION\",\"max_tokens\":30000}"}},
      {"sglang",
       {"engine={\"name\":\"sglang\",\"context_length\":16384,\"max_total_tokens\":30000}"}},
      {"tgi", {"engine={\"name\":\"tgi\",\"max_input_tokens\":12000,\"max_total_tokens\":16384}"}},
      {"llamacpp", {"engine={\"name\":\"llamacpp\",\"parallel\":16,\"ctx_size\":262144}"}},
      {"hf", {"engine={\"name\":\"hf\",\"max_batch_size\":8,\"max_new_tokens\":2048}"}},
      {"orca buddy",
       {"engine={\"name\":\"orca\",\"max_model_len\":16384,\"kv_placement\":\"buddy\","
        "\"kv_reservation\":\"pow2\"}"}},
      {"orca compacting",
       {"engine={\"name\":\"orca\",\"max_model_len\":16384,\"kv_placement\":\"best_fit\","
        "\"kv_compaction\":true}"}},
      {"vllm data ranks",
       {"model=qwen3-30b-a3b", "engine.data_parallel_size=4",
        "engine.enable_expert_parallel=true"}},
      {"vllm data ranks with a part of each expert",
       {"model=qwen3-30b-a3b", "engine.tensor_parallel_size=2", "engine.data_parallel_size=2",
        "engine.async_scheduling=false"}},
      {"another device",
       {"device=rtx4090", "workload.arrivals.request_rate=2", "engine.max_model_len=16384"}},
      {"closed loop", {}, "closed-loop"},
      {"chat sessions", {}, "chat-sessions"},
      {"mixed classes", {}, "mixed-classes"},
      {"bursty", {}, "bursty"},
      {"impatient", {}, "impatient"},
      {"documents", {}, "rag"},
  };
}

}  // namespace
}  // namespace headroom

int main() try {
  using namespace headroom;
  const Catalog catalog = Catalog::embedded();
  for (const auto& cases : {cases_of_workloads(), cases_of_engines()}) {
    for (const Case& one : cases) {
      ScenarioFlags flags;
      flags.set = one.set;
      flags.set.emplace_back("workload.num_requests=2000");
      const RunResult result = run(load_scenario(one.scenario, flags), catalog);
      fmt::print("{} {} {}\n", result.digest, result.summary.requests.finished, one.name);
    }
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
