#pragma once
// `headroom observe URL`: a server that speaks OpenAI's API (/v1/completions, streamed) under a
// workload of ours, measured from outside.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "sim/observe/observation.hpp"
#include "sim/observe/server_url.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/workload_source.hpp"

namespace headroom {

struct ObserveOptions {
  ServerUrl server;
  bool remote = false;          // other machines may be loaded, too
  std::string key = {};         // secret; goes into the requests and nowhere else
  std::string model = {};       // as it is served; empty: the only one
  std::int64_t requests = 200;  // at most so many are sent,
  double seconds = 300;         // and none later than this
  double timeout_s = 300;       // of one request
  std::int64_t warmup = 3;      // requests before the run, one after the other, of these tokens
  std::int32_t warmup_prompt = 1;
  std::int32_t warmup_output = 1;
  double metrics_every_s = 1;
};

struct ObserveProgress {
  std::string_view stage;  // "warm-up", "run"
  std::int64_t sent = 0;
  std::int64_t ended = 0;
  std::int64_t failed = 0;
  double elapsed_s = 0;
};

struct ObserveControl {
  const std::atomic<bool>* stop = nullptr;                  // may be null
  std::function<void(const ObserveProgress&)> report = {};  // often; may be empty
};

// ConfigError: traffic that is not sent (clients that give up, adapters, several answers of one
// prompt, log-probabilities).
void check_can_be_sent(const Scenario& scenario);

// Requests are sent at the workload's times, whatever the server does; the workload is told of
// their ends, for closed loops. Ends early, with what was measured until then: at `stop`, after
// `seconds`, or when ten requests in a row have failed. ConfigError: as find_out and HttpClient; a
// warm-up request that fails; not one answer.
[[nodiscard]] Observation observe(const ObserveOptions& options, WorkloadSource& workload,
                                  const ObserveControl& control);

}  // namespace headroom
