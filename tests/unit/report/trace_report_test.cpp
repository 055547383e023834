#include "sim/report/text/trace_report.hpp"
#include "sim/report/json/trace_json.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"

namespace headroom::trace_report_test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using Json = nlohmann::ordered_json;

const fs::path kSource = HEADROOM_SOURCE_DIR;

std::vector<std::string> samples() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(kSource / "tests/data/traces")) {
    const std::string kind = entry.path().extension().string();
    if (kind == ".csv" || kind == ".jsonl" || kind == ".json")
      paths.push_back(entry.path().string());
  }
  REQUIRE_FALSE(paths.empty());
  return paths;
}

void check_width(const std::string& text) {
  std::istringstream lines(text);
  std::string longest;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > longest.size()) longest = line;
  }
  INFO(longest);
  CHECK(longest.size() <= kTraceWidth);
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void collect_keys(const Json& json, std::vector<std::string>& keys) {
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) keys.push_back(key);
    if (value.is_structured()) collect_keys(value, keys);
  }
}

TEST_CASE("descriptions and checks of every format fit 80 columns") {
  for (const std::string& path : samples()) {
    INFO(path);
    check_width(trace_profile_text(profile_trace(path)));
    check_width(trace_check_text(check_trace(path)));
  }
}

// Long numbers everywhere.
TEST_CASE("the description of a huge trace fits 80 columns") {
  const std::string tokens = "2147483647";
  std::string content = "arrival_ns,prompt_tokens,output_tokens,class,session\n";
  for (int i = 0; i < 300; ++i) {
    content += std::to_string(std::int64_t{i} * 30'000'000'000'000'000) + "," + tokens + "," +
               (i % 2 == 0 ? tokens : "0") + ",a class with a long name " + std::to_string(i) +
               "," + std::to_string(i / 2) + "\n";
  }
  const TempFile file(content);
  const TraceProfile profile = profile_trace(file.path());
  check_width(trace_profile_text(profile));
  CHECK_THAT(trace_profile_text(profile), Contains("and 280 more"));
  check_width(trace_check_text(check_trace(file.path())));
}

TEST_CASE("every key of the JSON is documented in the header") {
  const std::string header = bytes_of(kSource / "sim/report/json/trace_json.hpp");
  for (const std::string& path : samples()) {
    std::vector<std::string> keys;
    collect_keys(Json::parse(trace_profile_json(profile_trace(path))), keys);
    collect_keys(Json::parse(trace_check_json(check_trace(path))), keys);
    for (const std::string& key : keys) {
      INFO(key);
      CHECK_THAT(header, Contains(key));
    }
  }
}

TEST_CASE("the JSON of a description has the profile's numbers, null where there are none") {
  const Json json = Json::parse(trace_profile_json(profile_trace(sample_path("headroom.csv"))));
  CHECK(json["file"] == "headroom.csv");
  CHECK(json["clock"] == "absolute");
  CHECK(json["backward_step_rows"] == 1);
  CHECK(json["held_in_memory"] == true);
  CHECK(json["all"]["rows"] == 6);
  CHECK(json["all"]["input"]["sum_tokens"] == 440);
  CHECK(json["all"]["arrivals"]["span_ns"] == 1'750'000'000);
  CHECK(json["all"]["arrivals"]["peak_to_mean"].is_null());
  // Prompts of 0, 12, 16, 40, 72, 300 tokens.
  CHECK(json["all"]["input"]["rows_by_tokens"].size() == 6);
  CHECK(json["all"]["input"]["rows_by_tokens"][1] ==
        Json({{"from_tokens", 8}, {"to_tokens", 15}, {"rows", 1}}));
  CHECK(json["without_zero_tokens"]["rows"] == 5);
  CHECK(json["zero_token_rows"]["without_both_rows"] == 1);
  CHECK(json["classes"].size() == 4);
  CHECK(json["reservations"]["rules"].size() == 6);
  const Json lengths = Json::parse(trace_profile_json(profile_trace(sample_path("sharegpt.json"))));
  CHECK(lengths["clock"] == "none");
  CHECK(lengths["all"]["arrivals"].is_null());
  CHECK(lengths["sessions"].is_null());
  CHECK(lengths["prefix"].is_null());
  CHECK(lengths["measured"]["ttft"].is_null());
}

TEST_CASE("the text of a description says what was done and what is odd") {
  const std::string text = trace_profile_text(profile_trace(sample_path("headroom.csv")));
  CHECK_THAT(text,
             Contains("1 row earlier than the previous one: read again and sorted in memory"));
  CHECK_THAT(text, Contains("0 without prompt, 0 without output, 1 without both"));
  CHECK_THAT(text, Contains("classes     (none) 1, batch, \"night\" 1, chat 3, failed 1\n"));
  CHECK_THAT(text, Contains("sessions    2 with 3 rows; turns: 1 in the median, 2 at most\n"));
  CHECK_THAT(text, Contains("closed loop 1 row sent some time after the previous answer"));
  CHECK_THAT(text, Contains("TTFT"));
  CHECK_THAT(trace_profile_text(profile_trace(sample_path("weka.jsonl"))),
             Contains("sessions need an arrival"));
}

TEST_CASE("bars of the histogram are as long as their share of the largest") {
  // Prompts: 3 of 8 .. 15 tokens, 1 of 16 .. 31; outputs: all 4 of one token.
  const TempFile file("num_prefill_tokens,num_decode_tokens\n8,1\n9,1\n15,1\n16,1\n");
  const std::string text = trace_profile_text(profile_trace(file.path()));
  const std::string none(23, ' ');
  CHECK_THAT(
      text, Contains("            1   " + none + "   0.0%  " + std::string(23, '#') + " 100.0%\n"));
  CHECK_THAT(text, Contains("            8   " + std::string(17, '#') + std::string(6, ' ') +
                            "  75.0%  " + none + "   0.0%\n"));
  CHECK_THAT(text, Contains("           16   " + std::string(6, '#') + std::string(17, ' ') +
                            "  25.0%  " + none + "   0.0%\n"));
}

TEST_CASE("a check says where the first odd row of a kind stands") {
  const TraceCheck check = check_trace(sample_path("headroom.csv"));
  const std::string text = trace_check_text(check);
  CHECK_THAT(text, Contains("rows            6, 5 usable\n"));
  CHECK_THAT(text, Contains("backward steps  1 row, first row 6 (line 7)\n"));
  CHECK_THAT(text, Contains("no prompt       none\n"));
  CHECK_THAT(text, Contains("check           ok\n"));
  const Json json = Json::parse(trace_check_json(check));
  CHECK(json["usable_rows"] == 5);
  CHECK(json["ties"] == Json({{"rows", 1}, {"first_row", 4}, {"first_line", 5}}));
  CHECK(json["without_prompt"]["first_row"].is_null());
}

TEST_CASE("names that would disturb a terminal are shown without control characters") {
  const TempFile file("arrival_ns,prompt_tokens,output_tokens,class\n0,1,1,\x1b[31mred\n");
  CHECK_THAT(trace_profile_text(profile_trace(file.path())), Contains("\\x1b[31mred 1"));
  const TempFile bytes("arrival_ns,prompt_tokens,output_tokens,class\n0,1,1,\xff\n");
  CHECK(Json::parse(trace_profile_json(profile_trace(bytes.path())))["classes"].size() == 1);
}

TEST_CASE("a replaced file changes only when it is complete, and leaves nothing else behind") {
  const fs::path folder =
      fs::temp_directory_path() / ("headroom_replaced_" + std::to_string(::getpid()));
  fs::create_directory(folder);
  const fs::path target = folder / "out.csv";
  std::ofstream(target) << "before";
  {
    ReplacedFile file(target.string());
    file.write("half");
  }
  CHECK(bytes_of(target) == "before");
  fs::create_symlink("out.csv", folder / "link.csv");
  ReplacedFile file((folder / "link.csv").string());
  file.write("whole");
  CHECK(bytes_of(target) == "before");
  file.publish();
  CHECK(bytes_of(target) == "whole");
  CHECK(fs::is_symlink(folder / "link.csv"));
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2);
  fs::remove_all(folder);
}

TEST_CASE("a file that cannot be written is named as the user knows it") {
  CHECK_THROWS_WITH(ReplacedFile("/no/such/folder/x.csv"),
                    "/no/such/folder/x.csv: cannot write: No such file or directory");
  ReplacedFile full("/dev/full");
  full.write("text");
  CHECK_THROWS_WITH(full.publish(), "/dev/full: cannot write: No space left on device");
}

}  // namespace
}  // namespace headroom::trace_report_test
