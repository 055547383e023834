// Which of the formats made of JSON lines a file has.

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::json_formats_test {
namespace {

// All formats that claim the file, separated by spaces.
std::string formats_of(const std::string& path) {
  LineReader lines(path);
  const FileStart start = lines.start();
  std::string names;
  for (const TraceFormat& format : trace_formats()) {
    if (!format.recognises(start)) continue;
    names += (names.empty() ? "" : " ") + std::string(format.name);
  }
  return names;
}

std::string format_of(const std::string& content) {
  const TempFile file(content);
  return formats_of(file.path());
}

TEST_CASE("each made-up file of JSON lines has one format", "[workloads]") {
  CHECK(formats_of(sample_path("mooncake.jsonl")) == "mooncake");
  CHECK(formats_of(sample_path("bailian.jsonl")) == "bailian");
  CHECK(formats_of(sample_path("ragpulse/0_trace.jsonl")) == "ragpulse");
  CHECK(formats_of(sample_path("llmservingsim.jsonl")) == "llmservingsim");
  CHECK(formats_of(sample_path("apex.jsonl")) == "apex");
  CHECK(formats_of(sample_path("aibrix.jsonl")) == "aibrix");
}

TEST_CASE("a format is recognised with its keys in any order and any spacing", "[workloads]") {
  CHECK(format_of(R"({ "output_length" :1,"hash_ids" : [ ],"input_length" : 4})") == "mooncake");
  CHECK(format_of(R"({"text_input": "x", "output_length": 4})") == "mooncake");
  CHECK(format_of(R"({"session_id": "x", "messages": [], "output_length": 4})") == "mooncake");
  CHECK(format_of(R"({"input_length": 4, "hash_ids": [1], "chat_id": 3})") == "bailian");
  CHECK(format_of(R"({"sub_requests": [], "arrival_time_ns": 3})") == "llmservingsim");
  CHECK(format_of(R"({"requests": [], "timestamp": 3})") == "aibrix");
  CHECK(format_of("{\n  \"ContextTokens\": 1,\n  \"StartTimeOffset\": 3\n}") == "apex");
}

TEST_CASE("files of other kinds are none of the formats of JSON lines", "[workloads]") {
  CHECK(format_of("{}").empty());
  CHECK(format_of("[]").empty());
  CHECK(format_of("{\"").empty());
  CHECK(format_of(R"({"timestamp": 3})").empty());
  CHECK(format_of("input_length,output_length,timestamp\n1,2,3\n").empty());
  // A session with nested requests and block ids is another format's.
  const std::string nested = R"({"id": 1, "hash_id_scope": "local", "requests": [{"t": 0}]})";
  CHECK(format_of(nested).find("aibrix") == std::string::npos);
  CHECK(format_of(nested).find("mooncake") == std::string::npos);
  // Keys inside of a text are none.
  CHECK(format_of(R"({"note": "{\"input_length\": 4, \"timestamp\": 3}"})").empty());
}

}  // namespace
}  // namespace headroom::json_formats_test
