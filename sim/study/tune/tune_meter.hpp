#pragma once
// Runs of configurations at loads, several at a time, and whether they hold.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/tune/tune.hpp"

namespace headroom {

struct TuneTrial {
  std::vector<Setting> settings;
  std::optional<double> load;  // in place of the scenario's
  // How much longer everything takes than the model says. A system whose times are all s times as
  // long serves a rate r within limits L as this one serves s r within L / s: the same run in
  // another unit of time.
  double slower = 1;
  std::optional<std::int64_t> seed = {};  // of the traffic
};

struct TuneOutcome {
  bool possible = false;                   // valid, and it starts
  bool holds = false;                      // keeps up with its traffic, within the targets
  double tokens_per_s = 0;                 // of output
  std::optional<double> joules_per_token;  // of output
  std::int64_t devices = 0;
};

// Of all replicas.
[[nodiscard]] std::int64_t devices_in(const RunResult& run);

class TuneMeter {
 public:
  // `query.document` has the traffic of the runs; `scenario` is made of it.
  TuneMeter(const TuneQuery& query, const Scenario& scenario, const Catalog& catalog,
            const TuneOptions& options);

  // In the order of the trials. All false after an interruption.
  [[nodiscard]] std::vector<TuneOutcome> at(const std::vector<TuneTrial>& trials);

  [[nodiscard]] const AskLoad& load() const { return load_; }
  // Merits are loads: traffic whose load can grow until it no longer holds.
  [[nodiscard]] bool by_load() const { return by_load_; }
  [[nodiscard]] std::int64_t runs() const { return runs_; }
  [[nodiscard]] bool is_stopped() const;

 private:
  [[nodiscard]] TuneOutcome outcome_of(const TuneTrial& trial, const std::atomic<bool>* stop) const;
  [[nodiscard]] ValueSearch rules_at(double slower) const;

  const TuneQuery& query_;
  const Catalog& catalog_;
  const TuneOptions options_;
  std::vector<Limit> targets_;  // on latencies of all requests
  AskLoad load_;
  bool by_load_ = true;
  std::vector<Setting> slo_;  // the scenario's limits on each request, in ms
  std::int64_t runs_ = 0;
};

}  // namespace headroom
