#include "sim/traces/trace_convert.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/json/trace_json.hpp"
#include "sim/report/text/trace_report.hpp"
#include "sim/traces/mooncake_writer.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::trace_convert_test {
namespace {

namespace fs = std::filesystem;

const fs::path kTraces = fs::path(HEADROOM_SHARED_DIR) / "traces";

std::string converted(const std::string& path, TraceTarget target = TraceTarget::headroom) {
  std::string text;
  (void)convert_trace(path, target, [&text](std::string_view piece) { text += piece; });
  return text;
}

std::string conversion_error(const std::string& content, TraceTarget target) {
  const TempFile file(content);
  std::string text;
  try {
    (void)convert_trace(file.path(), target, [&text](std::string_view piece) { text += piece; });
  } catch (const DataError& error) {
    CHECK(text.empty());  // nothing is written before the rows are known to be fit
    const std::string what = error.what();
    return what.starts_with(file.path()) ? what.substr(file.path().size()) : what;
  }
  return "no error";
}

// TRACES.md 4.1: lines "time,prompt,output" of rows in order of time from the earliest on.
std::string canonical_sha256(const std::string& path) {
  TraceFile file(path);
  std::string text;
  TraceRecord record;
  while (file.next(record)) {
    text += std::to_string(record.time_ns) + ',' + std::to_string(record.prompt_tokens) + ',' +
            std::to_string(record.output_tokens) + '\n';
  }
  return sha256_hex(text);
}

// All that `describe` says, but for the name, the format, the file's own clock and its order.
std::string description(const std::string& path) {
  TraceProfile profile = profile_trace(path);
  profile.file.clear();
  profile.format.clear();
  profile.backward_steps = 0;
  profile.in_memory = false;
  profile.warning.clear();     // of the file's last line
  profile.session_turns = {};  // a converted row says itself what it counts
  profile.all.arrivals.first_ns = 0;
  profile.left.arrivals.first_ns = 0;
  return trace_profile_json(profile);
}

TEST_CASE("published traces keep their canonical hash and description when converted", "[large]") {
  if (!fs::exists(kTraces / "golden.json")) {
    WARN("skipped: no golden values on this machine");
    return;
  }
  std::ifstream golden_file(kTraces / "golden.json");
  const nlohmann::json golden = nlohmann::json::parse(golden_file);
  for (const auto& [name, values] : golden.items()) {
    const std::string path = (kTraces / name).string();
    if (!values.is_object()) continue;
    INFO(name);
    if (!fs::exists(path)) {
      WARN("skipped: " << name << " is not on this machine");
      continue;
    }
    const TempFile copy(converted(path));
    CHECK(canonical_sha256(copy.path()) == values.at("canonical_sha256"));
    CHECK(description(copy.path()) == description(path));
    CHECK(converted(copy.path()) == converted(path));  // it is in order and rebased already
  }
}

TEST_CASE("samples of all formats have the same description when converted") {
  int files = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(HEADROOM_SOURCE_DIR) / "tests/data/traces")) {
    const fs::path& path = entry.path();
    const bool is_trace =
        path.extension() == ".csv" || path.extension() == ".jsonl" || path.extension() == ".json";
    if (!is_trace) continue;
    ++files;
    INFO(path.filename());
    const TempFile copy(converted(path.string()));
    CHECK(description(copy.path()) == description(path.string()));
  }
  CHECK(files > 0);
}

TEST_CASE("a converted file has the columns that its rows need, and times from the first on") {
  const TempFile azure(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:01.5,10,5\n"
      "2024-05-12 00:00:02,20,0\n");
  CHECK(converted(azure.path()) ==
        "arrival_ns,prompt_tokens,output_tokens\n0,10,5\n500000000,20,0\n");
  const TempFile lengths(
      "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n1,2,3,0.5\n");
  CHECK(converted(lengths.path()) == "arrival_ns,prompt_tokens,output_tokens\n,1,2\n");
}

TEST_CASE("a file out of order is written sorted, rows of equal time in the order of the file") {
  const TempFile file(
      "arrival_ns,prompt_tokens,output_tokens,class\n70,1,1,a\n50,2,1,\n70,3,0,\"b,c\"\n60,4,1,"
      "a\n");
  std::string text;
  const Conversion done = convert_trace(file.path(), TraceTarget::headroom,
                                        [&text](std::string_view piece) { text += piece; });
  CHECK(
      text ==
      "arrival_ns,prompt_tokens,output_tokens,class\n0,2,1,\n10,4,1,a\n20,1,1,a\n20,3,0,\"b,c\"\n");
  CHECK(done.rows == 4);
  CHECK(done.backward_steps == 2);
  CHECK(done.left_out.empty());
}

TEST_CASE("rows without a time stay behind the row of their session when a file is sorted") {
  const TempFile file(
      "arrival_ns,prompt_tokens,output_tokens,session,after_previous_ns\n"
      "90,1,1,7,\n,2,1,7,5\n40,3,1,8,\n,4,1,8,6\n");
  CHECK(converted(file.path()) ==
        "arrival_ns,prompt_tokens,output_tokens,session,after_previous_ns\n"
        "0,3,1,8,\n,4,1,8,6\n50,1,1,7,\n,2,1,7,5\n");
}

// --- Mooncake ------------------------------------------------------------------------------------

TEST_CASE("the published Mooncake trace is written as it was, also by way of Headroom's table") {
  const fs::path path = kTraces / "mooncake-fast25/conversation_trace.jsonl";
  if (!fs::exists(path)) {
    WARN("skipped: the trace is not on this machine");
    return;
  }
  std::ifstream in(path, std::ios::binary);
  const std::string original(std::istreambuf_iterator<char>(in), {});
  CHECK(converted(path.string(), TraceTarget::mooncake) == original);
  const TempFile table(converted(path.string()));
  CHECK(converted(table.path(), TraceTarget::mooncake) == original);
}

TEST_CASE("Mooncake: decimals of times, sessions and delays are kept") {
  const std::string text =
      "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [3, 9]}\n"
      "{\"timestamp\": 0.000001, \"input_length\": 512, \"output_length\": 0, \"hash_ids\": [3], "
      "\"session_id\": \"7\", \"context_mode\": \"message_array_with_responses\"}\n"
      "{\"timestamp\": 1500.25, \"input_length\": 0, \"output_length\": 1}\n"
      "{\"input_length\": 4, \"output_length\": 2, \"session_id\": \"7\", "
      "\"context_mode\": \"message_array_with_responses\", \"delay\": 40.5}\n";
  const TempFile table(
      "arrival_ns,prompt_tokens,output_tokens,session,after_previous_ns,prefix\n"
      "1000,600,5,,,3:512|9:88\n1001,512,0,7,,3:512\n1500251000,0,1,,,\n,4,2,7,40500000,\n");
  CHECK(converted(table.path(), TraceTarget::mooncake) == text);
  // Read again, all but the name of the session is the same.
  std::vector<std::string> before = records_of(converted(table.path()));
  std::vector<std::string> after = records_of(text);
  REQUIRE(before.size() == after.size());
  CHECK(before[0] == after[0]);
  CHECK(before[2] == after[2]);
  CHECK(after[3].ends_with(" after=40500000"));
}

TEST_CASE("Mooncake: what it has no place for is named, and what it would change is refused") {
  const std::string columns = "arrival_ns,prompt_tokens,output_tokens,";
  const TempFile more(columns + "max_tokens,priority,class,measured_ttft_ns\n0,5,5,9,1,chat,3\n");
  std::string text;
  const Conversion done = convert_trace(more.path(), TraceTarget::mooncake,
                                        [&text](std::string_view piece) { text += piece; });
  CHECK(done.left_out ==
        std::vector<std::string>{"max_tokens", "priority", "class", "measured_ttft_ns"});
  CHECK(text == "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 5}\n");

  const auto refused = [](const std::string& content) {
    return conversion_error(content, TraceTarget::mooncake);
  };
  CHECK(refused(columns + "prefix\n0,40,1,\n0,40,1,1:16|2:24\n") ==
        ": row 2: piece 1 of 2 of its prompt has 16 tokens, but Mooncake needs 512 in each but the "
        "last");
  CHECK(
      refused(columns + "prefix\n0,700,1,1:700\n") ==
      ": row 1: piece 1 of 1 of its prompt has 700 tokens, but Mooncake needs 512 in each but the "
      "last");
  CHECK(refused(columns + "prefix\n0,700,1,1:512\n") ==
        ": row 1: 512 of its 700 prompt tokens have identities, but Mooncake needs all of them");
  CHECK(
      refused(columns + "prefix\n0,7,1,9223372036854775808:7\n") ==
      ": row 1: piece 1 of its prompt has the id 9223372036854775808, but Mooncake needs ids below "
      "2^63");
  CHECK_THAT(refused("session_time_ns,prompt_tokens,output_tokens,session\n0,5,5,1\n"),
             Catch::StartsWith(": row 1: times count from the start of each session"));
  CHECK_THAT(refused(columns + "session\n,5,5,1\n,5,5,1\n"),
             Catch::StartsWith(": row 2: a later turn of a session with neither a time nor a gap"));
}

TEST_CASE("targets go by name, empty files and bad rows are refused before anything is written") {
  CHECK(trace_target("headroom") == TraceTarget::headroom);
  CHECK(trace_target("mooncake") == TraceTarget::mooncake);
  const test::About unknown = test::about([] { return trace_target("moncake"); });
  CHECK(unknown.kind == ErrorKind::unknown);
  CHECK(unknown.complaint.origin == "--to moncake");
  CHECK(unknown.complaint.nearest == "mooncake");
  CHECK(conversion_error("arrival_ns,prompt_tokens,output_tokens\n", TraceTarget::headroom) ==
        ": has no rows");
  CHECK_THAT(conversion_error("arrival_ns,prompt_tokens,output_tokens\n1,2,3\n2,x,3\n",
                              TraceTarget::headroom),
             Catch::StartsWith(":3: prompt_tokens is 'x'"));
}

}  // namespace
}  // namespace headroom::trace_convert_test
