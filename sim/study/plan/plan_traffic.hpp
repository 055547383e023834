#pragma once
// The traffic of a plan: what comes, and the same at another rate.

#include <cstdint>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/serving/types.hpp"
#include "sim/study/plan/plan_file.hpp"

namespace headroom {

struct PlanRequest {
  std::int32_t prompt = 0;
  std::int32_t output = 0;
};

// All that a fleet is to serve, in tokens of the model that serves it.
struct PlanTraffic {
  std::int64_t requests = 0;
  double span_s = 0;  // first to last arrival
  double mean_prompt = 0;
  double mean_output = 0;
  TokenCount longest = 0;            // prompt and output together
  std::vector<PlanRequest> lengths;  // in order of prompts
  bool is_recorded = false;          // of a trace: seeds alone change nothing
  bool shares_prefixes = false;
  bool is_closed_loop = false;  // users wait for answers, whose times are not known yet

  [[nodiscard]] double rate() const {
    return span_s > 0 ? static_cast<double>(requests) / span_s : 0;
  }
  // Whether requests come at rate() whatever serves them.
  [[nodiscard]] bool states_rate() const { return !is_closed_loop && span_s > 0; }
};

// Pulls every request once; what waits for an answer waits a second. DataError, ConfigError as for
// a run.
[[nodiscard]] PlanTraffic measure_traffic(const Scenario& scenario);

// The rate of everything in `workload` times `factor`. A trace is overlaid with copies, each
// shifted around its span, and thinned to a share of its rows, which keeps its lengths and its
// course over time. Generated traffic: rates, and numbers of requests, sessions and users, so that
// it lasts as long as before. `replication` > 0: other shifts of the copies, over `span_s` of the
// trace.
void scale_workload(Json& workload, double factor, std::int64_t replication, double span_s);

// Lengths in tokens of `model`. ConfigError: thinking tokens of traffic that does not tell them
// apart.
void convert_tokens(Json& workload, const PlanModel& model, const std::string& file);

}  // namespace headroom
