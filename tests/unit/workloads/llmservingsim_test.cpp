#include "workloads/traces/llmservingsim.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/workloads/infinite_prefix_cache.hpp"
#include "tests/unit/workloads/published_trace.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "tests/unit/workloads/text_file.hpp"

namespace headroom::llmservingsim_test {
namespace {

using Lines = std::vector<std::string>;

// The identity of a piece of tokens: each of them mixed into that of those before it.
std::uint64_t hash_of(const std::vector<std::uint64_t>& tokens) {
  std::uint64_t id = 0;
  for (const std::uint64_t token : tokens) id = mixed_id(id, token);
  return id;
}

std::uint64_t hash_of_range(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> tokens;
  for (std::uint64_t token = first; token <= last; ++token) tokens.push_back(token);
  return hash_of(tokens);
}

// A session with these calls.
std::string session(const std::string& calls) {
  return R"({"session_id": "s", "arrival_time_ns": 9, "sub_requests": )" + calls + "}\n";
}

const std::string kGood = R"({"input_toks": 3, "output_toks": 4, "arrival_time_ns": 5})"
                          "\n";

void check_token_trace(const std::string& name, std::int64_t pieces, std::int64_t hits) {
  const std::optional<Trace> trace =
      check_published("llmservingsim/" + name + ".jsonl", "llmservingsim");
  if (!trace) return;
  const InfinitePrefixCache cache(*trace, 16);  // full blocks only
  CHECK(cache.pieces() == pieces);
  CHECK(cache.hit_pieces() == hits);
}

TEST_CASE("LLMServingSim's traces of token ids are read as their reference values say",
          "[workloads][large]") {
  // Published: 0.07653 and 0.07971 of all blocks.
  check_token_trace("sharegpt-llama-3.1-8b-300-sps10", 15'942, 1'220);
  check_token_trace("sharegpt-qwen3-30b-a3b-300-sps10", 16'034, 1'278);
}

TEST_CASE("LLMServingSim's other published traces are read as their reference values say",
          "[workloads]") {
  static_cast<void>(check_published("llmservingsim/example_trace.jsonl", "llmservingsim"));
  static_cast<void>(check_published("llmservingsim/workload_me2_01_mixed.jsonl", "llmservingsim"));
}

TEST_CASE("flat rows and sessions of LLMServingSim are read from one file", "[workloads]") {
  // The 18 tokens 1 .. 18: a block of 16 and two more.
  const std::string prompt = fmt::format("{}:16|{}:2", hash_of_range(1, 16), hash_of({17, 18}));
  const std::string first_answer = std::to_string(hash_of({31, 32}));
  const std::string task = " session=" + std::to_string(text_id("task-0"));
  CHECK(records_of_sample("llmservingsim.jsonl") ==
        Lines{"1000,128,40",
              fmt::format("46926808,18,3 prefix={} answer={}", prompt, hash_of({21, 22, 23})),
              fmt::format("50000000,18,2{} prefix={} answer={}", task, prompt, first_answer),
              // Goes on with that answer and 4 tokens.
              fmt::format("-,24,1{} after=127348767 prefix={}|{}:2|{}:4 answer={}", task, prompt,
                          first_answer, hash_of({41, 42, 43, 44}), hash_of({51})),
              fmt::format("-,30,4{} after=0", task), "60000000,0,5", "70000000,1472,133 session=7",
              "-,1582,125 session=7 after=12734876",
              fmt::format("70000000,20,4 prefix={}:16", hash_of_range(1, 16))});
}

TEST_CASE("line ends do not matter to LLMServingSim's rows", "[workloads]") {
  const Lines expected = records_of_sample("llmservingsim.jsonl");
  for (const std::string& text : same_files(text_file(sample_path("llmservingsim.jsonl")))) {
    CHECK(records_of(text) == expected);
  }
}

TEST_CASE("a call that does not begin with the one before is cut from its start", "[workloads]") {
  const std::string first =
      R"({"input_toks": 2, "output_toks": 1, "input_tok_ids": [1,2], "output_tok_ids": [3]})";
  const auto second_prefix = [&](const std::string& ids) {
    const std::string second =
        R"({"input_toks": 4, "output_toks": 1, "input_tok_ids": )" + ids + "}";
    const std::string text = records_of(session("[" + first + "," + second + "]")).at(1);
    return text.substr(text.find("prefix=") + 7);
  };
  CHECK(second_prefix("[1,2,3,4]") ==
        fmt::format("{}:2|{}:1|{}:1", hash_of({1, 2}), hash_of({3}), hash_of({4})));
  CHECK(second_prefix("[1,2,3]") == fmt::format("{}:2|{}:1", hash_of({1, 2}), hash_of({3})));
  CHECK(second_prefix("[1,2,4,5]") == fmt::format("{}:4", hash_of({1, 2, 4, 5})));
  CHECK(second_prefix("[1,2]") == fmt::format("{}:2", hash_of({1, 2})));
}

TEST_CASE("an answer has an identity where all of its tokens and its prompt's are known",
          "[workloads]") {
  const auto with = [](const std::string& ids) {
    return records_of(R"({"input_toks": 2, "output_toks": 2, "arrival_time_ns": 0)" + ids + "}")
        .at(0);
  };
  const std::string prefix = fmt::format("0,2,2 prefix={}:2", hash_of({1, 2}));
  CHECK(with(R"(, "input_tok_ids": [1,2], "output_tok_ids": [3,4])") ==
        prefix + fmt::format(" answer={}", hash_of({3, 4})));
  CHECK(with(R"(, "input_tok_ids": [1,2], "output_tok_ids": [3])") == prefix);
  CHECK(with(R"(, "input_tok_ids": [1,2])") == prefix);
  CHECK(with(R"(, "output_tok_ids": [3,4])") == "0,2,2");
}

TEST_CASE("malformed values of LLMServingSim's rows are refused by key and value", "[workloads]") {
  const auto second_row = [](const std::string& text) { return data_error(kGood + text); };
  const std::string count = "expected an integer in 0 .. 2147483647 (1 rows read)";
  CHECK(second_row(R"({"output_toks": 4, "arrival_time_ns": 5})") ==
        ":2: input_toks is missing, " + count);
  CHECK(second_row(R"({"input_toks": 1, "output_toks": -4, "arrival_time_ns": 5})") ==
        ":2: output_toks is '-4', " + count);
  CHECK(second_row(R"({"input_toks": 1, "output_toks": 4})") ==
        ":2: arrival_time_ns is missing, expected a number >= 0 (1 rows read)");
  CHECK(second_row(R"({"input_toks": 1, "output_toks": 4, "arrival_time_ns": -5})") ==
        ":2: arrival_time_ns is '-5', expected a number >= 0 within 285 years (1 rows read)");
  const std::string flat = R"({"input_toks": 1, "output_toks": 1, "arrival_time_ns": 5, )";
  CHECK(second_row(flat + R"("input_tok_ids": [1,2]})") ==
        ":2: input_tok_ids is '2 ids', expected at most one for each of the 1 tokens "
        "(1 rows read)");
  CHECK(second_row(flat + R"("output_tok_ids": [1,2]})") ==
        ":2: output_tok_ids is '2 ids', expected at most one for each of the 1 tokens "
        "(1 rows read)");
  CHECK(second_row(flat + R"("input_tok_ids": [-7]})") ==
        ":2: input_tok_ids is '-7', expected integers >= 0 (1 rows read)");
  CHECK(second_row(flat + R"("input_tok_ids": "1 2"})") ==
        ":2: input_tok_ids is '1 2', expected an array of integers (1 rows read)");
}

TEST_CASE("malformed sessions of LLMServingSim are refused by key and value", "[workloads]") {
  const auto second_row = [](const std::string& text) { return data_error(kGood + text); };
  const std::string objects = "expected an array of one or more objects (1 rows read)";
  CHECK(second_row(session("[]")) == ":2: sub_requests is an array, " + objects);
  CHECK(second_row(session("[1]")) == ":2: sub_requests is an array, " + objects);
  CHECK(second_row(session(R"([{}, 1])")) == ":2: sub_requests is an array, " + objects);
  CHECK(second_row(session("{}")) == ":2: sub_requests is an object, " + objects);
  CHECK(second_row(session(R"({"a": {}})")) == ":2: sub_requests is an object, " + objects);
  CHECK(second_row(session("null")) == ":2: sub_requests is null, " + objects);
  CHECK(second_row(R"({"arrival_time_ns": 9, "sub_requests": [{}]})") ==
        ":2: session_id is missing, expected a text or an integer >= 0 (1 rows read)");
  CHECK(second_row(R"({"session_id": 1, "sub_requests": [{}]})") ==
        ":2: arrival_time_ns is missing, expected a number >= 0 (1 rows read)");
  CHECK(second_row(session(R"([{"input_toks": 1}])")) ==
        ":2: output_toks is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  const std::string first = R"([{"input_toks": 1, "output_toks": 1, "tool_duration_ns": -1}, )";
  CHECK(second_row(session(first + R"({"input_toks": 1, "output_toks": 1}])")) ==
        ":2: tool_duration_ns is '-1', expected a number >= 0 within 285 years (1 rows read)");
}

}  // namespace
}  // namespace headroom::llmservingsim_test
