#include "sim/report/page/study_data.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::study_data_test {
using Catch::Contains;

namespace {

constexpr const char* kTables = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE parameters(point INTEGER, path TEXT, value TEXT, PRIMARY KEY(point, path))
  WITHOUT ROWID;
CREATE TABLE runs(run INTEGER PRIMARY KEY, point INTEGER, replication INTEGER, seed INTEGER,
  status TEXT, error TEXT, digest TEXT, stationary INTEGER, summary TEXT);
CREATE TABLE metrics(run INTEGER, name TEXT, value REAL, PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE oom(run INTEGER, kind TEXT, count INTEGER, first_time_s REAL, PRIMARY KEY(run, kind))
  WITHOUT ROWID;
INSERT INTO meta VALUES('schema_version', '1'), ('study_name', 'rates'), ('study', '{"a": 1}');
)";

// Two replications of rates 10 and 2 (in this order), and of one point that fails.
constexpr const char* kRates = R"(
INSERT INTO parameters VALUES(0, 'workload.rate', '10'), (1, 'workload.rate', '2'),
  (2, 'workload.rate', '4'), (0, 'engine.name', '"vllm"'), (1, 'engine.name', '"<b>"'),
  (2, 'engine.name', '"vllm"');
INSERT INTO runs VALUES(0, 0, 0, 1, 'done', NULL, 'd', 1, '{"warnings": ["careful"]}'),
  (1, 0, 1, 2, 'done', NULL, 'd', 0, '{"warnings": []}'),
  (2, 1, 0, 3, 'done', NULL, 'd', 1, '{"warnings": ["careful"]}'),
  (3, 1, 1, 4, 'done', NULL, 'd', 1, NULL),
  (4, 2, 0, 5, 'failed', 'no such model', NULL, NULL, NULL),
  (5, 2, 1, 6, 'done', NULL, 'd', NULL, NULL);
INSERT INTO metrics VALUES(0, 'output_throughput', 100), (1, 'output_throughput', 103),
  (2, 'output_throughput', 20), (3, 'output_throughput', 20), (0, 'p99_ttft_ms', 7);
INSERT INTO oom VALUES(5, 'startup', 1, 0), (0, 'thrash', 2, 1.5), (1, 'thrash', 3, 2.5);
)";

class StudyFile {
 public:
  explicit StudyFile(const std::string& sql) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path().c_str(), &database) == SQLITE_OK);
    REQUIRE(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    REQUIRE(sqlite3_close(database) == SQLITE_OK);
  }
  [[nodiscard]] std::string path() const { return folder_.path() + "/study.db"; }

 private:
  TempFolder folder_;
};

Json rates() { return study_data(StudyFile(std::string(kTables) + kRates).path()); }

}  // namespace

TEST_CASE("axes are what was varied, numbers in their order") {
  const Json data = rates();
  REQUIRE(data["axes"].size() == 2);
  CHECK(data["axes"][0]["path"] == "engine.name");
  CHECK(data["axes"][0]["values"] == Json::parse(R"(["vllm", "<b>"])"));
  CHECK(data["axes"][1]["path"] == "workload.rate");
  CHECK(data["axes"][1]["values"] == Json::parse("[2, 4, 10]"));
  CHECK(data["points"] == Json::parse("[[0, 2], [1, 0], [0, 1]]"));
}

TEST_CASE("metrics are means over replications, with the lowest and the highest") {
  const Json data = rates();
  CHECK(data["replications"] == 2);
  const Json& throughput = data["values"]["output_throughput"];
  CHECK(throughput["mean"] == Json::parse("[101.5, 20.0, null]"));
  CHECK(throughput["low"] == Json::parse("[100.0, 20.0, null]"));
  CHECK(throughput["high"] == Json::parse("[103.0, 20.0, null]"));
  // Withheld in one replication: of the other one.
  CHECK(data["values"]["p99_ttft_ms"]["mean"] == Json::parse("[7.0, null, null]"));
  CHECK(data["metrics"] == Json::parse(R"(["output_throughput", "p99_ttft_ms"])"));
}

TEST_CASE("each point says what failed, was not stationary or ran out of memory") {
  const Json data = rates();
  CHECK(data["status"][0] == Json::parse(R"({"done": 2, "failed": 0, "not_stationary": 1})"));
  CHECK(data["status"][2] == Json::parse(R"({"done": 1, "failed": 1, "not_stationary": 0})"));
  CHECK(data["oom"] == Json::parse(R"([{"thrash": 5}, {}, {"startup": 1}])"));
  CHECK(data["errors"] == Json::parse(R"([[4, 2, "no such model"]])"));
  REQUIRE(data["warnings"].size() == 1);
  CHECK(data["warnings"][0]["value"] == "careful");
  CHECK(data["warnings"][0]["points"] == Json::parse("[0, 1]"));
}

TEST_CASE("searches stand with the rows of their points, also where no point has runs") {
  const std::string sql =
      "UPDATE meta SET value = '2' WHERE key = 'schema_version';"
      "INSERT INTO parameters VALUES(0, 'model', '\"a\"'), (2, 'model', '\"b\"');"
      "CREATE TABLE searches(search INTEGER, point INTEGER, name TEXT, kind TEXT, value REAL, "
      "low REAL, high REAL, status TEXT, detail TEXT);";
  const Json data = study_data(
      StudyFile(kTables + sql +
                "INSERT INTO searches VALUES(0, 2, 'rate', 'max_request_rate', 12.5, 12.5, NULL, "
                "'all_pass', '{\"path\": \"p\"}')")
          .path());
  CHECK(data["points"].size() == 2);
  CHECK(data["searches"] == Json::parse(R"([{"name": "rate", "kind": "max_request_rate", "row": 1,
    "value": 12.5, "low": 12.5, "high": null, "status": "all_pass", "detail": {"path": "p"}}])"));
  const StudyFile broken(kTables + sql +
                         "INSERT INTO searches VALUES(0, 0, 'rate', 'k', 1, 1, 2, 'found', '[')");
  CHECK_THROWS_WITH(study_data(broken.path()),
                    Contains("table searches, rate of point 0: detail is not a JSON object"));
}

TEST_CASE("a study of the version before searches has none") {
  CHECK(rates()["searches"] == Json::array());
}

TEST_CASE("of a large study the first metrics stay") {
  std::string sql = std::string(kTables) + "BEGIN;";
  for (int run = 0; run < 3000; ++run) {
    sql += fmt::format(
        "INSERT INTO parameters VALUES({0}, 'rate', '{0}');"
        "INSERT INTO runs VALUES({0}, {0}, 0, 1, 'done', NULL, 'd', 1, NULL);",
        run);
  }
  for (int metric = 0; metric < 200; ++metric) {
    sql += fmt::format("INSERT INTO metrics SELECT run, 'z{:03}', run FROM runs;", metric);
  }
  sql += "INSERT INTO metrics SELECT run, 'output_throughput', run FROM runs; COMMIT;";
  const Json data = study_data(StudyFile(sql).path());
  CHECK(data["metrics"].size() == kStudyNumbers / 3000);
  CHECK(data["metrics"][0] == "output_throughput");
  CHECK(data["metrics"].size() + data["left_out"].size() == 201);
  CHECK(data.dump().size() < 4'000'000);
}

TEST_CASE("what is no study of this version is refused") {
  const TempFolder folder;
  CHECK_THROWS_WITH(study_data(folder.path() + "/none.db"), Contains("no such file"));
  folder.write("text.db", "not a database, but long enough for a header");
  CHECK_THROWS_WITH(study_data(folder.path() + "/text.db"), Contains("text.db: not a database"));
  CHECK_THROWS_WITH(study_data(StudyFile("CREATE TABLE other(x)").path()),
                    Contains("no such table: meta"));
  CHECK_THROWS_WITH(study_data(StudyFile("CREATE TABLE meta(key, value)").path()),
                    Contains("no schema_version"));
  CHECK_THROWS_WITH(study_data(StudyFile("CREATE TABLE meta(key, value);"
                                         "INSERT INTO meta VALUES('schema_version', '3')")
                                   .path()),
                    Contains("schema version 3: this program reads versions 1 and 2"));
  CHECK_THROWS_WITH(study_data(StudyFile(std::string(kTables) + "DROP TABLE metrics").path()),
                    Contains("no such table: metrics"));
  CHECK_THROWS_WITH(study_data(StudyFile(std::string(kTables) +
                                         "INSERT INTO parameters VALUES(0, 'a.b', '{oops')")
                                   .path()),
                    Contains("point 0, a.b: not a JSON value: {oops"));
}

TEST_CASE("a database that was cut off is refused") {
  const StudyFile whole(std::string(kTables) + kRates);
  std::ifstream in(whole.path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const TempFolder folder;
  folder.write("cut.db", bytes.substr(0, bytes.size() / 2));
  CHECK_THROWS_AS(study_data(folder.path() + "/cut.db"), ConfigError);
}

TEST_CASE("warnings on too few requests stand once, with the range of their numbers") {
  const std::string few = " finished requests are unreliable: a percentile p needs 1 / (1 - p)";
  const auto warned = [](int run, int point, const std::string& text) {
    return fmt::format(
        "INSERT INTO runs VALUES({}, {}, 0, 1, 'done', NULL, 'd', 1, '{{\"warnings\": "
        "[\"{}\"]}}');",
        run, point, text);
  };
  std::string sql =
      "INSERT INTO parameters VALUES(0, 'rate', '1'), (1, 'rate', '2'),"
      "(2, 'rate', '3'), (3, 'rate', '4');";
  sql += warned(0, 0, "p99 of 80" + few) + warned(1, 1, "p99 of 12" + few) +
         warned(2, 2, "p99 of 47" + few) + warned(3, 3, "p95 and p99 of 9" + few);
  const Json data = study_data(StudyFile(kTables + sql).path());
  REQUIRE(data["warnings"].size() == 2);
  CHECK(data["warnings"][0]["value"] == "p95 and p99 of 9" + few);
  CHECK(data["warnings"][1]["value"] == "p99 of 12 to 80" + few);
  CHECK(data["warnings"][1]["points"] == Json::parse("[0, 1, 2]"));
}

}  // namespace headroom::study_data_test
