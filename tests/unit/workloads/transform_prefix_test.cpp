#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tests/unit/workloads/made_trace.hpp"
#include "tests/unit/workloads/published_trace.hpp"
#include "workloads/prefix_replay.hpp"
#include "workloads/trace_transform.hpp"

namespace headroom::transform_prefix_test {

namespace {

using Times = std::vector<TimeNs>;
using Chain = std::vector<PrefixSegment>;

TransformOptions with_history() { return {.session_prefix = SessionPrefix::history}; }

// What the engine has in its cache of a row once it has answered.
Chain with_answer(const Trace& trace, std::size_t row) {
  Chain chain(trace.prefix(row).begin(), trace.prefix(row).end());
  const std::uint64_t answer = trace.details[row].output_segment;
  if (answer != 0) chain.push_back({.id = answer, .tokens = trace.rows[row].output_tokens});
  return chain;
}

// Tokens of the prompt of `later` that are known from `earlier`, its answer included.
std::int64_t shared(const Trace& trace, std::size_t earlier, std::size_t later) {
  return made_trace::common_tokens(with_answer(trace, earlier), trace.prefix(later));
}

std::int64_t hits(const Trace& trace, std::int32_t block_tokens) {
  PrefixReplay replay({.block_tokens = block_tokens});
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    static_cast<void>(replay.add(trace.rows[i].prompt_tokens, trace.prefix(i)));
  }
  return replay.totals().hit_blocks;
}

std::vector<made_trace::Row> four_turns() {
  return {{.time_ns = 1, .prompt_tokens = 100, .output_tokens = 50, .session = 7},
          {.time_ns = 2, .prompt_tokens = 200, .output_tokens = 20, .session = 7},
          {.time_ns = 3, .prompt_tokens = 120, .output_tokens = 5, .session = 7},
          {.time_ns = 4, .prompt_tokens = 300, .output_tokens = 5, .session = 7}};
}

}  // namespace

TEST_CASE("a turn repeats the prompt and the answer of the turn before it", "[workloads]") {
  Trace trace = made_trace::of(four_turns());
  const TransformReport report = transform(trace, with_history(), 1);
  CHECK(shared(trace, 0, 1) == 150);  // 100 + 50
  CHECK(shared(trace, 1, 2) == 120);  // all of a shorter prompt
  CHECK(shared(trace, 2, 3) == 125);  // 120 + 5: the rest was lost with the shorter one
  CHECK(shared(trace, 1, 3) == 120);
  CHECK(report.history.rows == 3);
  CHECK(report.history.tokens == 150 + 120 + 125);
  CHECK(made_trace::is_sound(trace));
  for (std::size_t i = 0; i < 4; ++i) {
    std::int64_t known = 0;
    for (const PrefixSegment& segment : trace.prefix(i)) known += segment.tokens;
    CHECK(known == trace.rows[i].prompt_tokens);
  }
}

TEST_CASE("the turns of a growing session share the memory of their chains", "[workloads]") {
  std::vector<made_trace::Row> rows;
  for (std::int32_t turn = 0; turn < 1000; ++turn) {
    // Each adds 10 tokens to the 15 of each turn before.
    rows.push_back({.time_ns = turn, .prompt_tokens = 15 * turn + 10, .session = 7});
    rows.push_back({.time_ns = turn, .prompt_tokens = 15 * turn + 10, .session = 8});
  }
  Trace trace = made_trace::of(rows);
  static_cast<void>(transform(trace, with_history(), 1));
  CHECK(trace.prefix(1998).size() == 1999);  // prompts and answers in turn
  CHECK(trace.segments.size() == 2 * 1999);
  CHECK(shared(trace, 1996, 1998) == 15 * 999);
  CHECK(shared(trace, 1996, 1999) == 0);
}

TEST_CASE("thinking is not repeated, and an answer behind it has no identity", "[workloads]") {
  std::vector<made_trace::Row> rows = four_turns();
  rows[0].thinking_tokens = 30;
  Trace trace = made_trace::of(rows);
  const TransformReport report = transform(trace, with_history(), 1);
  CHECK(trace.details[0].output_segment == 0);
  CHECK(shared(trace, 0, 1) == 100);
  // Said before are 100 + 20 of turn 1, then 200 + 20, of which the third turn repeats 120.
  CHECK(report.history.tokens == 120 + 120 + 125);
  CHECK(shared(trace, 1, 2) == 120);
}

TEST_CASE("prompts with an identity of their own keep it", "[workloads]") {
  std::vector<made_trace::Row> rows = four_turns();
  rows[1].prefix = {{5, 16}};
  rows[1].output_segment = 9;
  rows.push_back({.time_ns = 5, .prompt_tokens = 30});
  Trace trace = made_trace::of(rows);
  const TransformReport report = transform(trace, with_history(), 1);
  CHECK(made_trace::chain(trace, 1) == "5:16");
  CHECK(trace.details[1].output_segment == 9);
  CHECK(shared(trace, 0, 2) == 0);  // what its session said just before is not known
  CHECK(shared(trace, 2, 3) == 125);
  CHECK(trace.prefix(4).empty());  // no session
  CHECK(report.history.rows_with_identity == 1);
  CHECK(report.history.rows == 1);
}

TEST_CASE("a document in front of the turns is shared when it is the same", "[workloads]") {
  TransformOptions options = with_history();
  options.documents = {.share = 1.0, .tokens = {.tokens = 1000}};
  Trace trace = made_trace::of(four_turns());
  static_cast<void>(transform(trace, options, 1));
  CHECK(shared(trace, 0, 1) == 0);
  options.documents.count = 1;
  trace = made_trace::of(four_turns());
  const TransformReport report = transform(trace, options, 1);
  CHECK(shared(trace, 0, 1) == 1150);
  CHECK(shared(trace, 1, 2) == 1120);
  CHECK(report.history.rows_with_identity == 0);
  CHECK(report.history.tokens == 150 + 120 + 125);
  // A cap that leaves nothing of the text leaves a part of the document.
  options.max_prompt_tokens = 900;
  trace = made_trace::of(four_turns());
  static_cast<void>(transform(trace, options, 1));
  CHECK(made_trace::is_sound(trace));
  CHECK(shared(trace, 0, 1) == 900);
}

TEST_CASE("copies are shifted around the cycle of the trace", "[workloads]") {
  // Rows every 10 ns: the cycle is 40 ns.
  const auto copied = [](const TransformOptions& options, std::int64_t wrapped) {
    Trace trace = made_trace::at({0, 10, 20, 30});
    const TransformReport report = transform(trace, options, 1);
    CHECK(report.copies.cycle_ns == 40);
    CHECK(report.copies.rows_wrapped == wrapped);
    CHECK(report.copies.rows_added == report.rows_after - 4);
    std::vector<std::pair<TimeNs, std::int32_t>> all;
    for (const TraceRow& row : trace.rows) all.emplace_back(row.time_ns, row.prompt_tokens);
    return all;
  };
  using Rows = std::vector<std::pair<TimeNs, std::int32_t>>;
  CHECK(copied({.copies = 2}, 2) ==
        Rows{{0, 1}, {0, 3}, {10, 2}, {10, 4}, {20, 3}, {20, 1}, {30, 4}, {30, 2}});
  CHECK(copied({.copies = 2, .copies_shift_ns = 5}, 0) ==
        Rows{{0, 1}, {5, 1}, {10, 2}, {15, 2}, {20, 3}, {25, 3}, {30, 4}, {35, 4}});
  CHECK(copied({.copies = 2, .copies_shift_ns = 405}, 0).at(1) == std::pair<TimeNs, int>{5, 1});
  CHECK(copied({.copies = 2, .copies_shift_ns = 0}, 0).at(1) == std::pair<TimeNs, int>{0, 1});
  // Four copies 10 ns apart: every row at every place; 0 + 1 + 2 + 3 rows wrap.
  CHECK(copied({.copies = 4}, 6).size() == 16);
}

TEST_CASE("a session moves whole", "[workloads]") {
  const Trace before = made_trace::of({{.time_ns = 0, .prompt_tokens = 1},
                                       {.time_ns = 20, .prompt_tokens = 2, .session = 3},
                                       {.time_ns = 40, .prompt_tokens = 3, .session = 3}});
  Trace trace = before;
  const TransformReport report = transform(trace, {.copies = 2, .copies_shift_ns = 50}, 1);
  CHECK(report.copies.cycle_ns == 60);
  // 0 + 50; 20 + 50 - 60 = 10, and its second turn 20 ns later.
  CHECK(made_trace::times(trace) == Times{0, 10, 20, 30, 40, 50});
  CHECK(made_trace::prompts(trace) == std::vector<std::int32_t>{1, 2, 2, 3, 3, 1});
  CHECK(report.copies.rows_wrapped == 2);
  CHECK(trace.details[1].session == trace.details[3].session);
  CHECK(trace.details[2].session == 3);
  CHECK(trace.details[1].session != 3);
  // It begins within the cycle, at 20 + 30, and so ends behind it, at 40 + 30.
  trace = before;
  CHECK(transform(trace, {.copies = 2, .copies_shift_ns = 30}, 1).copies.rows_wrapped == 0);
  CHECK(made_trace::times(trace) == Times{0, 20, 30, 40, 50, 70});
}

TEST_CASE("copies of a single instant fall together", "[workloads]") {
  Trace trace = made_trace::at({6});
  CHECK(transform(trace, {.copies = 3}, 1).rows_after == 3);
  CHECK(made_trace::times(trace) == Times{6, 6, 6});
  Trace empty;
  CHECK(transform(empty, {.copies = 3}, 1).rows_after == 0);
}

TEST_CASE("copies share no prompt unless they are to", "[workloads]") {
  // 1 is the system prompt of two sessions; 2, 3 and the answer 4 belong to one each.
  const Trace before = made_trace::of(
      {{.time_ns = 0,
        .prompt_tokens = 40,
        .session = 1,
        .output_segment = 4,
        .prefix = {{1, 16}, {2, 16}}},
       {.time_ns = 8, .prompt_tokens = 60, .session = 1, .prefix = {{1, 16}, {2, 16}, {4, 16}}},
       {.time_ns = 9, .prompt_tokens = 40, .session = 2, .prefix = {{1, 16}, {3, 16}}}});
  Trace apart = before;
  static_cast<void>(transform(apart, {.copies = 2, .copies_shift_ns = 0}, 1));
  // In order of time: rows 0, 0', 1, 1', 2, 2'.
  CHECK(made_trace::common_tokens(apart.prefix(0), apart.prefix(1)) == 0);
  CHECK(made_trace::common_tokens(apart.prefix(1), apart.prefix(3)) == 32);
  CHECK(made_trace::common_tokens(apart.prefix(1), apart.prefix(5)) == 16);
  CHECK(apart.prefix(3)[2].id == apart.details[1].output_segment);
  Trace together = before;
  static_cast<void>(
      transform(together, {.copies = 2, .copies_shift_ns = 0, .copies_share_prefixes = true}, 1));
  CHECK(made_trace::common_tokens(together.prefix(0), together.prefix(1)) == 16);
  CHECK(made_trace::common_tokens(together.prefix(1), together.prefix(3)) == 32);
  CHECK(together.prefix(3)[2].id == together.details[1].output_segment);
  CHECK(together.details[1].output_segment != 4);
}

TEST_CASE("copies of their own have as many cache hits each as the trace", "[workloads]") {
  const Trace before = made_trace::random(21, 300);
  // An unlimited cache hits whatever it has seen before: all but the first of each block.
  CHECK(hits(before, 4) > 100);
  Trace apart = before;
  static_cast<void>(transform(apart, {.copies = 3}, 1));
  CHECK(hits(apart, 4) == 3 * hits(before, 4));
  Trace together = before;
  static_cast<void>(transform(together, {.copies = 3, .copies_share_prefixes = true}, 1));
  CHECK(hits(together, 4) > 3 * hits(before, 4));
}

TEST_CASE("the published Mooncake trace keeps its hits through factors, ties and copies",
          "[workloads][published]") {
  const std::optional<Trace> read =
      check_published("mooncake-fast25/conversation_trace.jsonl", "mooncake");
  if (!read) return;
  Trace trace = *read;
  TransformOptions options{.spread_ties = SpreadTies::even, .input_tokens_factor = 2.0};
  options.copies = 2;
  const TransformReport report = transform(trace, options, 1);
  CHECK(made_trace::is_sound(trace));
  CHECK(report.ties.stamps > 1000);
  // Full blocks of 512 in an unlimited cache: 105,592 (TRACES.md 4.2); here of 1024, and twice.
  CHECK(hits(trace, 1024) == 2 * 105'592);
}

}  // namespace headroom::transform_prefix_test
