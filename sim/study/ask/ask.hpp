#pragma once
// One question about one system: does it hold this traffic within these targets, how much more
// would it hold, and which changes help most?
//
// Every figure is from a run, of the same seed and number of requests: the largest load is the edge
// of those that pass (bisection.hpp), and so is each change's. Verdict and changes do not depend on
// the number of threads.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/study/ask/ask_candidates.hpp"
#include "sim/study/ask/ask_load.hpp"
#include "sim/study/ask/ask_untargeted.hpp"

namespace headroom {

struct AskQuery {
  ScenarioDocument document;   // system and traffic
  bool has_load = true;        // false: its load is made up, only the largest one is of interest
  std::vector<Limit> targets;  // at most so many ms; besides limits of the scenario's slo
  TokenCount context = 0;      // of a request that must be accepted and fit; 0: none
  std::string refusal = {};    // why the engine would not start at all; empty: memory decides
  std::string doubt = {};      // why it may not start; empty: only what the budget says
  double largest_share = 1;    // of a device's memory that a change may give to the engine
  bool with_changes = true;    // look for changes, and for the largest users and context
};

// A latency under the load asked for.
struct AskLatency {
  std::string metric;
  std::optional<double> limit_ms;  // a target; else it is shown only
  double ms = 0;
  // Where measured runs of other systems lay relative to simulated ones; equal to `ms`: not known.
  double low_ms = 0;
  double high_ms = 0;

  [[nodiscard]] bool is_kept() const { return !limit_ms || ms <= *limit_ms; }
  [[nodiscard]] bool is_tight() const { return limit_ms && is_kept() && high_ms > *limit_ms; }
};

struct AskEdge {
  std::optional<double> largest;  // nothing: not even the smallest load holds
  bool is_last = false;           // the end of what was tried holds, too
  Binds binds = Binds::nothing;   // what stops the load from growing
  std::string why;                // the target or rule that the next load breaks
};

struct AskChange {
  AskCandidate candidate;
  std::optional<double> largest;  // load with it; nothing: none
  bool holds = false;             // the load that was asked for
};

struct AskAnswer {
  HoldVerdict verdict = HoldVerdict::holds;
  std::string reason;  // one sentence: what is missed, or by how much it holds
  RunResult run;       // under the load asked for
  AskLoad load;
  bool has_load = true;
  bool has_targets = true;
  bool makes_vectors = false;  // of prompts, and no tokens
  std::vector<AskLatency> latencies;
  std::optional<AskEdge> largest_load;
  std::optional<AskEdge> largest_users;    // of the same requests in a closed loop
  std::optional<AskEdge> largest_rate;     // of the same requests, where users have no targets
  std::optional<AskEdge> largest_context;  // tokens of prompt and output, under the load asked for
  std::optional<AskAtOnce> at_once;        // what memory and seats carry
  std::int64_t context_requests = 0;       // of the length asked for, that fit at once
  std::vector<AskChange> changes;          // on the same devices; the best first, at most three
  std::vector<AskChange> hardware;         // with more or other devices, likewise
  std::int64_t tried = 0;                  // changes that were simulated
  bool interrupted = false;                // the answer is not complete
};

struct AskOptions {
  std::size_t threads = 1;
  const std::atomic<bool>* interrupted = nullptr;
};

// ConfigError, DataError: the scenario or its files are wrong.
[[nodiscard]] AskAnswer ask(const AskQuery& query, const Catalog& catalog,
                            const AskOptions& options);

inline constexpr std::size_t kShownChanges = 3;

}  // namespace headroom
