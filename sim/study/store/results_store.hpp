#pragma once
// The results of a study in one SQLite file (tables: docs/studies.md). One writer; each run is one
// transaction, so the file holds whole runs only, whenever the program ends. Nothing in it depends
// on when, where or by how many threads a run was made.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/kernel/file_roles.hpp"
#include "sim/study/store/sqlite.hpp"

namespace headroom {

inline constexpr std::int64_t kStoreSchema = 2;

struct StoredOom {
  std::string kind;
  std::int64_t count = 0;
  double first_time_s = 0;
};

struct StoredRun {
  std::int64_t run = 0;
  std::int64_t point = 0;
  std::int64_t replication = 0;
  std::int64_t seed = 0;
  bool done = false;  // false: it failed, and `error` says why
  std::string error;
  std::string digest;
  std::optional<bool> stationary;  // empty when nothing ran
  std::string summary;             // the run's summary.json
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<StoredOom> ooms;
};

// What a file is about. Files of one study have equal facts, and only such are continued or merged.
struct StudyFacts {
  std::string version;  // of the program
  std::string name;
  std::string text;  // Study::text
  std::string sha256;
  std::int64_t total_runs = 0;

  // How this differs from `other` for results to stand side by side; empty: not at all.
  [[nodiscard]] std::string difference(const StudyFacts& other) const;
};

struct StoredParameter {
  std::int64_t point = 0;
  std::string path;
  std::string json;
};

enum class StoreMode {
  create,  // ConfigError when there is such a file
  resume,  // continues a file of the same study; makes it when there is none
};

// Status, error, digest and label as four parameters from `column` on.
void bind_result(Statement& row, int column, const StoredRun& run);

class ResultsStore {
 public:
  // ConfigError: no results of this study, of another schema or program version, damaged, locked,
  // or not to be written.
  ResultsStore(const std::string& path, StoreMode mode, const StudyFacts& facts,
               const std::vector<StoredParameter>& parameters);
  ~ResultsStore();

  // Runs that are done, in order. Failed ones are not: they are tried again.
  [[nodiscard]] std::vector<std::int64_t> done() const;
  // Replaces a failed run of that number.
  void add(const StoredRun& run);
  // For what is read or added while the store is open.
  [[nodiscard]] Database& database() { return database_; }
  // The file by itself: without journal files beside it.
  void finish();

 private:
  struct Statements;
  void write_head(const StudyFacts& facts, const std::vector<StoredParameter>& parameters);

  OutputRole role_;
  Database database_;
  std::unique_ptr<Statements> statements_;
};

// Reads without changing the file. ConfigError as above.
[[nodiscard]] StudyFacts read_facts(const Database& database);
// ConfigError for a row of a run, point or search that the study of `facts` does not have.
void check_numbers(const Database& database, const StudyFacts& facts);
// Runs of the points below `points`, in order of their numbers, with metrics and out-of-memory, but
// without summaries.
[[nodiscard]] std::vector<StoredRun> read_runs(const Database& database,
                                               std::int64_t points = INT64_MAX);
// The first `most` runs that failed, without metrics.
[[nodiscard]] std::vector<StoredRun> read_failures(const Database& database, std::int64_t most);

struct StoredCounts {
  std::int64_t runs = 0;
  std::int64_t points = 0;
  std::int64_t failed = 0;
};
[[nodiscard]] StoredCounts read_counts(const Database& database);
[[nodiscard]] std::vector<StoredParameter> read_parameters(const Database& database);

}  // namespace headroom
