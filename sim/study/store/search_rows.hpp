#pragma once
// Rows of the tables `searches` and `probes`, and what fronts are made of.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/store/results_store.hpp"

namespace headroom {

// What a search found for a point.
struct StoredSearch {
  std::int64_t search = 0;
  std::int64_t point = 0;
  std::string name;
  std::string kind;
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;
  std::string status;
  std::string detail;  // JSON
};

// A run that a search made, by the value of the option it searches.
struct StoredProbe {
  std::int64_t search = 0;
  double value = 0;
  StoredRun run;  // without number, summary and out-of-memory
};

// Adds rows of searches to a file of results; a row that is there already is replaced. It must not
// outlive the database. The caller makes the transactions, if there is more than one row to each.
class SearchRows {
 public:
  explicit SearchRows(const Database& database);
  void add(const StoredProbe& probe);
  void add(const StoredSearch& search);

 private:
  Statement search_;
  Statement probe_;
};

// Probes of one search of one point that are done, in order of value and replication.
[[nodiscard]] std::vector<StoredProbe> read_probes(const Database& database, std::int64_t search,
                                                   std::int64_t point);
// In order of search and point, those that failed included; of the points below `points`.
[[nodiscard]] std::vector<StoredSearch> read_search_rows(const Database& database,
                                                         std::int64_t points = INT64_MAX);

// Of a point: the sum of a metric over its runs, in their order.
struct MetricSum {
  std::int64_t point = 0;
  std::int64_t runs = 0;  // that have it
  double sum = 0;
};
[[nodiscard]] std::vector<MetricSum> read_sums(const Database& database, std::string_view metric);

}  // namespace headroom
