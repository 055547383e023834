// What the later turns of a Mooncake file state: the whole prompt, or what the turn adds.

#include "workloads/traces/mooncake_sessions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::mooncake_sessions_test {
namespace {

struct Turn {
  int input = 0;
  int output = 0;
};

// The first session of NVIDIA's published trace of coding agents (docs/traces/inference-day-2026
// of ai-dynamo/aiperf): the lengths of its rows.
constexpr std::array<Turn, 13> kPublished = {{{42277, 335},
                                              {1855, 1345},
                                              {1845, 421},
                                              {2166, 721},
                                              {5558, 1066},
                                              {1922, 1700},
                                              {7186, 1149},
                                              {4870, 928},
                                              {7062, 646},
                                              {15371, 1527},
                                              {6781, 1359},
                                              {3366, 375},
                                              {7449, 889}}};

std::string row(const std::string& session, int input, int output, const std::string& more = "") {
  return fmt::format(R"({{"session_id": "{}", "input_length": {}, "output_length": {}{}}})"
                     "\n",
                     session, input, output, more);
}

// With the block ids from `first` on, for blocks of 512.
std::string blocks(int first, int tokens) {
  std::vector<int> ids(static_cast<std::size_t>((tokens + 511) / 512));
  std::iota(ids.begin(), ids.end(), first);
  return fmt::format(R"(, "hash_ids": [{}])", fmt::join(ids, ","));
}

std::string published() {
  std::string text;
  int next = 0;
  for (const Turn& turn : kPublished) {
    text += row("a", turn.input, turn.output, blocks(next, turn.input));
    next += (turn.input + 511) / 512;
  }
  return text;
}

Trace read(const std::string& content, SessionInput input = SessionInput::detect) {
  const TempFile file(content);
  return read_trace(file.path(), {.session_input = input});
}

std::int64_t prompt_tokens(const Trace& trace) {
  std::int64_t tokens = 0;
  for (const TraceRow& one : trace.rows) tokens += one.prompt_tokens;
  return tokens;
}

// "2 whole", "1 added": how the later turns were read.
std::string taken(const std::string& content, SessionInput input = SessionInput::detect) {
  const SessionTurns turns = read(content, input).session_turns;
  return fmt::format("{} whole, {} added", turns.whole, turns.added);
}

TEST_CASE("turns of AIPerf's traces add to the turns and answers before them", "[workloads]") {
  const Trace trace = read(published());
  CHECK(trace.session_turns.added == 12);
  CHECK(trace.session_turns.whole == 0);
  CHECK(prompt_tokens(trace) == 961'788);  // the sum over turns of all input and output before
  CHECK(trace.rows[1].prompt_tokens == 42277 + 335 + 1855);

  const Trace whole = read(published(), SessionInput::whole);
  CHECK(prompt_tokens(whole) == 107'708);  // the sum of input_length
  CHECK(whole.session_turns.whole == 12);
}

TEST_CASE("a turn that adds begins with the blocks and the answer of the turn before",
          "[workloads]") {
  const TempFile file(row("7", 700, 20, blocks(0, 700)) + row("7", 600, 5, blocks(9, 600)) +
                      row("7", 10, 3, blocks(30, 10)));
  TraceFile trace(file.path());
  TraceRecord record;
  REQUIRE(trace.next(record));
  const std::vector<PrefixSegment> first = record.prefix;
  const std::uint64_t answer = record.output_segment;
  CHECK(first == std::vector<PrefixSegment>{{.id = 0, .tokens = 512}, {.id = 1, .tokens = 188}});
  REQUIRE(answer != 0);
  REQUIRE(trace.next(record));
  CHECK(record.prompt_tokens == 1320);
  CHECK(record.prefix == std::vector<PrefixSegment>{{.id = 0, .tokens = 512},
                                                    {.id = 1, .tokens = 188},
                                                    {.id = answer, .tokens = 20},
                                                    {.id = 9, .tokens = 512},
                                                    {.id = 10, .tokens = 88}});
  REQUIRE(trace.next(record));
  CHECK(record.prompt_tokens == 1335);
  CHECK(record.prefix.size() == 7);
}

TEST_CASE("the first block of later prompts tells what they state", "[workloads]") {
  const std::string first = row("a", 1000, 8, blocks(0, 1000));
  CHECK(taken(first + row("a", 1500, 8, blocks(0, 1500))) == "1 whole, 0 added");
  CHECK(taken(first + row("a", 700, 8, blocks(0, 700))) == "1 whole, 0 added");  // compacted
  CHECK(taken(first + row("a", 1500, 8, blocks(5, 1500))) == "0 whole, 1 added");
  // A block that was not full has another id once it is: then lengths tell.
  const std::string part = row("a", 100, 8, blocks(0, 100));
  CHECK(taken(part + row("a", 1500, 8, blocks(5, 1500))) == "1 whole, 0 added");
  CHECK(taken(part + row("a", 90, 8, blocks(5, 90))) == "0 whole, 1 added");
}

TEST_CASE("without blocks the lengths of later turns tell what they state", "[workloads]") {
  // AIPerf's own example.
  CHECK(taken(row("a", 300, 40) + row("a", 150, 20)) == "0 whole, 1 added");
  CHECK(taken(row("a", 300, 40) + row("a", 350, 20)) == "1 whole, 0 added");
  // Whole prompts, of which one in four was compacted.
  CHECK(taken(row("a", 300, 4) + row("a", 350, 2) + row("a", 400, 2) + row("a", 90, 2) +
              row("a", 120, 2)) == "4 whole, 0 added");
  CHECK(taken(row("a", 300, 4) + row("b", 350, 2)) == "0 whole, 0 added");
}

TEST_CASE("context_mode of a session's first row says what its turns state", "[workloads]") {
  const auto mode = [](const std::string& name) { return R"(, "context_mode": ")" + name + '"'; };
  const std::string adds = mode("deltas_without_responses");
  const std::string whole = mode("message_array_with_responses");
  const std::string both = row("a", 300, 40, adds) + row("b", 300, 40, whole) +
                           row("a", 350, 20, adds) + row("b", 150, 20, whole);
  CHECK(taken(both) == "1 whole, 1 added");
  CHECK(read(both).rows[2].prompt_tokens == 690);
  CHECK(taken(both, SessionInput::whole) == "2 whole, 0 added");
  // The answers before stand in what the turns state.
  const std::string stated = mode("deltas_with_responses");
  CHECK(read(row("a", 300, 40, stated) + row("a", 350, 20, stated)).rows[1].prompt_tokens == 650);
  CHECK(data_error(row("a", 1, 1, mode("both"))) ==
        ":1: context_mode is 'both', expected one of deltas_without_responses, "
        "deltas_with_responses, message_array_without_responses, message_array_with_responses "
        "(0 rows read)");
}

TEST_CASE("the first later turn tells, however far into the file", "[workloads]") {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += row(fmt::format("s{}", i), 100, 10);
  REQUIRE(text.size() > 100'000);
  const Trace trace = read(text + row("s7", 50, 10));
  CHECK(trace.session_turns.added == 1);
  CHECK(trace.rows.back().prompt_tokens == 160);
  // What the turn before left in a cache is found.
  CHECK(trace.prefix(7).front() == trace.prefix(2000).front());
  CHECK(trace.details[7].output_segment == trace.prefix(2000)[1].id);
}

TEST_CASE("what turns add up to must fit, and other formats leave nothing open", "[workloads]") {
  CHECK(data_error(row("a", 2147483647, 40) + row("a", 1, 1)) ==
        ":2: input_length is '1', expected at most 2147483647, with the session's turns before "
        "(1 rows read)");
  CHECK_THROWS_WITH(static_cast<void>(read_trace(sample_path("bailian.jsonl"),
                                                 {.session_input = SessionInput::added})),
                    Catch::EndsWith("bailian.jsonl: session_input is 'added', expected auto: "
                                    "format bailian defines what later turns contain"));
}

}  // namespace
}  // namespace headroom::mooncake_sessions_test
