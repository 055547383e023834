#pragma once
// What a study searches for: the largest or smallest value of an option with which runs meet the
// limits, or the points that no other point beats in two metrics.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

enum class SearchKind { max_request_rate, max_concurrency, min_gpu_memory_utilization, pareto };
[[nodiscard]] std::string_view name_of(SearchKind kind);

// A metric of a run (metric_names) and how far it may go.
struct Limit {
  std::string metric;
  bool at_most = true;  // false: at least
  double bound = 0;
};

// The edge of the values of one option that pass. They are supposed to lie on one side of it, which
// is checked by probes elsewhere, not assumed.
struct ValueSearch {
  std::vector<std::string> keys;  // of the option's path
  std::string path;
  bool whole = false;  // an option of whole numbers
  bool largest = true;
  double from = 0;  // < to; > 0 unless whole
  double to = 0;
  double tolerance = 0.01;  // relative, of the answer; 0: to the very number (whole only)

  bool stationary = false;        // asked of every run
  std::vector<Limit> each;        // kept by every run
  std::vector<Limit> limits;      // kept by the mean over replications, with its interval of 95 %
  std::int64_t replications = 1;  // of a value, to begin with
  std::int64_t max_replications = 1;  // after which what is not certain fails
  std::int64_t checks = 2;            // probes away from the edge, on each side
};

struct Objective {
  std::string metric;
  bool maximize = true;
};

struct Search {
  std::string name;
  SearchKind kind = SearchKind::max_request_rate;
  ValueSearch value = {};             // unless pareto
  std::vector<Objective> front = {};  // pareto: two

  [[nodiscard]] bool is_front() const { return kind == SearchKind::pareto; }
};

}  // namespace headroom
