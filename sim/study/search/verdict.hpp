#pragma once
// Whether a value of a searched option passes, from runs that differ in their seeds only.

#include <string>
#include <vector>

#include "sim/study/search/search.hpp"
#include "sim/study/store/results_store.hpp"

namespace headroom {

// open: intervals reach over a limit, so that more replications could tell.
enum class Verdict { passes, fails, open };
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct MetricMean {
  std::string metric;
  double mean = 0;
  double half_width = 0;  // of its interval of 95 %; 0 for one run
};

struct Judgement {
  Verdict verdict = Verdict::open;
  std::string why;                // what fails, or is open
  std::vector<MetricMean> means;  // of the limited metrics, as far as all runs have them
};

// The rule, in this order:
// 1. A run that violates a condition on every run (to start, no out of memory, to be stationary
//    ...) makes the value fail.
// 2. For each limit, the interval of 95 % of the mean over all runs (Student's t): within the limit
//    to its end, it is kept; beyond it to its end, the value fails. Of one run there is no
//    interval, and its own value decides.
// 3. Anything else is open until there are `max_replications`; then it fails.
// A limit on a metric that a run does not have is not kept. `runs`: at least one, all of them done.
[[nodiscard]] Judgement judge(const ValueSearch& search, const std::vector<StoredRun>& runs);

}  // namespace headroom
