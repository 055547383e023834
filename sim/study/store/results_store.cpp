#include "sim/study/store/results_store.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/kernel/errors.hpp"
#include "sim/study/sweep/study_plan.hpp"

namespace headroom {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE parameters(point INTEGER, path TEXT, value TEXT, PRIMARY KEY(point, path))
  WITHOUT ROWID;
CREATE TABLE runs(run INTEGER PRIMARY KEY, point INTEGER, replication INTEGER, seed INTEGER,
  status TEXT, error TEXT, digest TEXT, stationary INTEGER, summary TEXT);
CREATE TABLE metrics(run INTEGER, name TEXT, value REAL, PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE oom(run INTEGER, kind TEXT, count INTEGER, first_time_s REAL, PRIMARY KEY(run, kind))
  WITHOUT ROWID;
CREATE TABLE searches(search INTEGER, point INTEGER, name TEXT, kind TEXT, value REAL, low REAL,
  high REAL, status TEXT, detail TEXT, PRIMARY KEY(search, point)) WITHOUT ROWID;
CREATE TABLE probes(search INTEGER, point INTEGER, value REAL, replication INTEGER, seed INTEGER,
  status TEXT, error TEXT, digest TEXT, stationary INTEGER, metrics TEXT,
  PRIMARY KEY(search, point, value, replication)) WITHOUT ROWID;
)sql";

ConfigError refusal(const Database& database, const std::string& why) {
  return ConfigError(Complaint{.origin = database.path(), .problem = fmt::format("{}", why)});
}

std::string meta(const Database& database, std::string_view key) {
  Statement find = database.prepare("SELECT value FROM meta WHERE key = ?");
  if (!find.bind(0, key).step()) {
    throw refusal(database, fmt::format("not a study's results: meta has no {}", key));
  }
  return find.text(0);
}

// A program that ended before its first transaction leaves a database without any table.
bool is_empty(const Database& database) {
  Statement any = database.prepare("SELECT 1 FROM sqlite_master LIMIT 1");
  return !any.step();
}

Database open_store(const std::string& path, StoreMode mode) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (exists && mode == StoreMode::create) {
    throw ConfigError(
        Complaint{.origin = path,
                  .problem = "already exists: continue it with --resume, or name another file"});
  }
  if (std::filesystem::is_directory(path, ignored)) {
    throw ConfigError(Complaint{.origin = path, .problem = "a folder, not a file"});
  }
  return {path, exists ? Database::Mode::existing : Database::Mode::create};
}

const std::string kSelectRuns =
    "SELECT run, point, replication, seed, status, error, digest, stationary FROM runs ";

StoredRun run_in(const Statement& row) {
  StoredRun run;
  run.run = row.integer(0);
  run.point = row.integer(1);
  run.replication = row.integer(2);
  run.seed = row.integer(3);
  run.done = row.text(4) == "done";
  run.error = row.text(5);
  run.digest = row.text(6);
  if (!row.is_null(7)) run.stationary = row.integer(7) != 0;
  return run;
}

}  // namespace

struct ResultsStore::Statements {
  explicit Statements(const Database& database)
      : run(database.prepare("INSERT OR REPLACE INTO runs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)")),
        metric(database.prepare("INSERT OR REPLACE INTO metrics VALUES(?, ?, ?)")),
        oom(database.prepare("INSERT OR REPLACE INTO oom VALUES(?, ?, ?, ?)")) {}
  Statement run;
  Statement metric;
  Statement oom;
};

std::string StudyFacts::difference(const StudyFacts& other) const {
  if (sha256 != other.sha256) {
    return fmt::format(
        "results of a different study ({}, sha256 {:.12}) than this one ({}, sha256 {:.12})",
        other.name, other.sha256, name, sha256);
  }
  if (version != other.version) {
    return fmt::format("results of headroom {}, but this is {}", other.version, version);
  }
  return "";
}

ResultsStore::ResultsStore(const std::string& path, StoreMode mode, const StudyFacts& facts,
                           const std::vector<StoredParameter>& parameters)
    : role_(path), database_(open_store(path, mode)) {
  // Alone in the file until it is closed: two programs would make every run twice. The journal then
  // needs no shared memory, and lives on network file systems, too.
  database_.execute("PRAGMA locking_mode = EXCLUSIVE");
  if (is_empty(database_)) {
    database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    write_head(facts, parameters);
  } else {
    database_.check_pages();
    const std::string difference = facts.difference(read_facts(database_));
    if (!difference.empty()) throw refusal(database_, difference);
    check_numbers(database_, facts);
    database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    Transaction(database_).commit();  // takes the lock, or reports that another program has it
  }
  statements_ = std::make_unique<Statements>(database_);
}

ResultsStore::~ResultsStore() = default;

void ResultsStore::write_head(const StudyFacts& facts,
                              const std::vector<StoredParameter>& parameters) {
  Transaction transaction(database_);
  database_.execute(kTables);
  Statement add_meta = database_.prepare("INSERT INTO meta VALUES(?, ?)");
  const std::vector<std::pair<std::string_view, std::string>> rows{
      {"schema_version", std::to_string(kStoreSchema)},
      {"headroom_version", facts.version},
      {"study_name", facts.name},
      {"study", facts.text},
      {"study_sha256", facts.sha256},
      {"total_runs", std::to_string(facts.total_runs)}};
  for (const auto& [key, value] : rows) add_meta.bind(0, key).bind(1, value).run();
  Statement add_parameter = database_.prepare("INSERT INTO parameters VALUES(?, ?, ?)");
  for (const StoredParameter& one : parameters) {
    add_parameter.bind(0, one.point).bind(1, one.path).bind(2, one.json).run();
  }
  transaction.commit();
}

void bind_result(Statement& row, int column, const StoredRun& run) {
  if (run.done) {
    row.bind(column, "done").bind_null(column + 1).bind(column + 2, run.digest);
  } else {
    row.bind(column, "failed").bind(column + 1, run.error).bind_null(column + 2);
  }
  if (run.stationary) {
    row.bind(column + 3, std::int64_t{*run.stationary});
  } else {
    row.bind_null(column + 3);
  }
}

std::vector<std::int64_t> ResultsStore::done() const {
  std::vector<std::int64_t> runs;
  Statement find = database_.prepare("SELECT run FROM runs WHERE status = 'done' ORDER BY run");
  while (find.step()) runs.push_back(find.integer(0));
  return runs;
}

void ResultsStore::add(const StoredRun& run) {
  Transaction transaction(database_);
  Statement& row = statements_->run;
  row.bind(0, run.run).bind(1, run.point).bind(2, run.replication).bind(3, run.seed);
  bind_result(row, 4, run);
  if (run.done) {
    row.bind(8, run.summary);
  } else {
    row.bind_null(8);
  }
  row.run();
  for (const auto& [name, value] : run.metrics) {
    statements_->metric.bind(0, run.run).bind(1, name).bind(2, value).run();
  }
  for (const StoredOom& oom : run.ooms) {
    statements_->oom.bind(0, run.run).bind(1, oom.kind).bind(2, oom.count);
    statements_->oom.bind(3, oom.first_time_s).run();
  }
  transaction.commit();
}

void ResultsStore::finish() {
  statements_.reset();
  database_.execute("PRAGMA journal_mode = DELETE");
}

StudyFacts read_facts(const Database& database) {
  if (!database.has_table("meta")) throw refusal(database, "a database, but not a study's results");
  const std::string schema = meta(database, "schema_version");
  if (schema != std::to_string(kStoreSchema)) {
    throw refusal(
        database,
        fmt::format("results of schema version {}, but this program reads and writes version {}",
                    schema, kStoreSchema));
  }
  StudyFacts facts;
  facts.version = meta(database, "headroom_version");
  facts.name = meta(database, "study_name");
  facts.text = meta(database, "study");
  facts.sha256 = meta(database, "study_sha256");
  Statement total = database.prepare("SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?");
  if (total.bind(0, "total_runs").step()) facts.total_runs = total.integer(0);
  return facts;
}

void check_numbers(const Database& database, const StudyFacts& facts) {
  const StudyPlan plan(parse_study(parse_json(facts.text, database.path()), "", {}));
  const auto check = [&](std::string_view table, std::string_view column, std::int64_t count,
                         const std::string& of_its_run = "") {
    const std::string right =
        of_its_run.empty() ? "TRUE" : fmt::format("{} = {}", column, of_its_run);
    Statement wrong = database.prepare(fmt::format(
        "SELECT quote({1}) FROM {0} WHERE (typeof({1}) = 'integer' AND {1} BETWEEN 0 AND {2} - 1 "
        "AND {3}) IS NOT TRUE LIMIT 1",
        table, column, count, right));
    if (!wrong.step()) return;
    throw refusal(database, fmt::format("damaged: table {}: {} {}: the study has {}, from 0 on{}",
                                        table, column, wrong.text(0), count,
                                        of_its_run.empty() ? "" : ", and a run is of one of them"));
  };
  const std::int64_t replications = plan.study().replications;
  check("runs", "run", facts.total_runs);
  check("runs", "point", plan.points(), fmt::format("run / {}", replications));
  check("runs", "replication", replications, fmt::format("run % {}", replications));
  check("parameters", "point", plan.points());
  for (const std::string_view table : {"searches", "probes"}) {
    check(table, "search", std::ssize(plan.study().searches));
    check(table, "point", plan.points());
  }
}

std::vector<StoredParameter> read_parameters(const Database& database) {
  std::vector<StoredParameter> parameters;
  Statement all = database.prepare("SELECT point, path, value FROM parameters ORDER BY 1, 2");
  while (all.step()) parameters.push_back({all.integer(0), all.text(1), all.text(2)});
  return parameters;
}

std::vector<StoredRun> read_runs(const Database& database, std::int64_t points) {
  Statement all = database.prepare(kSelectRuns + "WHERE point < ? ORDER BY run");
  all.bind(0, points);
  std::vector<StoredRun> runs;
  while (all.step()) runs.push_back(run_in(all));
  const auto owner = [at = std::size_t{0}, &runs](std::int64_t number) mutable -> StoredRun* {
    while (at < runs.size() && runs[at].run < number) ++at;
    return at < runs.size() && runs[at].run == number ? &runs[at] : nullptr;
  };
  Statement metrics =
      database.prepare("SELECT run, name, value FROM metrics WHERE run <= ? ORDER BY run, name");
  const std::int64_t last = runs.empty() ? -1 : runs.back().run;
  metrics.bind(0, last);
  for (auto find = owner; metrics.step();) {
    if (StoredRun* run = find(metrics.integer(0))) {
      run->metrics.emplace_back(metrics.text(1), metrics.number(2));
    }
  }
  Statement ooms = database.prepare(
      "SELECT run, kind, count, first_time_s FROM oom WHERE run <= ? ORDER BY 1, 2");
  ooms.bind(0, last);
  for (auto find = owner; ooms.step();) {
    if (StoredRun* run = find(ooms.integer(0))) {
      run->ooms.push_back({ooms.text(1), ooms.integer(2), ooms.number(3)});
    }
  }
  return runs;
}

std::vector<StoredRun> read_failures(const Database& database, std::int64_t most) {
  Statement all = database.prepare(kSelectRuns + "WHERE status = 'failed' ORDER BY run LIMIT ?");
  all.bind(0, most);
  std::vector<StoredRun> runs;
  while (all.step()) runs.push_back(run_in(all));
  return runs;
}

StoredCounts read_counts(const Database& database) {
  Statement count = database.prepare(
      "SELECT COUNT(*), COUNT(DISTINCT point), COUNT(*) FILTER (WHERE status = 'failed') FROM "
      "runs");
  if (!count.step()) return {};
  return {count.integer(0), count.integer(1), count.integer(2)};
}

}  // namespace headroom
