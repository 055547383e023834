#pragma once
// The workload a scenario describes, ready to be pulled.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/serving/workload_source.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

// A setting or action of a workload, by name; results repeat it.
struct WorkloadEcho {
  std::string name;
  std::variant<std::int64_t, double, std::string> value;
};

// What a result says of its workload.
struct WorkloadFacts {
  std::int64_t requests = 0;         // that it would yield; 0: not known before the run
  std::vector<std::string> classes;  // names by class id; one or none: no classes
  bool from_clients = false;         // requests come from outside while the run goes on
  std::string trace_name;            // of the first trace; empty: none
  std::string trace_format;
  std::string trace_sha256;
  std::int64_t rows_dropped = 0;  // of all traces, for zero tokens
  std::int64_t rows_clamped = 0;
  // For traces where workload.trace.session_input is auto.
  SessionTurns guessed_turns;
  std::int64_t outputs_cut = 0;  // to max_tokens
  std::string max_tokens_rule;
  bool leaves_max_tokens_open = false;  // some requests declare no max_tokens
  std::vector<WorkloadEcho> counts;     // what transformations and generators did
  bool shares_prefixes = false;         // prompts of different requests may begin alike
  bool has_priorities = false;
  std::vector<std::string> warnings;  // of its traces
};

struct Workload {
  std::unique_ptr<WorkloadSource> source;
  WorkloadFacts facts;                          // as known before the run
  std::vector<SloSection> slo;                  // by class id; may be shorter
  std::function<void(WorkloadFacts&)> account;  // adds what is known after the run
};

[[nodiscard]] Workload make_workload(const Scenario& scenario);

// Whether the answers to one prompt are forks of one sequence, which share its blocks without a
// prefix cache (vLLM V0).
[[nodiscard]] bool forks_samples(const Scenario& scenario);

// "value: 1024 for every request": echoed in results, since it decides every engine that reserves
// it.
[[nodiscard]] std::string max_tokens_text(const MaxTokensSection& section);

}  // namespace headroom
