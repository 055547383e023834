#include "sim/report/page/run_files.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/support/about.hpp"
#include "tests/unit/report/written_run.hpp"

namespace headroom::run_files_test {
using Catch::Contains;

namespace {

using Change = std::function<std::string(std::string)>;

// What reading complains about after `change` of one file's text.
test::About about_reading(const WrittenRun& run, const std::string& file, const Change& change) {
  const std::string before = run.text(file);
  run.overwrite(file, change(before));
  test::About about = test::about([&] { return read_run(run.path()); });
  run.overwrite(file, before);
  return about;
}

// What reading says of a row after that.
std::string refused(const WrittenRun& run, const std::string& file, const Change& change) {
  const std::string before = run.text(file);
  run.overwrite(file, change(before));
  std::string message = "nothing";
  try {
    static_cast<void>(read_run(run.path()));
  } catch (const DataError& error) {
    message = error.what();
  }
  run.overwrite(file, before);
  return message;
}

Change replaced(const std::string& what, const std::string& by) {
  return [=](std::string text) {
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
  };
}

std::string first_half(const std::string& text) { return text.substr(0, text.size() / 2); }

}  // namespace

TEST_CASE("what is no folder of a run is refused") {
  CHECK(test::about([] { return read_run("no/such/folder"); }) == test::unreadable_at(""));
  const std::string other = std::filesystem::temp_directory_path().string();
  const test::About about = test::about([&] { return read_run(other); });
  CHECK(about.complaint.origin == other);
  CHECK_THAT(about.complaint.problem, Contains("it has no summary.json"));
}

TEST_CASE("damaged result files are refused with file and place") {
  const WrittenRun run("damaged");
  for (const char* file : {"summary.json", "resolved.json"}) {
    const test::About about = about_reading(run, file, first_half);
    CHECK(about.kind == ErrorKind::unreadable);
    CHECK_THAT(about.complaint.origin, Contains(std::string(file) + ":"));  // line and column
  }
  CHECK_THAT(refused(run, "requests.csv", first_half), Contains("requests.csv"));
  CHECK_THAT(refused(run, "requests.csv", [](const std::string&) { return std::string(); }),
             Contains("requests.csv:") && Contains("no header line"));
  CHECK_THAT(refused(run, "requests.csv", replaced("finish_ns", "end_ns")),
             Contains("requests.csv:1: no column 'finish_ns'"));
  CHECK_THAT(refused(run, "requests.csv", replaced(",finished\n", ",done\n")),
             Contains("requests.csv:2") && Contains("outcome"));
  CHECK_THAT(refused(run, "requests.csv", replaced("\n0,0,0,", "\n0,0,x,")),
             Contains("requests.csv:2") && Contains("replica"));
  CHECK_THAT(refused(run, "timeline.csv", replaced(",interval\n", ",sometimes\n")),
             Contains("timeline.csv:2") && Contains("cause"));
  CHECK_THAT(refused(run, "timeline.csv", replaced("kv_used_tokens", "used")),
             Contains("timeline.csv:1: no column 'kv_used_tokens'"));
  CHECK_THAT(
      refused(run, "events.jsonl",
              [](const std::string&) {
                return std::string("{\"time_ns\":0,\"kind\":\"preempted\"}\n{\"time_ns\":1,");
              }),
      Contains("events.jsonl:2: not a JSON object"));
  CHECK_THAT(refused(run, "events.jsonl",
                     [](const std::string&) {
                       return std::string("{\"time_ns\":0,\"kind\":\"slept\"}\n");
                     }),
             Contains("events.jsonl:1: kind: expected one of") && Contains("preempted"));
}

TEST_CASE("a whole row that is missing is seen by the number of requests") {
  const WrittenRun run("short");
  CHECK_THAT(refused(run, "requests.csv",
                     [](const std::string& text) {
                       return text.substr(0, text.rfind('\n', text.size() - 2) + 1);
                     }),
             Contains("39 rows, but summary.json says that 40 requests arrived"));
}

TEST_CASE("a file of another shape names what is missing and who wrote it") {
  const WrittenRun run("other");
  const test::About key =
      about_reading(run, "summary.json", replaced("\"budget_bytes\"", "\"budget\""));
  CHECK(key == test::missing_at("/memory/budget_bytes"));
  CHECK_THAT(key.complaint.problem, Contains("written by headroom 1.2.3"));
  CHECK(about_reading(run, "summary.json",
                      replaced("\"preemptions\": 0", "\"preemptions\": \"0\"")) ==
        test::value_at("/preemptions"));
  const test::About list =
      about_reading(run, "summary.json", [](const std::string&) { return std::string("[]"); });
  CHECK(list.kind == ErrorKind::missing);
  CHECK_THAT(list.complaint.problem, Contains("not a result file of headroom"));
  CHECK(about_reading(run, "resolved.json", replaced("\"set_by\"", "\"by\"")) ==
        test::value_at("/values/~1name"));
  CHECK(about_reading(run, "resolved.json", replaced("\"/name\"", "\"/na~me\"")) ==
        test::no_error());
}

}  // namespace headroom::run_files_test
