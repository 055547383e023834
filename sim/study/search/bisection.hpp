#pragma once
// The search for the edge of the values that pass, as a function of what has been measured: it
// makes no run itself, so the same steps follow from the same runs, however they are made.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/search/verdict.hpp"

namespace headroom {

// Runs by value of the searched option, each list in order of replications, from 0.
using Measured = std::map<double, std::vector<StoredRun>>;

struct Probe {
  double value = 0;
  std::int64_t replication = 0;
  auto operator<=>(const Probe&) const = default;
};

struct JudgedValue {
  double value = 0;
  std::size_t runs = 0;
  Judgement judgement;
};

enum class SearchEnd {
  found,         // between `low` and `high`
  all_pass,      // the edge lies beyond the last value
  none_passes,   // it lies before the first
  not_monotone,  // values pass beyond one that fails: the edge is one of several
  failed         // a run failed
};
[[nodiscard]] std::string_view name_of(SearchEnd end);

// low, high: the tried values on both sides of the edge, one of which passes: `low` when searching
// the largest passing value, `high` when searching the smallest.
struct EdgeFound {
  SearchEnd end = SearchEnd::found;
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;
  std::vector<double> passes_beyond;  // on the side where all should fail
  std::vector<double> fails_before;   // on the side where all should pass
  std::vector<JudgedValue> judged;    // all, in order
  std::string error;                  // of the run that failed
};

// Either runs to make, or the answer.
struct SearchStep {
  std::vector<Probe> wanted;
  std::optional<EdgeFound> found;
};

// Both ends are judged first, then the middle of the remaining range, until passing and failing
// values are within the tolerance. Then `checks` values on each side of the edge, in the middle of
// the widest gaps between those known; twice as many where the edge is not inside.
[[nodiscard]] SearchStep next_step(const ValueSearch& search, const Measured& measured);

// Values that a search will judge at most.
[[nodiscard]] std::int64_t most_values(const ValueSearch& search);

}  // namespace headroom
