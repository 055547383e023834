#include "workloads/trace_transform.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "sim/kernel/errors.hpp"
#include "tests/unit/workloads/made_trace.hpp"

namespace headroom::trace_transform_test {

namespace {

using Times = std::vector<TimeNs>;
using Counts = std::vector<std::int32_t>;

constexpr TimeNs kSecond = kNsPerSecond;

TransformOptions every_second() {
  TransformOptions options;
  options.arrivals = {.process = ArrivalProcess::constant, .rate_per_s = 1.0};
  return options;
}

}  // namespace

TEST_CASE("without options a trace stays as it is", "[workloads]") {
  Trace trace = made_trace::random(1, 200);
  const std::string before = made_trace::text(trace);
  const TransformReport report = transform(trace, {}, 1);
  CHECK(made_trace::text(trace) == before);
  CHECK(report.rows_before == 200);
  CHECK(report.rows_after == 200);
}

TEST_CASE("rows without a clock take instants in the order of the file", "[workloads]") {
  Trace trace = made_trace::at({0, 0, 0});
  trace.clock = TraceClock::none;
  const TransformReport report = transform(trace, every_second(), 1);
  CHECK(made_trace::times(trace) == Times{1 * kSecond, 2 * kSecond, 3 * kSecond});
  CHECK(made_trace::prompts(trace) == Counts{1, 2, 3});
  CHECK(trace.clock == TraceClock::absolute);
  CHECK(report.arrivals.instants == 3);
}

TEST_CASE("a row that follows an answer takes no instant", "[workloads]") {
  Trace trace = made_trace::of({{.prompt_tokens = 1, .session = 7},
                                {.prompt_tokens = 2},
                                {.prompt_tokens = 3, .session = 7, .after_previous_ns = 5},
                                // Its session's first row is not in the trace: it opens it.
                                {.prompt_tokens = 4, .session = 8, .after_previous_ns = 5}});
  trace.clock = TraceClock::none;
  const TransformReport report = transform(trace, every_second(), 1);
  CHECK(report.arrivals.instants == 3);
  CHECK(made_trace::times(trace) == Times{kSecond, kSecond, 2 * kSecond, 3 * kSecond});
  CHECK(made_trace::prompts(trace) == Counts{1, 3, 2, 4});
  CHECK_FALSE(trace.details[0].timeless);
  CHECK(trace.details[1].timeless);
  CHECK_FALSE(trace.details[3].timeless);
}

TEST_CASE("sessions without a common clock take an instant each", "[workloads]") {
  Trace trace =
      made_trace::of({{.time_ns = 0, .prompt_tokens = 1, .session = 8},
                      {.time_ns = 4 * kSecond, .prompt_tokens = 2, .session = 8},
                      {.time_ns = kSecond, .prompt_tokens = 3, .session = 9},
                      {.time_ns = kSecond, .prompt_tokens = 4, .session = 9, .timeless = true}});
  trace.clock = TraceClock::per_session;
  const TransformReport report = transform(trace, every_second(), 1);
  CHECK(report.arrivals.instants == 2);
  // Session 8 starts at 1 s: 1 and 5. Session 9 at 2 s: 3 and 3.
  CHECK(made_trace::times(trace) == Times{kSecond, 3 * kSecond, 3 * kSecond, 5 * kSecond});
  CHECK(made_trace::prompts(trace) == Counts{1, 3, 4, 2});
  CHECK(trace.details[2].timeless);
}

TEST_CASE("rows beyond the end of the arrival process are dropped and counted", "[workloads]") {
  Trace trace = made_trace::at({0, 0, 0, 0});
  trace.clock = TraceClock::none;
  TransformOptions options;
  options.arrivals = {.process = ArrivalProcess::piecewise,
                      .burstiness = std::numeric_limits<double>::infinity(),
                      .piecewise = {.segments = {{.duration_s = 2.5, .rate_per_s = 1.0}}}};
  const TransformReport report = transform(trace, options, 1);
  CHECK(made_trace::times(trace) == Times{kSecond, 2 * kSecond});
  CHECK(report.arrivals.rows_dropped == 2);
  CHECK(report.rows_before == 4);
  CHECK(report.rows_after == 2);
}

TEST_CASE("equal stamps are spread evenly up to the next one", "[workloads]") {
  Trace trace = made_trace::at({0, 0, 0, 0, 8, 8, 20});
  const TransformReport report = transform(trace, {.spread_ties = SpreadTies::even}, 1);
  CHECK(made_trace::times(trace) == Times{0, 2, 4, 6, 8, 14, 20});
  CHECK(made_trace::prompts(trace) == Counts{1, 2, 3, 4, 5, 6, 7});
  CHECK(report.ties.stamps == 2);
  CHECK(report.ties.rows_moved == 4);
}

TEST_CASE("the last stamp is spread over the gap before it", "[workloads]") {
  Trace trace = made_trace::at({0, 10, 10});
  CHECK(transform(trace, {.spread_ties = SpreadTies::even}, 1).ties.rows_moved == 1);
  CHECK(made_trace::times(trace) == Times{0, 10, 15});
  // A gap of 2 ns has two places, 0 and 1: floor(j * 2 / 3) is 0, 0, 1.
  trace = made_trace::at({0, 0, 0, 2});
  static_cast<void>(transform(trace, {.spread_ties = SpreadTies::even}, 1));
  CHECK(made_trace::times(trace) == Times{0, 0, 1, 2});
  trace = made_trace::at({5, 5});
  const TransformReport report = transform(trace, {.spread_ties = SpreadTies::random}, 1);
  CHECK(made_trace::times(trace) == Times{5, 5});
  CHECK(report.ties.stamps == 1);
  CHECK(report.ties.rows_moved == 0);
}

TEST_CASE("a row without a time of its own goes with the row before it", "[workloads]") {
  Trace trace = made_trace::of({{.prompt_tokens = 1},
                                {.prompt_tokens = 2, .session = 1},
                                {.prompt_tokens = 3},
                                {.prompt_tokens = 4, .session = 1, .timeless = true},
                                {.time_ns = 9, .prompt_tokens = 5}});
  const TransformReport report = transform(trace, {.spread_ties = SpreadTies::even}, 1);
  CHECK(made_trace::times(trace) == Times{0, 3, 3, 6, 9});
  CHECK(made_trace::prompts(trace) == Counts{1, 2, 4, 3, 5});
  CHECK(report.ties.rows_moved == 2);
}

TEST_CASE("equal stamps are spread at random within the gap", "[workloads]") {
  constexpr TimeNs kGap = 1'000'000'000;
  Times stamps(1000, 0);
  stamps.push_back(kGap);
  Trace trace = made_trace::at(stamps);
  static_cast<void>(transform(trace, {.spread_ties = SpreadTies::random}, 1));
  CHECK(made_trace::is_sound(trace));
  CHECK(made_trace::prompts(trace) == made_trace::prompts(made_trace::at(stamps)));
  CHECK(trace.rows[999].time_ns < kGap);
  double sum = 0;
  for (std::size_t i = 0; i < 1000; ++i) sum += static_cast<double>(trace.rows[i].time_ns);
  const double mean = sum / 1000 / kGap;
  const double four_errors = 4 * 0.288675 / 31.6228;  // sd of a uniform: 1/sqrt(12); sqrt(1000)
  CHECK(std::abs(mean - 0.5) < four_errors);
  CHECK(std::abs(mean - 0.45) > four_errors);  // not over nine tenths of the gap

  Trace again = made_trace::at(stamps);
  static_cast<void>(transform(again, {.spread_ties = SpreadTies::random}, 1));
  CHECK(made_trace::times(again) == made_trace::times(trace));
  Trace other = made_trace::at(stamps);
  static_cast<void>(transform(other, {.spread_ties = SpreadTies::random}, 2));
  CHECK(made_trace::times(other) != made_trace::times(trace));
}

TEST_CASE("a smaller share keeps rows of a larger one, and about as many as it says",
          "[workloads]") {
  const auto kept = [](double share) {
    Trace trace = made_trace::at(Times(10'000, 0));
    const TransformReport report = transform(trace, {.keep = share}, 3);
    CHECK(report.thinning.rows_dropped + report.rows_after == 10'000);
    return made_trace::prompts(trace);
  };
  const Counts few = kept(0.2);
  const Counts more = kept(0.3);
  CHECK(std::ranges::includes(more, few));
  const double four_errors = 4 * std::sqrt(10'000 * 0.3 * 0.7);
  const auto count = static_cast<double>(more.size());
  CHECK(std::abs(count - 3000) < four_errors);
  CHECK(std::abs(count - 3300) > four_errors);  // of a share of 0.33
  CHECK(kept(1.0).size() == 10'000);
}

TEST_CASE("sessions stay or go whole", "[workloads]") {
  Trace trace = made_trace::random(5, 400);
  std::vector<std::int64_t> rows_of(10);
  for (const TraceDetail& d : trace.details) {
    if (d.session != kNoSession) ++rows_of[d.session];
  }
  const TransformReport report = transform(trace, {.keep = 0.5}, 5);
  std::vector<std::int64_t> kept_of(10);
  for (const TraceDetail& d : trace.details) {
    if (d.session != kNoSession) ++kept_of[d.session];
  }
  std::int64_t gone = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK((kept_of[i] == 0 || kept_of[i] == rows_of[i]));
    gone += kept_of[i] == 0 ? 1 : 0;
  }
  CHECK(report.thinning.sessions_dropped == gone);
  CHECK((gone > 0 && gone < 10));
  CHECK(made_trace::is_sound(trace));
}

TEST_CASE("times are divided by the rate scale, to the nearest ns", "[workloads]") {
  Trace trace = made_trace::of({{.time_ns = 0}, {.time_ns = 10, .session = 1}, {.time_ns = 15}});
  trace.details[2] = {.session = 1, .after_previous_ns = 30};
  static_cast<void>(transform(trace, {.rate_scale = 2.0}, 1));
  CHECK(made_trace::times(trace) == Times{0, 5, 8});  // 7.5 is rounded up
  CHECK(trace.details[2].after_previous_ns == 30);
  trace = made_trace::at({0, 10, 15});
  static_cast<void>(transform(trace, {.rate_scale = 0.3}, 1));
  CHECK(made_trace::times(trace) == Times{0, 33, 50});  // 33.3; 50 exactly
  // Whole numbers all the way: in doubles 2^60 + 2 has no exact quotient.
  trace = made_trace::at({(TimeNs{1} << 60) + 2});
  static_cast<void>(transform(trace, {.rate_scale = 2.0}, 1));
  CHECK(made_trace::times(trace) == Times{(TimeNs{1} << 59) + 1});
}

TEST_CASE("all steps together leave a sound trace whose report adds up", "[workloads]") {
  TransformOptions options;
  options.spread_ties = SpreadTies::random;
  options.keep = 0.7;
  options.input_tokens_factor = 1.3;
  options.output_tokens_factor = 0.8;
  options.thinking_tokens_factor = 1.7;
  options.added_thinking_tokens = LengthOptions{.law = LengthLaw::uniform, .min = 1, .max = 50};
  options.documents = {.share = 0.4,
                       .tokens = {.law = LengthLaw::lognormal, .median = 300.0, .sigma = 0.5},
                       .count = 5,
                       .exponent = 1.0};
  options.max_prompt_tokens = 250;
  options.max_output_tokens = 60;
  options.session_prefix = SessionPrefix::history;
  options.rate_scale = 3.0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Trace kept = made_trace::random(seed, 300);
    static_cast<void>(transform(kept, {.keep = 0.7}, seed));
    const made_trace::Sums before = made_trace::sums(kept);
    Trace trace = made_trace::random(seed, 300);
    const TransformReport report = transform(trace, options, seed);
    const made_trace::Sums after = made_trace::sums(trace);
    CHECK(made_trace::is_sound(trace));
    CHECK(report.rows_before == 300);
    CHECK(report.rows_before - report.thinning.rows_dropped == report.rows_after);
    CHECK(before.prompt + report.tokens.prompt_tokens_change + report.documents.tokens -
              report.caps.prompt_tokens_cut ==
          after.prompt);
    CHECK(before.output + report.tokens.output_tokens_change + report.tokens.thinking_tokens_added -
              report.caps.output_tokens_cut ==
          after.output);
    Trace again = made_trace::random(seed, 300);
    static_cast<void>(transform(again, options, seed));
    CHECK(made_trace::text(again) == made_trace::text(trace));
    options.copies = 3;
    Trace copies = made_trace::random(seed, 300);
    CHECK(transform(copies, options, seed).rows_after == 3 * report.rows_after);
    CHECK(made_trace::is_sound(copies));
    options.copies = 1;
  }
}

TEST_CASE("transformations of a trace out of range are refused, and change nothing",
          "[workloads]") {
  const auto refuses = [](const TransformOptions& options, const std::string& message) {
    Trace trace = made_trace::random(1, 20);
    const std::string before = made_trace::text(trace);
    CHECK_THROWS_MATCHES(transform(trace, options, 1), ConfigError, Catch::Message(message));
    CHECK(made_trace::text(trace) == before);
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  refuses({.arrivals = ArrivalOptions{}},
          "trace: arrivals: the trace has its own arrival times, so no rate is set (--rate); "
          "rate_scale (--set workload.trace.rate_scale=2) makes them denser");
  refuses({.keep = 0.0}, "trace: keep is 0; allowed: above 0, at most 1");
  refuses({.keep = 1.1}, "trace: keep is 1.1; allowed: above 0, at most 1");
  refuses({.keep = kNan}, "trace: keep is nan; allowed: above 0, at most 1");
  refuses({.input_tokens_factor = 0.0}, "trace: input_tokens_factor is 0; allowed: 0.001 .. 1000");
  refuses({.output_tokens_factor = 1001.0},
          "trace: output_tokens_factor is 1001; allowed: 0.001 .. 1000");
  refuses({.thinking_tokens_factor = -1.0},
          "trace: thinking_tokens_factor is -1; allowed: 0.001 .. 1000");
  refuses({.added_thinking_tokens = LengthOptions{.tokens = 0}},
          "lengths/thinking: tokens is 0; allowed: 1 .. 2147483647 tokens");
  refuses({.documents = {.share = 1.5}}, "trace: documents: share is 1.5; allowed: 0 .. 1");
  refuses({.documents = {.share = kNan}}, "trace: documents: share is nan; allowed: 0 .. 1");
  refuses({.documents = {.share = 0.5, .tokens = {.tokens = 0}}},
          "lengths/document: tokens is 0; allowed: 1 .. 2147483647 tokens");
  refuses({.documents = {.count = -1}}, "trace: documents: count is -1; allowed: 0 .. 1000000");
  refuses({.documents = {.count = 1'000'001}},
          "trace: documents: count is 1000001; allowed: 0 .. 1000000");
  refuses({.documents = {.exponent = 21.0}}, "trace: documents: exponent is 21; allowed: 0 .. 20");
  refuses({.max_prompt_tokens = 0},
          "trace: max_prompt_tokens is 0; allowed: 1 .. 2147483647 tokens");
  refuses({.max_output_tokens = std::int64_t{1} << 31},
          "trace: max_output_tokens is 2147483648; allowed: 1 .. 2147483647 tokens");
  refuses({.rate_scale = 0.0}, "trace: rate_scale is 0; allowed: 0.001 .. 1000000");
  refuses({.rate_scale = kNan}, "trace: rate_scale is nan; allowed: 0.001 .. 1000000");
  refuses({.copies = 0},
          "trace: copies is 0; allowed: 1 or more, less than 4294967295 rows in all (20 in one)");
  refuses({.copies = 214'748'365},
          "trace: copies is 214748365; allowed: 1 or more, less than 4294967295 rows in all (20 in "
          "one)");
  refuses({.copies_shift_ns = -1}, "trace: copies_shift is -1 ns; allowed: 0 or more");
}

TEST_CASE("a trace without a clock needs arrivals", "[workloads]") {
  Trace trace = made_trace::at({0, 0});
  trace.clock = TraceClock::none;
  CHECK_THROWS_MATCHES(
      transform(trace, {}, 1), ConfigError,
      Catch::Message("trace: arrivals: required (--rate), because the trace has no arrival times"));
  trace.clock = TraceClock::per_session;
  CHECK_THROWS_MATCHES(transform(trace, {}, 1), ConfigError,
                       Catch::Message("trace: arrivals: required (--rate), because the trace has "
                                      "no arrival times for its sessions"));
}

TEST_CASE("instants and counts that an option makes too large are refused", "[workloads]") {
  const std::string kAllowed = "; allowed: up to 9000000000000000000 ns (285 years)";
  const auto refuses = [](Trace trace, const TransformOptions& options,
                          const std::string& message) {
    CHECK_THROWS_MATCHES(transform(trace, options, 1), ConfigError, Catch::Message(message));
  };
  refuses(made_trace::at({0, TimeNs{1} << 60}), {.rate_scale = 0.1},
          "trace : rate_scale: row 2 in order of time comes at 1.153e+19 ns" + kAllowed);
  refuses(made_trace::at({0, kNever - 8}), {.copies = 2},
          "trace : copies: row 2 in order of time comes at 1.845e+19 ns" + kAllowed);
  Trace late = made_trace::of({{.time_ns = kNever - 1, .session = 1}});
  late.clock = TraceClock::per_session;
  refuses(late, every_second(),
          "trace : arrivals: row 1 in order of time comes at 9.223e+18 ns" + kAllowed);
  const Trace longest = made_trace::of({{.prompt_tokens = INT32_MAX, .output_tokens = INT32_MAX}});
  refuses(longest, {.input_tokens_factor = 2.0},
          "trace: input_tokens_factor: 2147483647 tokens become more than 2147483647, the longest "
          "allowed");
  refuses(longest, {.output_tokens_factor = 2.0},
          "trace: output_tokens_factor and thinking_tokens_factor: 2147483647 tokens become more "
          "than 2147483647, the longest allowed");
  refuses(
      longest, {.added_thinking_tokens = LengthOptions{.tokens = 1}},
      "trace: added_thinking_tokens: 2147483647 tokens become more than 2147483647, the longest "
      "allowed");
  refuses(longest, {.documents = {.share = 1.0, .tokens = {.tokens = 7}}},
          "trace: documents: one of 7 tokens makes a prompt of 2147483647 longer than 2147483647, "
          "the longest allowed");
}

}  // namespace headroom::trace_transform_test
