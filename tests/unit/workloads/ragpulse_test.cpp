#include "workloads/traces/ragpulse.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/infinite_prefix_cache.hpp"
#include "tests/unit/workloads/published_trace.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "tests/unit/workloads/text_file.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::ragpulse_test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

// A copy of the made-up folder, with one file replaced, that is gone after the test.
class Folder {
 public:
  Folder(const std::string& file, const std::string& content) : name_("") {
    fs::copy(sample_path("ragpulse"), name_.path() + ".d", fs::copy_options::recursive);
    std::ofstream(path(file), std::ios::binary) << content;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(name_.path() + ".d", ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path(const std::string& file) const {
    return name_.path() + ".d/" + file;
  }
  [[nodiscard]] std::string trace() const { return path("0_trace.jsonl"); }

 private:
  TempFile name_;
};

std::string row(const std::string& time, int tokens, const std::string& chunks) {
  return R"({"timestamp": )" + time + R"(, "input_length": )" + std::to_string(tokens) +
         R"(, "output_length": 3, "hash_ids": )" + chunks + R"(, "session_id": "s"})" + "\n";
}

const std::string kGood = row("\"5\"", 40, R"({"sys_prompt": [10], "user_input": [42]})");

// What the folder's trace is refused with, without the path of `file` in front.
std::string refusal(const Folder& folder, const std::string& file) {
  try {
    static_cast<void>(records_of_file(folder.trace()));
  } catch (const DataError& error) {
    const std::string message = error.what();
    const std::string path = folder.path(file);
    return message.starts_with(path) ? message.substr(path.size()) : message;
  }
  return "no error";
}

std::string second_row(const std::string& text) {
  const Folder folder("0_trace.jsonl", kGood + text);
  return refusal(folder, "0_trace.jsonl");
}

TEST_CASE("the RAGPulse trace is read as its reference values say", "[workloads][large]") {
  const std::optional<Trace> trace = check_published("ragpulse/0_trace.jsonl", "ragpulse");
  if (!trace) return;
  CHECK(trace->backward_steps == 1);
  const InfinitePrefixCache cache(*trace);
  CHECK(cache.tokens() == 20'851'449);
  CHECK(cache.hit_tokens() == 6'574'248);  // published: ratio 0.31529
}

TEST_CASE("prompts of RAGPulse are chunks in their order, the template without identity",
          "[workloads]") {
  const auto session = [](const char* name) {
    return " session=" + std::to_string(text_id(name)) + " prefix=";
  };
  CHECK(records_of_sample("ragpulse/0_trace.jsonl") ==
        Lines{// 32 + 5 + 40 + 28 + 11 + 6 = 122 of 130
              "82000000000,130,19" + session("s1") + "10:32|11:5|0:40|1:28|20:11|40:6",
              "93000000000,75,8" + session("s2") + "10:32|11:5|20:11|50:12|41:9",
              "604453000000000,118,21" + session("s1") + "10:32|2:17|0:40|21:12|40:6",
              "0,61,0" + session("s3") + "10:32|11:5|20:11|42:7",
              "93000000000,55,5 prefix=10:32|11:5|42:7", "604800000000000,9,2 prefix=41:9"});
  const Trace trace = read_trace(sample_path("ragpulse/0_trace.jsonl"), {});
  CHECK(trace.backward_steps == 1);
  CHECK(trace.offset_ns == 0);  // of the dropped row in the middle
  CHECK(trace.rows.size() == 5);
  CHECK(trace.rows[1].prompt_tokens == 75);  // of two rows at 93 s, the file's first one
}

TEST_CASE("line ends do not matter to RAGPulse's files", "[workloads]") {
  const Lines expected = records_of_sample("ragpulse/0_trace.jsonl");
  for (const std::string file : {"0_trace.jsonl", "3_history.jsonl"}) {
    for (const std::string& text : same_files(text_file(sample_path("ragpulse/" + file)))) {
      const Folder folder(file, text);
      CHECK(records_of_file(folder.trace()) == expected);
    }
  }
}

TEST_CASE("a missing file of chunk lengths is named", "[workloads]") {
  const Folder folder("0_trace.jsonl", kGood);
  fs::remove(folder.path("3_history.jsonl"));
  CHECK(refusal(folder, "3_history.jsonl") ==
        ": no such file, nor with .gz; it has the lengths of the chunks in " + folder.trace());
  // Plain text is what a file holds, whatever its name.
  fs::copy(sample_path("ragpulse/3_history.jsonl"), folder.path("3_history.jsonl.gz"));
  CHECK(records_of_file(folder.trace()).size() == 1);
}

TEST_CASE("malformed chunk lengths are refused with their file", "[workloads]") {
  const auto refused = [](const std::string& content) {
    const Folder folder("2_passages.jsonl", content);
    return refusal(folder, "2_passages.jsonl");
  };
  const std::string good = R"({"passage_id": 0, "token_length": 40})"
                           "\n";
  CHECK(refused(good + R"({"passage_id": 1})") ==
        ":2: token_length is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(refused(good + R"({"passage_id": 1, "token_length": -1})") ==
        ":2: token_length is '-1', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(refused(good + R"({"passages_id": 1, "token_length": 1})") ==
        ":2: passage_id is missing, expected an integer >= 0 (1 rows read)");
  CHECK(refused(good + R"({"passage_id": -1, "token_length": 1})") ==
        ":2: passage_id is '-1', expected an integer >= 0 (1 rows read)");
  CHECK(refused(good + R"({"passage_id": 0, "token_length": 41})") ==
        ":2: token_length is '41', expected 40, as chunk 0 has before (1 rows read)");
  CHECK(refused(good + "{") != "no error");
}

TEST_CASE("malformed values of RAGPulse's rows are refused by key and value", "[workloads]") {
  CHECK(second_row(row("\"5 s\"", 1, "{}")) ==
        ":2: timestamp is '5 s', expected a number >= 0 within 285 years (1 rows read)");
  CHECK(second_row(row("null", 1, "{}")) ==
        ":2: timestamp is null, expected a number >= 0 (1 rows read)");
  CHECK(second_row(row("1", -1, "{}")) ==
        ":2: input_length is '-1', expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(R"({"timestamp": 1, "input_length": 4})") ==
        ":2: output_length is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(second_row(row("1", 9, "[1]")) ==
        ":2: hash_ids is an array, expected an object of lists of chunk ids (1 rows read)");
  CHECK(second_row(row("1", 9, R"({"history": 20})")) ==
        ":2: history is '20', expected an array of integers (1 rows read)");
  CHECK(second_row(row("1", 9, R"({"history": [99]})")) ==
        ":2: history is '99', expected ids of chunks in the files 1_*.jsonl to 5_*.jsonl "
        "(1 rows read)");
  CHECK(second_row(row("1", 38, R"({"sys_prompt": [10], "user_input": [42]})")) ==
        ":2: input_length is '38', expected at least the 39 tokens of its chunks (1 rows read)");
  CHECK(second_row(row("1", 39, R"({"sys_prompt": [10], "user_input": [42]})")) == "no error");
}

TEST_CASE("a chunk without tokens is no piece of a prompt", "[workloads]") {
  const Folder folder("3_history.jsonl", R"({"history_id": 20, "token_length": 0})"
                                         "\n"
                                         R"({"history_id": 21, "token_length": 12})");
  CHECK(records_of_file(folder.trace()).at(1) ==
        "93000000000,75,8 session=" + std::to_string(text_id("s2")) +
            " prefix=10:32|11:5|50:12|41:9");
}

}  // namespace
}  // namespace headroom::ragpulse_test
