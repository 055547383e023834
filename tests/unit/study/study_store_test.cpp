#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/study/store/merge.hpp"
#include "sim/study/store/results_store.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::study_store_test {

namespace {

const StudyFacts kFacts{"0.1.0", "curve",
                        R"({"name": "curve", "base": {}, "replications": 2,
                            "vary": [{"path": "model", "values": ["a", "b"]}]})",
                        "abc", 4};
const std::vector<StoredParameter> kParameters{{0, "model", "\"a\""}, {1, "model", "\"b\""}};

StoredRun run_of(std::int64_t number, bool done = true) {
  StoredRun run;
  run.run = number;
  run.point = number / 2;
  run.replication = number % 2;
  run.seed = 1 + run.replication;
  run.done = done;
  if (!done) {
    run.error = "it broke";
    return run;
  }
  run.digest = "d" + std::to_string(number);
  run.summary = "{}";
  run.stationary = number != 1;
  run.metrics = {{"completed", 5.0}, {"p99_ttft_ms", 0.1 * static_cast<double>(number)}};
  run.ooms = {{"runtime_device", 2, 1.5}};
  return run;
}

std::string new_store(const TempFolder& folder, const std::string& name,
                      const std::vector<StoredRun>& runs, const StudyFacts& facts = kFacts) {
  std::string path = folder.path() + "/" + name;
  ResultsStore store(path, StoreMode::create, facts, kParameters);
  for (const StoredRun& run : runs) store.add(run);
  store.finish();
  return path;
}

std::string open_error(const std::string& path, StoreMode mode = StoreMode::resume,
                       const StudyFacts& facts = kFacts) {
  try {
    const ResultsStore store(path, mode, facts, kParameters);
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    REQUIRE(message.starts_with(path + ": "));
    return message.substr(path.size() + 2);
  }
  return "no error";
}

std::string merge_error(const TempFolder& folder, const std::vector<std::string>& inputs) {
  try {
    static_cast<void>(merge_stores(folder.path() + "/merged.db", inputs));
  } catch (const ConfigError& error) {
    CHECK_FALSE(std::filesystem::exists(folder.path() + "/merged.db"));
    return error.what();
  }
  return "no error";
}

void execute(const std::string& path, const char* sql) {
  Database(path, Database::Mode::existing).execute(sql);
}

}  // namespace

TEST_CASE("what is stored is read back") {
  const TempFolder folder;
  const std::string path = new_store(folder, "a.db", {run_of(0), run_of(1), run_of(2, false)});
  const Database database(path, Database::Mode::read_only);
  const StudyFacts facts = read_facts(database);
  CHECK(facts.difference(kFacts).empty());
  CHECK(facts.text == kFacts.text);
  CHECK(facts.total_runs == 4);
  const auto parameters = read_parameters(database);
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[1].json == "\"b\"");
  const auto runs = read_runs(database);
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].stationary == true);
  CHECK(runs[1].stationary == false);
  CHECK(runs[1].digest == "d1");
  CHECK(runs[1].metrics == run_of(1).metrics);
  CHECK(runs[1].ooms.at(0).count == 2);
  CHECK(runs[1].ooms.at(0).first_time_s == 1.5);
  CHECK_FALSE(runs[2].done);
  CHECK(runs[2].error == "it broke");
  CHECK_FALSE(runs[2].stationary.has_value());
  const auto first = read_runs(database, 1);  // of point 0
  REQUIRE(first.size() == 2);
  CHECK(first[1].metrics == run_of(1).metrics);
  REQUIRE(read_failures(database, 5).size() == 1);
  CHECK(read_failures(database, 5)[0].error == "it broke");
  CHECK(read_counts(database).runs == 3);
  CHECK(read_counts(database).points == 2);
  CHECK(read_counts(database).failed == 1);
  CHECK(missing_runs(database, facts.total_runs) == std::vector<std::int64_t>{3});
}

TEST_CASE("a finished file has nothing beside it") {
  const TempFolder folder;
  new_store(folder, "a.db", {run_of(0)});
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a resumed file keeps what is done, and failed runs are replaced") {
  const TempFolder folder;
  const std::string path = new_store(folder, "a.db", {run_of(0), run_of(2, false)});
  {
    ResultsStore store(path, StoreMode::resume, kFacts, kParameters);
    CHECK(store.done() == std::vector<std::int64_t>{0});
    store.add(run_of(2));
    CHECK(store.done() == std::vector<std::int64_t>{0, 2});
  }
  const auto runs = read_runs(Database(path, Database::Mode::existing));
  REQUIRE(runs.size() == 2);
  CHECK(runs[1].error.empty());
}

TEST_CASE("a file that is there is not overwritten") {
  const TempFolder folder;
  const std::string path = new_store(folder, "a.db", {});
  CHECK(open_error(path, StoreMode::create) ==
        "already exists: continue it with --resume, or name another file");
}

TEST_CASE("a file without any table is one whose study was ended before it began") {
  const TempFolder folder;
  folder.write("a.db", "");
  CHECK(open_error(folder.path() + "/a.db") == "no error");
}

TEST_CASE("results of another study, version or schema are refused") {
  const TempFolder folder;
  const std::string path = new_store(folder, "a.db", {});
  StudyFacts other = kFacts;
  other.sha256 = "abcd";
  CHECK(open_error(path, StoreMode::resume, other) ==
        "results of a different study (curve, sha256 abc) than this one (curve, sha256 abcd)");
  other = kFacts;
  other.version = "0.2.0";
  CHECK(open_error(path, StoreMode::resume, other) ==
        "results of headroom 0.1.0, but this is 0.2.0");
  execute(path, "UPDATE meta SET value = '7' WHERE key = 'schema_version'");
  CHECK(open_error(path) ==
        "results of schema version 7, but this program reads and writes version 2");
}

TEST_CASE("rows of points and runs that the study does not have are refused") {
  const auto error_after = [](const char* sql) {
    const TempFolder folder;
    const std::string path = new_store(folder, "a.db", {run_of(0), run_of(3)});
    execute(path, sql);
    std::string why = open_error(path);
    CHECK(merge_error(folder, {path}) == path + ": " + why);
    return why;
  };
  CHECK(error_after("UPDATE runs SET point = 99 WHERE run = 3") ==
        "damaged: table runs: point 99: the study has 2, from 0 on, and a run is of one of them");
  CHECK(error_after("UPDATE runs SET point = 0 WHERE run = 3")
            .starts_with("damaged: table runs: point 0: "));
  CHECK(error_after("UPDATE runs SET replication = 'x' WHERE run = 3")
            .starts_with("damaged: table runs: replication 'x': the study has 2"));
  CHECK(error_after("UPDATE runs SET run = 4611686018427387904 WHERE run = 3") ==
        "damaged: table runs: run 4611686018427387904: the study has 4, from 0 on");
  CHECK(error_after("UPDATE parameters SET point = -1 WHERE point = 1")
            .starts_with("damaged: table parameters: point -1: "));
  CHECK(error_after("INSERT INTO searches(search, point) VALUES(0, 0)")
            .starts_with("damaged: table searches: search 0: the study has 0"));
}

TEST_CASE("what is no store is refused by what it is") {
  const TempFolder folder;
  folder.write("text.db", std::string(5000, 'x'));
  CHECK(open_error(folder.path() + "/text.db") == "not a database");
  CHECK(open_error(folder.path()) == "a folder, not a file");
  CHECK(open_error(folder.path() + "/no/such.db", StoreMode::create).starts_with("cannot open"));
  const std::string other = folder.path() + "/other.db";
  Database(other, Database::Mode::create).execute("CREATE TABLE t(x)");
  CHECK(open_error(other) == "a database, but not a study's results");
}

TEST_CASE("a truncated file is refused and left as it is") {
  const TempFolder folder;
  std::vector<StoredRun> runs;
  for (std::int64_t i = 0; i < 200; ++i) runs.push_back(run_of(i));
  const std::string path = new_store(folder, "a.db", runs);
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t left : {size / 2, size - 4096, std::uintmax_t{4096}}) {
    CAPTURE(left, size);
    const std::string cut = folder.path() + "/cut.db";
    std::filesystem::copy_file(path, cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(cut, left);
    CHECK(open_error(cut) == "damaged or truncated; it was not changed");
    CHECK(std::filesystem::file_size(cut) == left);
  }
}

TEST_CASE("a file in use is refused, and its user is not disturbed") {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.db";
  ResultsStore store(path, StoreMode::create, kFacts, kParameters);
  store.add(run_of(0));
  CHECK(open_error(path) == "locked: another program is using it");
  store.add(run_of(1));
  CHECK(store.done().size() == 2);
}

TEST_CASE("a disk without space is an error, and what was stored before is kept") {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.db";
  {
    Database database(path, Database::Mode::create);
    database.execute("CREATE TABLE t(x); PRAGMA max_page_count = 10");
    Statement add = database.prepare("INSERT INTO t VALUES(zeroblob(20000))");
    add.run();
    CHECK_THROWS_WITH(add.run(), path + ": no space left; the runs stored so far are kept");
  }
  Database database(path, Database::Mode::existing);
  Statement count = database.prepare("SELECT COUNT(*) FROM t");
  REQUIRE(count.step());
  CHECK(count.integer(0) == 1);
}

TEST_CASE("a transaction that is not committed has not happened") {
  const TempFolder folder;
  Database database(folder.path() + "/a.db", Database::Mode::create);
  database.execute("CREATE TABLE t(x)");
  {
    const Transaction transaction(database);
    database.execute("INSERT INTO t VALUES(1)");
  }
  Statement any = database.prepare("SELECT 1 FROM t");
  CHECK_FALSE(any.step());
}

TEST_CASE("shards are merged, doubles taken once, failures replaced, missing runs named") {
  const TempFolder folder;
  const std::vector<std::string> inputs{new_store(folder, "a.db", {run_of(0), run_of(2, false)}),
                                        new_store(folder, "b.db", {run_of(0), run_of(2)})};
  for (const bool reversed : {false, true}) {
    const std::string path = folder.path() + (reversed ? "/m2.db" : "/m1.db");
    const MergeResult result =
        merge_stores(path, reversed ? std::vector{inputs[1], inputs[0]} : inputs);
    CHECK(result.runs == 2);
    CHECK(result.failed == 0);
    CHECK(result.twice == 2);
    CHECK(result.missing == std::vector<std::int64_t>{1, 3});
    const auto runs = read_runs(Database(path, Database::Mode::read_only));
    REQUIRE(runs.size() == 2);
    CHECK(runs[1].done);
    CHECK(runs[1].metrics == run_of(2).metrics);
    CHECK(read_parameters(Database(path, Database::Mode::read_only)).size() == 2);
  }
}

TEST_CASE("files that do not belong together are not merged") {
  const TempFolder folder;
  const std::string a = new_store(folder, "a.db", {run_of(0)});
  StudyFacts facts = kFacts;
  facts.sha256 = "other";
  const std::string other = new_store(folder, "other.db", {}, facts);
  CHECK(merge_error(folder, {a, other}).find("cannot be merged") != std::string::npos);
  StoredRun changed = run_of(0);
  changed.digest = "x";
  const std::string differs = new_store(folder, "differs.db", {changed});
  CHECK(merge_error(folder, {a, differs}) ==
        differs + ": run 0 has different results here than in an earlier file");
  CHECK(merge_error(folder, {a, a}) == a + ": named twice");
  CHECK(merge_error(folder, {a, folder.path() + "/no.db"}).find("no.db: cannot open") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/no.db"));
}

TEST_CASE("an existing file is not merged into") {
  const TempFolder folder;
  const std::string a = new_store(folder, "a.db", {run_of(0)});
  const std::string b = new_store(folder, "b.db", {run_of(1)});
  CHECK_THROWS_WITH(merge_stores(b, {a}), b + ": already exists: name another file to merge into");
}

TEST_CASE("runs are named by ranges") {
  CHECK(ranges_text({0, 1, 2, 5, 7, 8}, 9) == "0-2, 5, 7-8");
  CHECK(ranges_text({0, 2, 4, 6}, 2) == "0, 2, ...");
  CHECK(ranges_text({}, 2).empty());
}

}  // namespace headroom::study_store_test
