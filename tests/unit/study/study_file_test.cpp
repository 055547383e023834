#include "sim/study/sweep/study_file.hpp"
#include "tests/support/about.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_folder.hpp"

namespace headroom::study_file_test {

namespace {

Study study_of(const std::string& rest, const std::vector<std::string>& set = {}) {
  return parse_study(parse_json(R"({"base": "demo", )" + rest + "}", "s.json"), "", set);
}

test::About error_of(const std::string& rest, const std::vector<std::string>& set = {}) {
  return test::about([&] { return study_of(rest, set); });
}

test::About axis_error(const std::string& axis) { return error_of(R"("vary": [)" + axis + "]"); }

std::string values_of(const std::string& axis) {
  return Json(study_of(R"("vary": [)" + axis + "]").groups.at(0).at(0).values).dump();
}

constexpr const char* kTwoAxes =
    R"("vary": [{"path": "engine.max_num_seqs", "values": [8, 64]},
                {"path": "engine.name", "values": ["vllm", "tgi"]}], )";

test::About condition_error(const std::string& condition) {
  return error_of(std::string(kTwoAxes) + R"("skip_if": [)" + condition + "]");
}

}  // namespace

TEST_CASE("a list gives its values, whatever they are") {
  CHECK(values_of(R"({"path": "engine", "values": ["vllm", {"name": "tgi"}]})") ==
        R"(["vllm",{"name":"tgi"}])");
}

TEST_CASE("a path in pointer spelling is the dotted one") {
  const Study study = study_of(R"("vary": [{"path": "/engine/max_num_seqs", "values": [1]}])");
  CHECK(study.groups[0][0].path == "engine.max_num_seqs");
}

TEST_CASE("a range goes from its first value in steps, and its end is included when it is met") {
  const auto range = [](const std::string& text) {
    return values_of(R"({"path": "engine.max_num_seqs", "range": )" + text + "}");
  };
  CHECK(range(R"({"from": 1, "to": 10, "step": 3})") == "[1,4,7,10]");
  CHECK(range(R"({"from": 1, "to": 9, "step": 3})") == "[1,4,7]");
  CHECK(range(R"({"from": 5, "to": 5, "step": 1})") == "[5]");
  // 0.3 is not 3 x 0.1 in binary; what is written is meant.
  CHECK(range(R"({"from": 0.1, "to": 0.3, "step": 0.1})") == "[0.1,0.2,0.3]");
}

TEST_CASE("a log range has one ratio, 6 digits, and whole numbers where the option is one") {
  CHECK(values_of(R"({"path": "workload.arrivals.request_rate",
                      "log_range": {"from": 1, "to": 100, "points": 5}})") ==
        "[1.0,3.16228,10.0,31.6228,100.0]");
  CHECK(values_of(R"({"path": "engine.max_num_seqs",
                      "log_range": {"from": 1, "to": 64, "points": 4}})") == "[1,4,16,64]");
}

TEST_CASE("mistakes in axes are named with their place") {
  CHECK(error_of(R"("vary": 3)") == test::value_at("/vary"));
  const test::About path = axis_error(R"({"path": "engine.max_num_seq", "values": [1]})");
  CHECK(path == test::unknown_at("/vary/0/path"));
  CHECK(path.complaint.nearest == "engine.max_num_seqs");
  CHECK(axis_error(R"({"values": [1]})") == test::missing_at("/vary/0/path"));
  CHECK(axis_error(R"({"path": "model", "values": []})") == test::value_at("/vary/0/values"));
  CHECK(axis_error(R"({"path": "model"})") == test::missing_at("/vary/0"));
  CHECK(axis_error(R"({"path": "model", "value": ["a"]})") == test::unknown_at("/vary/0/value"));
  CHECK(axis_error(R"({"path": "seed", "values": [1]})") == test::value_at("/vary/0/path"));
  CHECK(axis_error(R"({"path": "engine.block_size", "values": [16, 8, 16.0]})") ==
        test::value_at("/vary/0"));
  CHECK(
      axis_error(R"({"path": "engine.max_num_seqs", "range": {"from": 2, "to": 1, "step": 1}})") ==
      test::value_at("/vary/0/range"));
  CHECK(
      axis_error(R"({"path": "engine.max_num_seqs", "range": {"from": 1, "to": 2, "step": 0}})") ==
      test::value_at("/vary/0/range/step"));
  CHECK(axis_error(R"({"path": "engine.max_num_seqs", "range": {"from": 1, "to": 2}})") ==
        test::missing_at("/vary/0/range/step"));
  CHECK(axis_error(
            R"({"path": "engine.max_num_seqs", "range": {"from": 1, "to": 1e9, "step": 1}})") ==
        test::value_at("/vary/0/range"));
  CHECK(axis_error(R"({"path": "engine.max_num_seqs",
                       "log_range": {"from": 1, "to": 3, "points": 9}})") ==
        test::value_at("/vary/0"));
  CHECK(axis_error(R"({"path": "engine.max_num_seqs",
                       "log_range": {"from": 0, "to": 3, "points": 2}})") ==
        test::value_at("/vary/0/log_range/from"));
  CHECK(axis_error(R"({"path": "model", "values": ["a"]}, {"path": "/model", "values": ["b"]})") ==
        test::conflict_at("/vary/1"));
  CHECK(axis_error(R"({"path": "engine.name", "values": ["tgi"]},
                      {"path": "engine", "values": ["vllm"]})") == test::conflict_at("/vary/1"));
}

TEST_CASE("zipped axes advance together and must be equally long") {
  const Study study = study_of(R"("vary": [{"zip": [{"path": "model", "values": ["a", "b"]},
                                                    {"path": "device", "values": ["x", "x"]}]}])");
  REQUIRE(study.groups.size() == 1);
  CHECK(study.groups[0].size() == 2);
  CHECK(axis_error(R"({"zip": [{"path": "model", "values": ["a", "b"]},
                               {"path": "device", "values": ["x"]}]})") ==
        test::conflict_at("/vary/0/zip/1"));
  CHECK(axis_error(R"({"zip": [{"path": "model", "values": ["a"]}]})") ==
        test::value_at("/vary/0/zip"));
  CHECK(axis_error(R"({"zip": [{"path": "model", "values": ["a", "a"]},
                               {"path": "device", "values": ["x", "x"]}]})") ==
        test::value_at("/vary/0"));
}

TEST_CASE("conditions compare varied paths with values of their kind only") {
  const test::About path = condition_error(R"({"engine.max_num_seq": 8})");
  CHECK(path == test::unknown_at("/skip_if/0/engine.max_num_seq"));
  CHECK(path.complaint.nearest == "engine.max_num_seqs");
  CHECK(condition_error(R"({"engine.max_num_seqs": {"=>": 8}})") ==
        test::unknown_at("/skip_if/0/engine.max_num_seqs/=>"));
  CHECK(condition_error(R"({"engine.max_num_seqs": {">": "8"}})") ==
        test::value_at("/skip_if/0/engine.max_num_seqs/>"));
  CHECK(condition_error(R"({"engine.name": {">": 8}})") ==
        test::value_at("/skip_if/0/engine.name/>"));
  CHECK(condition_error(R"({"engine.name": 8})") == test::value_at("/skip_if/0/engine.name"));
  CHECK(condition_error(R"({"engine.name": {"in": "vllm"}})") ==
        test::value_at("/skip_if/0/engine.name/in"));
  CHECK(condition_error(R"({"engine.max_num_seqs": {">": {"axis": "model"}}})") ==
        test::unknown_at("/skip_if/0/engine.max_num_seqs/>/axis"));
  CHECK(condition_error("{}") == test::value_at("/skip_if/0"));
  CHECK(error_of(std::string(kTwoAxes) + R"("skip_if": [])") == test::value_at("/skip_if"));
}

TEST_CASE("replications and seeds are checked") {
  CHECK(study_of(R"("replications": 3)").replications == 3);
  CHECK(study_of(R"("seeds": [4, 9])").replications == 2);
  CHECK(error_of(R"("replications": 0)") == test::value_at("/replications"));
  CHECK(error_of(R"("replications": 2.5)") == test::value_at("/replications"));
  CHECK(error_of(R"("seeds": [1, 2, 1])") == test::value_at("/seeds/2"));
  CHECK(error_of(R"("seeds": [1], "replications": 1)") == test::conflict_at("/seeds"));
}

TEST_CASE("a study without a base, or with one that is not there, is refused") {
  const auto error = [](const std::string& text) {
    return test::about([&] { return parse_study(parse_json(text, "s.json"), "", {}); });
  };
  CHECK(error("{}") == test::missing_at("/base"));
  CHECK(error(R"({"base": 1})") == test::value_at("/base"));
  CHECK(error(R"({"base": "dem0"})") == test::unreadable_at("/base"));
  CHECK(error(R"({"base": "demo", "varys": []})") == test::unknown_at("/varys"));
}

TEST_CASE("a flag is laid over the base, unless the study varies that") {
  const std::string axis = R"("vary": [{"path": "engine.max_num_seqs", "values": [1]}])";
  const Study plain = study_of(axis);
  const Study set = study_of(axis, {"workload.num_requests=5"});
  CHECK(set.base.root["workload"]["num_requests"] == 5);
  CHECK(set.sha256 != plain.sha256);
  const test::About varied = error_of(axis, {"engine.max_num_seqs=4"});
  CHECK(varied.kind == ErrorKind::no_effect);
  CHECK(varied.complaint.origin == "--set engine.max_num_seqs=4");
  // By the end of its path it is the same option.
  CHECK(error_of(axis, {"max_num_seqs=4"}).kind == ErrorKind::no_effect);
  const test::About seed = error_of(R"("seeds": [1])", {"seed=4"});
  CHECK(seed.kind == ErrorKind::no_effect);
  CHECK(seed.complaint.origin == "--set seed=4");
}

TEST_CASE("what a study is called and says for people does not make it another study") {
  const Study a = study_of(R"("name": "x", "description": "one")");
  const Study b = study_of(R"("name": "x", "description": "two")");
  CHECK(a.sha256 == b.sha256);
  CHECK(study_of(R"("name": "x", "replications": 2)").sha256 != a.sha256);
}

TEST_CASE("a base file is found beside the study, and files it names beside itself") {
  const TempFolder folder;
  folder.write("base.json", R"({"model": "llama-3.1-8b"})");
  folder.write("study.json", R"({"base": "base.json"})");
  const Study study = load_study(folder.path() + "/study.json", {});
  CHECK(study.name == "study");
  CHECK(study.directory == folder.path());
  CHECK(study.base.root["model"] == "llama-3.1-8b");
}

TEST_CASE("the published schema of studies is up to date") {
  std::ifstream file(HEADROOM_SOURCE_DIR "/scenarios/study.schema.json");
  std::stringstream committed;
  committed << file.rdbuf();
  // Refresh with: headroom list study-schema > scenarios/study.schema.json
  CHECK(committed.str() == study_schema().dump(2) + "\n");
}

}  // namespace headroom::study_file_test
