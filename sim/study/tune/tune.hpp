#pragma once
// The best engine flags of a scenario for its traffic and its targets, found by simulation.
//
// A configuration is one level of each lever (tune_levers.hpp). Its merit is the largest load that
// it holds within the targets, by itself or per dollar; or, at the load of the scenario, joules or
// throughput. All runs draw the same traffic (common random numbers), shortened to kTuneRequests.
//
// The search: every single change, the engine's defaults and random configurations race: all run
// at a load that the best one so far holds, those that hold it meet a higher one, until one per
// cent separates the load that some hold from one that none does (tune_race.hpp). Then every single
// change of the winner races against it, with further values around its own, until none is better.
// Last, changes that gain nothing are taken back. A configuration that does not start, or is not
// valid, is out.
//
// Deterministic: the answer depends on the query alone, not on the number of threads.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"
#include "sim/study/search/search.hpp"
#include "sim/study/tune/tune_levers.hpp"

namespace headroom {

enum class TuneObjective : std::uint8_t {
  goodput,  // the largest load within the targets; of traffic without a rate, output tokens/s
  dollars,  // per million output tokens, at that load
  joules    // per output token, at the load of the scenario
};
[[nodiscard]] std::string_view name_of(TuneObjective objective);

inline constexpr std::int64_t kTuneRequests = 2000;
inline constexpr std::int64_t kTuneBudget = 1000;
inline constexpr std::int64_t kMostTuneBudget = 1'000'000;

struct TuneQuery {
  ScenarioDocument document;
  std::vector<Limit> targets;  // at most so many ms, besides the scenario's slo
  TuneObjective objective = TuneObjective::goodput;
  std::optional<double> device_price;  // $/h of one device; else from fleet.cost_per_hour
  TuneChoice choice;
  std::int64_t budget = kTuneBudget;  // runs of the search; what is reported takes more
  std::int64_t seed = 1;              // of the random configurations; the traffic has its own
};

// A configuration and what it is worth.
struct TunePoint {
  TuneConfig config;
  // Requests/s, users, x the recorded rate, tokens/s, tokens/J or million tokens/$; nothing: it
  // does not hold even the smallest load.
  std::optional<double> merit;
  std::optional<double> load;  // the largest; nothing where the load is the scenario's
  std::int64_t devices = 0;
  std::optional<double> dollars_per_million_tokens;  // of output
  std::optional<double> joules_per_token;            // of output
};

// One lever that the best configuration changes.
struct TuneShare {
  std::size_t lever = 0;
  std::optional<double> merit;  // with this one as it stands and the others changed
  double share = 0;             // of the gain, that is lost without it
};

// One lever that it leaves as it stands.
struct TuneLeft {
  std::size_t lever = 0;
  bool matters = false;   // another value is worse by more than the search can tell
  bool possible = false;  // another value starts
};

// The best configuration if every step took `slower` times as long.
struct TuneAtEnd {
  double slower = 1;
  bool same = true;
  TuneConfig best;
  double gain = 0;  // over the configuration that is reported
};

struct TuneAnswer {
  TuneObjective objective = TuneObjective::goodput;
  RunResult run;  // of the scenario as it stands, at its own load
  AskLoad load;
  bool by_load = true;  // merits are loads
  std::vector<TuneLever> levers;
  TunePoint as_it_stands;
  TunePoint defaults;
  TunePoint best;
  std::vector<Setting> settings;  // that make the best of the scenario
  std::vector<TuneShare> shares;  // the largest first
  std::vector<TuneLeft> left;
  // The gain over the scenario as it stands, relative, with other seeds of the traffic than the
  // search had.
  std::optional<double> gain;
  bool has_no_draws = false;   // recorded requests, the same with every seed: no gain with others
  double gain_half_width = 0;  // of its interval of 95 %
  std::int64_t gain_seeds = 0;
  std::vector<TuneAtEnd> ends;  // of the range of measured runs; empty: not known, or no effect
  std::int64_t runs = 0;
  std::int64_t search_runs = 0;
  std::int64_t configs = 0;  // that were tried
  std::int64_t refused = 0;  // of these: not valid, or did not start
  bool out_of_budget = false;
  bool interrupted = false;  // the answer is not complete
};

struct TuneOptions {
  std::size_t threads = 1;
  const std::atomic<bool>* interrupted = nullptr;
};

// ConfigError, DataError: the scenario or its files are wrong, it has no load that could grow and
// nothing else to judge by, or no price or power where these are the objective.
[[nodiscard]] TuneAnswer tune(const TuneQuery& query, const Catalog& catalog,
                              const TuneOptions& options);

}  // namespace headroom
