#include "sim/report/page/study_database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/file_roles.hpp"
#include "workloads/traces/shown.hpp"

namespace headroom {
namespace {

constexpr std::string_view kSchemaVersion = "2";
constexpr std::string_view kWithoutSearches = "1";  // and otherwise the same

ConfigError cannot_read(const std::string& path, sqlite3* database) {
  return ConfigError(
      Complaint{.kind = ErrorKind::unreadable,
                .origin = path,
                .problem = fmt::format("cannot read the study: {}", sqlite3_errmsg(database))});
}

}  // namespace

void StudyDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

// One statement and the row it is at.
class StudyDatabase::Query {
 public:
  Query(const StudyDatabase& study, const char* sql)
      : study_(study), statement_(nullptr, &sqlite3_finalize) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(study.database_.get(), sql, -1, &statement, nullptr) != SQLITE_OK) {
      throw cannot_read(study.path_, study.database_.get());
    }
    statement_.reset(statement);
  }

  [[nodiscard]] bool next() {
    const int code = sqlite3_step(statement_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      throw cannot_read(study_.path_, study_.database_.get());
    }
    return code == SQLITE_ROW;
  }

  [[nodiscard]] bool is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
  }
  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
  }
  [[nodiscard]] double number(int column) const {
    return sqlite3_column_double(statement_.get(), column);
  }
  // Valid until the next row; empty for NULL.
  [[nodiscard]] std::string_view text(int column) const {
    const unsigned char* data = sqlite3_column_text(statement_.get(), column);
    if (data == nullptr) return {};
    return {reinterpret_cast<const char*>(data),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
  }

 private:
  const StudyDatabase& study_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
};

StudyDatabase::StudyDatabase(const std::string& path) : path_(path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) {
    throw ConfigError(
        Complaint{.kind = ErrorKind::unreadable, .origin = path, .problem = "no such file"});
  }
  note_input(path);
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) throw cannot_read(path, database);
  // A writer holds the database for one transaction at a time.
  constexpr int kPatienceMs = 5000;
  sqlite3_busy_timeout(database, kPatienceMs);
  const std::map<std::string, std::string> known = meta();
  const auto version = known.find("schema_version");
  if (version == known.end()) {
    throw ConfigError(
        Complaint{.origin = path, .problem = "no study: table meta has no schema_version"});
  }
  if (version->second != kSchemaVersion && version->second != kWithoutSearches) {
    throw ConfigError(Complaint{
        .origin = path,
        .problem = fmt::format("schema version {}: this program reads versions {} and {}",
                               shown(version->second), kWithoutSearches, kSchemaVersion)});
  }
}

std::map<std::string, std::string> StudyDatabase::meta() const {
  std::map<std::string, std::string> values;
  Query query(*this, "SELECT key, value FROM meta");
  while (query.next()) values.emplace(query.text(0), query.text(1));
  return values;
}

std::vector<VariedValue> StudyDatabase::parameters() const {
  std::vector<VariedValue> parameters;
  Query query(*this, "SELECT point, path, value FROM parameters ORDER BY point, path");
  while (query.next()) {
    parameters.push_back(
        {query.integer(0), std::string(query.text(1)), std::string(query.text(2))});
  }
  return parameters;
}

std::vector<StudyRun> StudyDatabase::runs() const {
  std::vector<StudyRun> runs;
  Query query(*this,
              "SELECT run, point, replication, seed, status, error, stationary FROM runs "
              "ORDER BY run");
  while (query.next()) {
    StudyRun& run = runs.emplace_back();
    run.run = query.integer(0);
    run.point = query.integer(1);
    run.replication = query.integer(2);
    run.seed = query.integer(3);
    run.failed = query.text(4) != "done";
    run.error = query.text(5);
    if (!query.is_null(6)) run.stationary = query.integer(6) != 0;
  }
  // Both tables come in the order of the runs.
  std::size_t at = 0;
  const auto run_of = [&](std::int64_t number) -> StudyRun* {
    while (at < runs.size() && runs[at].run < number) ++at;
    return at < runs.size() && runs[at].run == number ? &runs[at] : nullptr;
  };
  Query metrics(*this, "SELECT run, name, value FROM metrics ORDER BY run, name");
  while (metrics.next()) {
    StudyRun* run = run_of(metrics.integer(0));
    if (run == nullptr || metrics.is_null(2)) continue;
    run->metrics.emplace_back(metrics.text(1), metrics.number(2));
  }
  at = 0;
  Query ooms(*this, "SELECT run, kind, count, first_time_s FROM oom ORDER BY run, kind");
  while (ooms.next()) {
    StudyRun* run = run_of(ooms.integer(0));
    if (run == nullptr) continue;
    StudyOom& oom = run->ooms.emplace_back();
    oom.kind = ooms.text(1);
    oom.count = ooms.integer(2);
    if (!ooms.is_null(3)) oom.first_time_s = ooms.number(3);
  }
  return runs;
}

std::vector<StoredSearch> StudyDatabase::searches() const {
  std::vector<StoredSearch> searches;
  Query found(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'searches'");
  if (!found.next()) return searches;
  Query query(*this,
              "SELECT search, point, name, kind, value, low, high, status, detail FROM searches "
              "ORDER BY search, point");
  const auto number = [&](int column) {
    return query.is_null(column) ? std::nullopt : std::optional(query.number(column));
  };
  while (query.next()) {
    searches.push_back({query.integer(0), query.integer(1), std::string(query.text(2)),
                        std::string(query.text(3)), number(4), number(5), number(6),
                        std::string(query.text(7)), std::string(query.text(8))});
  }
  return searches;
}

void StudyDatabase::each_summary(
    const std::function<void(std::int64_t point, std::string_view summary)>& use) const {
  Query query(*this,
              "SELECT point, summary FROM runs WHERE replication = 0 AND summary IS NOT NULL "
              "ORDER BY point");
  while (query.next()) use(query.integer(0), query.text(1));
}

}  // namespace headroom
