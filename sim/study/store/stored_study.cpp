#include "sim/study/store/stored_study.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/file_roles.hpp"
#include "workloads/traces/shown.hpp"

namespace headroom {
namespace {

constexpr std::string_view kSchemaVersion = "2";
constexpr std::string_view kWithoutSearches = "1";  // and otherwise the same

Database opened(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) {
    throw ConfigError(
        Complaint{.kind = ErrorKind::unreadable, .origin = path, .problem = "no such file"});
  }
  note_input(path);
  return {path, Database::Mode::read_only};
}

}  // namespace

StoredStudy::StoredStudy(const std::string& path) : database_(opened(path)) {
  const std::map<std::string, std::string> known = meta();
  const auto version = known.find("schema_version");
  if (version == known.end()) {
    throw ConfigError(
        Complaint{.origin = path, .problem = "not a study: table meta has no schema_version"});
  }
  if (version->second != kSchemaVersion && version->second != kWithoutSearches) {
    throw ConfigError(Complaint{
        .origin = path,
        .problem = fmt::format("schema version {}: this program reads versions {} and {}",
                               shown(version->second), kWithoutSearches, kSchemaVersion)});
  }
}

std::map<std::string, std::string> StoredStudy::meta() const {
  std::map<std::string, std::string> values;
  Statement query = database_.prepare("SELECT key, value FROM meta");
  while (query.step()) values.emplace(query.text(0), query.text(1));
  return values;
}

std::vector<VariedValue> StoredStudy::parameters() const {
  std::vector<VariedValue> parameters;
  Statement query =
      database_.prepare("SELECT point, path, value FROM parameters ORDER BY point, path");
  while (query.step()) {
    parameters.push_back({query.integer(0), query.text(1), query.text(2)});
  }
  return parameters;
}

std::vector<StudyRun> StoredStudy::runs() const {
  std::vector<StudyRun> runs;
  Statement query = database_.prepare(
      "SELECT run, point, replication, seed, status, error, stationary FROM runs "
      "ORDER BY run");
  while (query.step()) {
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
  Statement metrics = database_.prepare("SELECT run, name, value FROM metrics ORDER BY run, name");
  while (metrics.step()) {
    StudyRun* run = run_of(metrics.integer(0));
    if (run == nullptr || metrics.is_null(2)) continue;
    run->metrics.emplace_back(metrics.text(1), metrics.number(2));
  }
  at = 0;
  Statement ooms =
      database_.prepare("SELECT run, kind, count, first_time_s FROM oom ORDER BY run, kind");
  while (ooms.step()) {
    StudyRun* run = run_of(ooms.integer(0));
    if (run == nullptr) continue;
    StudyOom& oom = run->ooms.emplace_back();
    oom.kind = ooms.text(1);
    oom.count = ooms.integer(2);
    if (!ooms.is_null(3)) oom.first_time_s = ooms.number(3);
  }
  return runs;
}

std::vector<StoredSearch> StoredStudy::searches() const {
  std::vector<StoredSearch> searches;
  if (!database_.has_table("searches")) return searches;
  Statement query = database_.prepare(
      "SELECT search, point, name, kind, value, low, high, status, detail FROM searches "
      "ORDER BY search, point");
  const auto number = [&](int column) {
    return query.is_null(column) ? std::nullopt : std::optional(query.number(column));
  };
  while (query.step()) {
    searches.push_back({query.integer(0), query.integer(1), query.text(2), query.text(3), number(4),
                        number(5), number(6), query.text(7), query.text(8)});
  }
  return searches;
}

std::vector<RunWords> StoredStudy::verdicts() const {
  std::vector<RunWords> all;
  Statement query = database_.prepare(
      "SELECT run, json_extract(summary, '$.verdict'), json_extract(summary, '$.reason'), "
      "json_extract(summary, '$.binds') FROM runs WHERE summary IS NOT NULL ORDER BY run");
  while (query.step()) {
    all.push_back({query.integer(0), query.text(1), query.text(2), query.text(3)});
  }
  return all;
}

void StoredStudy::each_summary(
    const std::function<void(std::int64_t point, std::string_view summary)>& use) const {
  Statement query = database_.prepare(
      "SELECT point, summary FROM runs WHERE replication = 0 AND summary IS NOT NULL "
      "ORDER BY point");
  while (query.step()) use(query.integer(0), query.text(1));
}

}  // namespace headroom
