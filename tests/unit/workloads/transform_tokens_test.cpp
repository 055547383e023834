#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "sim/kernel/decimal_factor.hpp"
#include "tests/unit/workloads/made_trace.hpp"
#include "workloads/prefix_replay.hpp"
#include "workloads/trace_transform.hpp"

namespace headroom::transform_tokens_test {

namespace {

using Counts = std::vector<std::int32_t>;

Trace with_prompts(const Counts& prompts) {
  std::vector<made_trace::Row> rows;
  for (const std::int32_t tokens : prompts) rows.push_back({.prompt_tokens = tokens});
  return made_trace::of(rows);
}

// Blocks that an unlimited cache of blocks of this size would have had.
std::int64_t hits(const Trace& trace, std::int32_t block_tokens) {
  PrefixReplay replay({.block_tokens = block_tokens});
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    static_cast<void>(replay.add(trace.rows[i].prompt_tokens, trace.prefix(i)));
  }
  return replay.totals().hit_blocks;
}

TransformOptions with_documents(double share, const LengthOptions& tokens, std::int64_t count = 0) {
  TransformOptions options;
  options.documents = {.share = share, .tokens = tokens, .count = count};
  return options;
}

constexpr LengthOptions kThousand = {.law = LengthLaw::fixed, .tokens = 1000};

}  // namespace

TEST_CASE("prompts are scaled to the nearest token, and keep one", "[workloads]") {
  Trace trace = with_prompts({100, 70, 1});
  // 135, 94.5 (up), 1.35
  CHECK(transform(trace, {.input_tokens_factor = 1.35}, 1).tokens.prompt_tokens_change == 60);
  CHECK(made_trace::prompts(trace) == Counts{135, 95, 1});
  trace = with_prompts({70, 15, 1});
  static_cast<void>(transform(trace, {.input_tokens_factor = 1.1}, 1));
  CHECK(made_trace::prompts(trace) == Counts{77, 17, 1});  // 16.5 up; 77 exactly, as in decimals
  trace = with_prompts({1, 4, 5});
  static_cast<void>(transform(trace, {.input_tokens_factor = 0.1}, 1));
  CHECK(made_trace::prompts(trace) == Counts{1, 1, 1});
}

TEST_CASE("places in a prompt are scaled, so that rounding does not add up", "[workloads]") {
  Trace trace = made_trace::of({{.prompt_tokens = 45, .prefix = {{1, 16}, {2, 16}, {3, 8}}}});
  static_cast<void>(transform(trace, {.input_tokens_factor = 1.35}, 1));
  // Ends at 21.6, 43.2, 54; the prompt at 60.75.
  CHECK(made_trace::chain(trace, 0) == "1:22|2:21|3:11");
  CHECK(made_trace::prompts(trace) == Counts{61});
}

TEST_CASE("what rounding makes alike stays different", "[workloads]") {
  Trace trace = made_trace::of({{.prompt_tokens = 10, .prefix = {{1, 1}, {2, 1}, {3, 8}}},
                                {.prompt_tokens = 10, .prefix = {{9, 1}, {2, 1}, {3, 8}}},
                                {.prompt_tokens = 10, .prefix = {{1, 1}, {2, 1}, {3, 8}}},
                                {.prompt_tokens = 11, .prefix = {{1, 1}, {2, 2}, {3, 8}}}});
  const TransformReport report = transform(trace, {.input_tokens_factor = 0.3}, 1);
  // Ends at 0.3, 0.6, 3; of the last row at 0.3, 0.9, 3.3: nothing is left of all first segments.
  CHECK(report.tokens.segments_merged == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(trace.prefix(i).size() == 2);
    CHECK(trace.prefix(i)[0].tokens == 1);
    CHECK(trace.prefix(i)[1].tokens == 2);
  }
  CHECK(made_trace::common_tokens(trace.prefix(0), trace.prefix(1)) == 0);
  CHECK(made_trace::common_tokens(trace.prefix(0), trace.prefix(2)) == 3);
  CHECK(made_trace::common_tokens(trace.prefix(0), trace.prefix(3)) == 1);  // 2 of 10 and 11
}

TEST_CASE("a scaled answer is found in scaled later prompts", "[workloads]") {
  for (const double factor : {0.1, 0.77, 1.35}) {
    Trace trace = made_trace::of({{.prompt_tokens = 33, .output_segment = 2, .prefix = {{1, 33}}},
                                  {.prompt_tokens = 99, .prefix = {{1, 33}, {2, 40}, {3, 26}}}});
    static_cast<void>(transform(trace, {.input_tokens_factor = factor}, 1));
    CHECK(trace.details[0].output_segment == trace.prefix(1)[1].id);
  }
}

TEST_CASE("what two prompts have in common is scaled as the prompts are", "[workloads]") {
  const Trace before = made_trace::random(11, 150);
  for (const double value : {0.001, 0.05, 0.3, 0.77, 1.0, 1.35, 2.0, 13.7}) {
    Trace after = before;
    static_cast<void>(transform(after, {.input_tokens_factor = value}, 1));
    CHECK(made_trace::is_sound(after));
    const DecimalFactor factor(value, 1000.0, "factor");
    std::int64_t wrong = 0;
    std::int64_t alike = 0;
    for (std::size_t a = 0; a < before.rows.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const std::int64_t common = made_trace::common_tokens(before.prefix(a), before.prefix(b));
        alike += common > 0 ? 1 : 0;
        const std::int64_t scaled = made_trace::common_tokens(after.prefix(a), after.prefix(b));
        wrong += scaled != factor.product(common) ? 1 : 0;
      }
    }
    CHECK(alike > 1000);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a factor and blocks as much larger have the same cache hits", "[workloads]") {
  const Trace before = made_trace::random(12, 500);
  CHECK(hits(before, 4) > 100);
  for (const std::int32_t factor : {1, 2, 7}) {
    Trace after = before;
    static_cast<void>(transform(after, {.input_tokens_factor = static_cast<double>(factor)}, 1));
    CHECK(hits(after, 4 * factor) == hits(before, 4));
  }
}

TEST_CASE("the answer and the thinking part of an output have a factor each", "[workloads]") {
  const Trace before = made_trace::of({{.output_tokens = 100, .thinking_tokens = 60},
                                       {.output_tokens = 10},
                                       {.output_tokens = 1, .thinking_tokens = 1}});
  Trace trace = before;
  TransformReport report =
      transform(trace, {.output_tokens_factor = 1.5, .thinking_tokens_factor = 2.0}, 1);
  CHECK(made_trace::outputs(trace) == Counts{180, 15, 2});  // 40 * 1.5 + 60 * 2; 10 * 1.5; 1 * 2
  CHECK(trace.details[0].thinking_tokens == 120);
  CHECK(report.tokens.output_tokens_change == 80 + 5 + 1);
  trace = before;
  static_cast<void>(transform(trace, {.thinking_tokens_factor = 0.1}, 1));
  CHECK(made_trace::outputs(trace) == Counts{46, 10, 1});  // 40 + 6; never less than 1
  CHECK(trace.details[2].thinking_tokens == 0);
  CHECK(made_trace::prompts(trace) == made_trace::prompts(before));
}

TEST_CASE("thinking that is added hides the answer from later prompts", "[workloads]") {
  Trace trace = made_trace::of(
      {{.output_tokens = 100, .thinking_tokens = 60, .output_segment = 5}, {.output_tokens = 10}});
  const TransformReport report =
      transform(trace, {.added_thinking_tokens = LengthOptions{.tokens = 7}}, 1);
  CHECK(made_trace::outputs(trace) == Counts{107, 17});
  CHECK(trace.details[0].thinking_tokens == 67);
  CHECK(trace.details[1].thinking_tokens == 7);
  CHECK(trace.details[0].output_segment == 0);
  CHECK(report.tokens.answers_hidden == 1);
  CHECK(report.tokens.thinking_tokens_added == 14);
  // Rows without details have some now, and all of them their thinking.
  trace = made_trace::at({1, 2});
  static_cast<void>(transform(trace, {.added_thinking_tokens = LengthOptions{.tokens = 7}}, 1));
  CHECK(trace.details[1].thinking_tokens == 7);
  CHECK(trace.details[1].session == kNoSession);
}

TEST_CASE("rows keep their draws whatever share of them is kept", "[workloads]") {
  const auto drawn = [](double keep) {
    Trace trace = made_trace::at(std::vector<TimeNs>(500, 0));
    TransformOptions options =
        with_documents(0.5, {.law = LengthLaw::uniform, .min = 1000, .max = 2000}, 30);
    options.keep = keep;
    options.added_thinking_tokens = LengthOptions{.law = LengthLaw::uniform, .min = 1, .max = 900};
    static_cast<void>(transform(trace, options, 4));
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
      // The text of row k is k + 1 tokens long: its number.
      const auto document = trace.prefix(i).empty() ? 0 : trace.prefix(i).front().tokens;
      rows.push_back(std::to_string(trace.rows[i].prompt_tokens - document) + ' ' +
                     made_trace::chain(trace, i) + ' ' +
                     std::to_string(trace.rows[i].output_tokens));
    }
    std::ranges::sort(rows);
    return rows;
  };
  const std::vector<std::string> few = drawn(0.3);
  CHECK((few.size() > 100 && few.size() < 200));
  CHECK(std::ranges::includes(drawn(1.0), few));
}

TEST_CASE("a document stands in front of the prompt and of what is known of it", "[workloads]") {
  Trace trace = made_trace::of({{.prompt_tokens = 20, .prefix = {{1, 16}}},
                                {.prompt_tokens = 20, .prefix = {{1, 16}}},
                                {.prompt_tokens = 30, .session = 4},
                                {.prompt_tokens = 40}});
  const TransformReport report = transform(trace, with_documents(1.0, kThousand), 1);
  CHECK(made_trace::prompts(trace) == Counts{1020, 1020, 1030, 1040});
  CHECK(report.documents.rows == 4);
  CHECK(report.documents.tokens == 4000);
  CHECK(report.documents.documents == 4);
  REQUIRE(trace.prefix(0).size() == 2);
  CHECK(trace.prefix(0)[0].tokens == 1000);
  CHECK(trace.prefix(0)[1] == PrefixSegment{1, 16});
  CHECK(made_trace::common_tokens(trace.prefix(0), trace.prefix(1)) == 0);  // all are different
  CHECK(trace.prefix(2).size() == 1);
  CHECK(trace.prefix(3).empty());  // nobody could share it
}

TEST_CASE("documents of a pool are shared, popular ones more", "[workloads]") {
  Trace trace = made_trace::of(
      {{.prompt_tokens = 20, .prefix = {{1, 16}}}, {.prompt_tokens = 20, .prefix = {{1, 16}}}});
  CHECK(transform(trace, with_documents(1.0, kThousand, 1), 1).documents.documents == 1);
  CHECK(made_trace::common_tokens(trace.prefix(0), trace.prefix(1)) == 1016);

  const auto counts = [](double exponent) {
    Trace many = made_trace::at(std::vector<TimeNs>(4000, 0));
    TransformOptions options =
        with_documents(1.0, {.law = LengthLaw::uniform, .min = 1, .max = 1'000'000}, 4);
    options.documents.exponent = exponent;
    CHECK(transform(many, options, 2).documents.documents == 4);
    std::map<std::uint64_t, double> rows;
    for (std::size_t i = 0; i < many.rows.size(); ++i) {
      ++rows[many.prefix(i).front().id];
      // One length per document: the text is at most 4000 tokens.
      CHECK(many.rows[i].prompt_tokens - many.prefix(i).front().tokens ==
            static_cast<std::int32_t>(i) + 1);
    }
    std::vector<double> sorted;
    for (const auto& [id, count] : rows) sorted.push_back(count);
    std::ranges::sort(sorted, std::greater<>());
    return sorted;
  };
  // Chi-square with 3 degrees of freedom exceeds 16.27 with chance 0.001.
  const auto distance = [](const std::vector<double>& seen, const std::vector<double>& expected) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
    }
    return sum;
  };
  const std::vector<double> equal(4, 1000.0);
  const std::vector<double> zipf = {1920, 960, 640, 480};  // 4000 / k / (25 / 12)
  CHECK(distance(counts(0.0), equal) < 16.27);
  CHECK(distance(counts(1.0), zipf) < 16.27);
  CHECK(distance(counts(1.0), equal) > 16.27);
}

TEST_CASE("what carries a document at a small share carries the same one at a larger",
          "[workloads]") {
  const auto carried = [](double share) {
    Trace trace = made_trace::at(std::vector<TimeNs>(5000, 0));
    static_cast<void>(transform(
        trace, with_documents(share, {.law = LengthLaw::uniform, .min = 10'000, .max = 20'000}),
        6));
    Counts documents;
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
      documents.push_back(trace.rows[i].prompt_tokens - static_cast<std::int32_t>(i) - 1);
    }
    return documents;
  };
  const Counts few = carried(0.1);
  const Counts more = carried(0.25);
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < few.size(); ++i) {
    if (few[i] != 0) CHECK(more[i] == few[i]);
    rows += more[i] != 0 ? 1 : 0;
  }
  const double four_errors = 4 * std::sqrt(5000 * 0.25 * 0.75);
  CHECK(std::abs(static_cast<double>(rows) - 1250) < four_errors);
  CHECK(std::abs(static_cast<double>(rows) - 1500) > four_errors);  // of a share of 0.3
}

TEST_CASE("caps cut the ends of prompts, chains and outputs, and count", "[workloads]") {
  Trace trace = made_trace::of({{.prompt_tokens = 100,
                                 .output_tokens = 50,
                                 .thinking_tokens = 30,
                                 .prefix = {{1, 30}, {2, 30}, {3, 30}}},
                                {.prompt_tokens = 40, .output_tokens = 20, .prefix = {{1, 40}}}});
  const TransformReport report =
      transform(trace, {.max_prompt_tokens = 40, .max_output_tokens = 20}, 1);
  CHECK(made_trace::prompts(trace) == Counts{40, 40});
  CHECK(made_trace::outputs(trace) == Counts{20, 20});
  CHECK(made_trace::chain(trace, 0) == "1:30|2:10");
  CHECK(made_trace::chain(trace, 1) == "1:40");
  CHECK(trace.details[0].thinking_tokens == 20);
  CHECK(report.caps.prompts_cut == 1);
  CHECK(report.caps.prompt_tokens_cut == 60);
  CHECK(report.caps.outputs_cut == 1);
  CHECK(report.caps.output_tokens_cut == 30);
}

}  // namespace headroom::transform_tokens_test
