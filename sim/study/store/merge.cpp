#include "sim/study/store/merge.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/partial_path.hpp"

namespace headroom {
namespace {

std::int64_t count_of(const Database& database, std::string_view sql) {
  Statement count = database.prepare(sql);
  return count.step() ? count.integer(0) : 0;
}

// A database that gets its name when it is complete, and is removed if it never is.
class NewFile {
 public:
  explicit NewFile(const std::string& path)
      : wal_(path + "-wal"), journal_(path + "-journal"), file_(path) {}

  [[nodiscard]] const std::string& path() const { return file_.text(); }
  void keep_as(const std::string& name) {
    std::error_code error;
    std::filesystem::rename(path(), name, error);
    if (error)
      throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                  .origin = name,
                                  .problem = fmt::format("cannot write: {}", error.message())});
  }

 private:
  PartialPath wal_;
  PartialPath journal_;
  PartialPath file_;
};

// Checked, and from the same study as `facts` if that is given.
StudyFacts check_input(const std::string& path, const StudyFacts* facts, const std::string& first) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw ConfigError(Complaint{.origin = path, .problem = "a folder, not a file"});
  }
  const Database input(path, Database::Mode::existing);
  StudyFacts found = read_facts(input);
  input.check_pages();
  check_numbers(input, found);
  const std::string difference = facts == nullptr ? "" : found.difference(*facts);
  if (!difference.empty()) {
    throw ConfigError(
        Complaint{.origin = path,
                  .problem = fmt::format("cannot be merged: {} holds {}", first, difference)});
  }
  return found;
}

// Runs that both have: equal ones stay; those that failed so far are replaced.
std::int64_t settle_doubles(Database& output, const std::string& path) {
  Statement differ = output.prepare(
      "SELECT run FROM runs JOIN part.runs AS p USING(run) WHERE runs.status = 'done' AND "
      "p.status = 'done' AND (runs.digest <> p.digest OR runs.summary <> p.summary) LIMIT 1");
  if (differ.step()) {
    throw ConfigError(Complaint{
        .origin = path,
        .problem = fmt::format("run {} has different results here than in an earlier file",
                               differ.integer(0))});
  }
  const std::int64_t doubles =
      count_of(output, "SELECT COUNT(*) FROM runs JOIN part.runs USING(run)");
  output.execute(
      "DELETE FROM runs WHERE status = 'failed' AND run IN (SELECT run FROM part.runs WHERE "
      "status = 'done')");
  return doubles;
}

// What searches found, and the runs they made.
void copy_searches(Database& output, const std::string& path) {
  Statement differ = output.prepare(
      "SELECT search, point FROM searches JOIN part.searches AS p USING(search, point) WHERE "
      "searches.status <> 'failed' AND p.status <> 'failed' AND (searches.status <> p.status OR "
      "searches.detail <> p.detail) LIMIT 1");
  if (differ.step()) {
    throw ConfigError(Complaint{
        .origin = path,
        .problem =
            fmt::format("search {} of point {} has a different result here than in an earlier file",
                        differ.integer(0), differ.integer(1))});
  }
  output.execute(
      "INSERT OR REPLACE INTO main.searches SELECT * FROM part.searches WHERE status <> 'failed';"
      "INSERT OR IGNORE INTO main.searches SELECT * FROM part.searches;"
      "INSERT OR REPLACE INTO main.probes SELECT * FROM part.probes WHERE status = 'done';"
      "INSERT OR IGNORE INTO main.probes SELECT * FROM part.probes");
}

std::int64_t copy_part(Database& output, const std::string& path) {
  Statement attach = output.prepare("ATTACH ? AS part");
  attach.bind(0, path).run();
  Transaction transaction(output);
  const std::int64_t doubles = settle_doubles(output, path);
  output.execute(
      "CREATE TEMP TABLE fresh AS SELECT run FROM part.runs WHERE run NOT IN (SELECT run FROM "
      "main.runs);"
      "INSERT INTO main.runs SELECT * FROM part.runs WHERE run IN fresh;"
      "INSERT INTO main.metrics SELECT * FROM part.metrics WHERE run IN fresh;"
      "INSERT INTO main.oom SELECT * FROM part.oom WHERE run IN fresh;"
      "DROP TABLE fresh");
  copy_searches(output, path);
  transaction.commit();
  output.execute("DETACH part");
  return doubles;
}

}  // namespace

MergeResult merge_stores(const std::string& output, const std::vector<std::string>& inputs) {
  MergeResult result;
  std::set<std::filesystem::path> seen;
  for (const std::string& path : inputs) {
    const bool first = seen.empty();
    std::error_code unknown;  // a path that cannot be followed cannot be opened either
    const auto [name, is_new] = seen.insert(std::filesystem::weakly_canonical(path, unknown));
    if (!is_new && !unknown) throw ConfigError(Complaint{.origin = path, .problem = "named twice"});
    const StudyFacts facts = check_input(path, first ? nullptr : &result.facts, inputs.front());
    if (first) result.facts = facts;
  }
  std::error_code ignored;
  if (std::filesystem::exists(output, ignored)) {
    throw ConfigError(
        Complaint{.origin = output, .problem = "already exists: name another file to merge into"});
  }
  NewFile file(fmt::format("{}.partial-{}", output, ::getpid()));
  {
    const Database first(inputs.front(), Database::Mode::existing);
    ResultsStore store(file.path(), StoreMode::create, result.facts, read_parameters(first));
    store.finish();
  }
  {
    Database merged(file.path(), Database::Mode::existing);
    merged.execute("PRAGMA synchronous = NORMAL");
    for (const std::string& path : inputs) result.twice += copy_part(merged, path);
    result.runs = count_of(merged, "SELECT COUNT(*) FROM runs");
    result.failed = count_of(merged, "SELECT COUNT(*) FROM runs WHERE status = 'failed'");
    result.missing = missing_runs(merged, result.facts.total_runs);
  }
  file.keep_as(output);
  return result;
}

std::vector<std::int64_t> missing_runs(const Database& database, std::int64_t total) {
  std::vector<std::int64_t> missing;
  std::int64_t next = 0;
  Statement all = database.prepare("SELECT run FROM runs ORDER BY run");
  while (all.step()) {
    for (; next < all.integer(0); ++next) missing.push_back(next);
    ++next;
  }
  for (; next < total; ++next) missing.push_back(next);
  return missing;
}

std::string ranges_text(const std::vector<std::int64_t>& numbers, std::size_t most) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (ranges++ == most) return text + ", ...";
    if (!text.empty()) text += ", ";
    text +=
        last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace headroom
