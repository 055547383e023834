#pragma once
// From what the user wrote to what will run: every default by the engine's rule, with its source,
// and the option structs of the replica.

#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "hardware/engine_version.hpp"
#include "hardware/environment.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/model_spec.hpp"
#include "sim/engines/engine.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// A scenario with every optional that a rule fills, and the system that it describes.
struct Resolved : EngineSystem {
  Scenario scenario;
  HostReads host_reads;  // of MemoryBudget, once the start is known
};

// What a scenario must say and what may not stand together. ConfigError. The first: model, device
// and engine; the second: the workload as well.
void validate_system(const Scenario& scenario);
void validate_workload(const Scenario& scenario);
void validate(const Scenario& scenario);
// The section `fleet`, and whether there is one.
void validate_fleet(const Scenario& scenario);
[[nodiscard]] bool is_fleet(const Scenario& scenario);

// Everything but traffic: for capacity and audit.
[[nodiscard]] Resolved resolve_system(const Scenario& scenario, const Catalog& catalog);
// A whole run: refuses engines and splits of the model that a run cannot simulate.
[[nodiscard]] Resolved resolve(const Scenario& scenario, const Catalog& catalog);

// Whether all tokens that a request may ever need are set aside when it is admitted.
[[nodiscard]] bool sets_aside(const EngineSystem& system);
// The same, or it is admitted only where the pool has as much for all that run.
[[nodiscard]] bool promises_room(const Resolved& resolved);
[[nodiscard]] bool serves_by_priority(const Resolved& resolved);
// Whether the KV cache of the run finds what earlier prompts have in common with a new one.
[[nodiscard]] bool finds_prefixes(const Resolved& resolved);
// Conditional acceptance rates by position; empty without speculative decoding.
[[nodiscard]] std::vector<double> acceptance_rates(const SpeculativeSection& section);
// Whether the drafter has KV of its own: lookahead slots, and hits lose their last block.
[[nodiscard]] bool drafter_has_kv(const SpeculativeSection& section);
[[nodiscard]] SchedulerOptions scheduler_options(const Resolved& resolved);
[[nodiscard]] ReplicaOptions replica_options(const Resolved& resolved);
// Tokens of the longest admitted request. HF has only the model's limit, regardless of the batch
// its budget was made for.
[[nodiscard]] std::int32_t longest_request(const Resolved& resolved);
// How its engine keeps KV on its device.
[[nodiscard]] KvFormat kv_format(const Resolved& resolved);
[[nodiscard]] AdmissionLimits admission_limits(const Resolved& resolved, TokenCount pool_tokens);

// A value of the run with who set it.
struct ResolvedValue {
  std::string pointer;
  std::string json;    // the value as JSON text
  std::string source;  // file, flag, or "<engine> <version>: <rule>"
};
[[nodiscard]] std::vector<ResolvedValue> resolved_values(const Resolved& resolved);

}  // namespace headroom
