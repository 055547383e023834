#pragma once
// Reads the database of a study for display; ResultsStore writes it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/study/store/search_rows.hpp"
#include "sim/study/store/sqlite.hpp"

namespace headroom {

struct VariedValue {
  std::int64_t point = 0;
  std::string path;   // what was varied, e.g. workload.arrivals.request_rate
  std::string value;  // JSON text
};

struct StudyOom {
  std::string kind;
  std::int64_t count = 0;
  std::optional<double> first_time_s;
};

struct StudyRun {
  std::int64_t run = 0;
  std::int64_t point = 0;
  std::int64_t replication = 0;
  std::int64_t seed = 0;
  bool failed = false;
  std::string error;                                         // of a failed run
  std::optional<bool> stationary;                            // absent: nothing ran
  std::vector<std::pair<std::string, double>> metrics = {};  // by name
  std::vector<StudyOom> ooms = {};
};

// What the run's summary says of it; empty in files of programs that did not keep it.
struct RunWords {
  std::int64_t run = 0;
  std::string verdict;
  std::string reason;
  std::string binds;
};

class StoredStudy {
 public:
  // Opens it for reading only. ConfigError: cannot be opened, no database, or not of a study of a
  // known version.
  explicit StoredStudy(const std::string& path);

  // The functions below throw ConfigError where the file is damaged or a column is missing.
  [[nodiscard]] std::map<std::string, std::string> meta() const;
  [[nodiscard]] std::vector<VariedValue> parameters() const;  // by point, then path
  [[nodiscard]] std::vector<StudyRun> runs() const;           // by number
  [[nodiscard]] std::vector<StoredSearch> searches() const;   // by number, then point
  [[nodiscard]] std::vector<RunWords> verdicts() const;       // by number; of runs that are done
  // summary.json of the first replication of each point that did not fail.
  void each_summary(
      const std::function<void(std::int64_t point, std::string_view summary)>& use) const;

 private:
  Database database_;
};

}  // namespace headroom
