// The parts of a trace's profile, each by itself.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/random.hpp"
#include "sim/traces/trace_arrivals.hpp"
#include "sim/traces/trace_lengths.hpp"
#include "sim/traces/trace_prefix.hpp"
#include "sim/traces/trace_reservations.hpp"
#include "workloads/prefix_replay.hpp"

namespace headroom::trace_meters_test {
namespace {

TokenCounts counts_of(const std::vector<std::int32_t>& values) {
  TokenCounts counts;
  for (const std::int32_t value : values) counts.add(value);
  return counts;
}

// numpy's linear interpolation, rounded down, on sorted values.
std::int64_t interpolated(std::vector<std::int32_t> values, std::int64_t percent) {
  std::ranges::sort(values);
  const std::int64_t position = std::ssize(values) - 1;
  const auto below = static_cast<std::size_t>(position * percent / 100);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const std::int64_t step = values[above] - values[below];
  return values[below] + step * (position * percent % 100) / 100;
}

TEST_CASE("percentiles of counted tokens interpolate between ranks and round down") {
  // Ranks 0 .. 3; p50 lies at 1.5 between 4 and 9: 6.5; p90 at 2.7: 9 + 0.7 x 91 = 72.7.
  const TokenCounts counts = counts_of({100, 1, 9, 4});
  CHECK(counts.percentile(50) == 6);
  CHECK(counts.percentile(90) == 72);
  CHECK(counts.percentile(0) == 1);
  CHECK(counts.percentile(100) == 100);
  CHECK(counts.count() == 4);
  CHECK(counts.sum() == 114);
  CHECK(counts.max() == 100);
  CHECK(counts_of({7}).percentile(99) == 7);
  CHECK(TokenCounts().percentile(50) == 0);
  CHECK(TokenCounts().max() == 0);
}

TEST_CASE("counted tokens agree with a sorted list below 2^20") {
  RandomStream random(3, "test/token_counts");
  std::vector<std::int32_t> values;
  for (int i = 0; i < 1000; ++i) {
    const auto power = static_cast<double>(random.uniform_int(0, 19));
    values.push_back(
        static_cast<std::int32_t>(random.uniform_int(0, 1 << static_cast<int>(power))));
    if (i % 100 != 99) continue;
    const TokenCounts counts = counts_of(values);
    for (const std::int64_t percent : {0, 1, 50, 90, 99, 100}) {
      CHECK(counts.percentile(percent) == interpolated(values, percent));
    }
  }
}

TEST_CASE("tokens from 2^20 on are exact in count, sum and maximum, and near in percentiles") {
  constexpr std::int32_t kEnd = TokenCounts::kExactEnd;
  const std::vector<std::int32_t> values{5, kEnd - 1, kEnd, 3'000'001, INT32_MAX};
  TokenCounts counts = counts_of(values);
  CHECK(counts.count() == 5);
  CHECK(counts.sum() == Int128{5} + (kEnd - 1) + kEnd + 3'000'001 + INT32_MAX);
  CHECK(counts.max() == INT32_MAX);
  CHECK(counts.percentile(25) == kEnd - 1);
  CHECK(static_cast<double>(counts.percentile(75)) == Approx(3'000'001).epsilon(0.0005));
  CHECK(counts.percentile(100) <= INT32_MAX);
  CHECK(counts.count_above(kEnd - 1) == 3);
  CHECK(counts.count_by_power()[20] == 1);  // 2^19 .. 2^20 - 1
  CHECK(counts.count_by_power()[21] == 1);
  CHECK(counts.count_by_power()[22] == 1);
  CHECK(counts.count_by_power()[31] == 1);
  TokenCounts merged = counts_of({5, 70'000});
  merged.merge(counts);
  CHECK(merged.count() == 7);
  CHECK(merged.sum() == counts.sum() + 70'005);
  CHECK(merged.max() == INT32_MAX);
}

TEST_CASE("powers of two hold 0, 1, 2 to 3, 4 to 7 and so on") {
  const auto powers = counts_of({0, 0, 1, 2, 3, 4, 7, 8}).count_by_power();
  CHECK(std::vector<std::int64_t>(powers.begin(), powers.begin() + 5) ==
        std::vector<std::int64_t>{2, 1, 2, 2, 1});
  CHECK(first_of_power(0) == 0);
  CHECK(first_of_power(1) == 1);
  CHECK(first_of_power(4) == 8);
}

ArrivalStats arrivals_at(const std::vector<TimeNs>& seconds) {
  ArrivalMeter meter;
  for (const TimeNs s : seconds) meter.add(s * kNsPerSecond);
  return meter.stats();
}

TEST_CASE("arrivals: gaps, ties, and minutes from the first arrival on") {
  // From 1000 s: minutes [0,60) 3, [60,120) 0, [120,180) 0, [180,240) 1, [240,300) 2.
  const ArrivalStats stats = arrivals_at({1000, 1000, 1030, 1180, 1240, 1250});
  CHECK(stats.arrivals == 6);
  CHECK(stats.first_ns == 1000 * kNsPerSecond);
  CHECK(stats.span_ns == 250 * kNsPerSecond);
  CHECK(stats.ties == 1);
  CHECK(stats.longest_silence_ns == 150 * kNsPerSecond);
  CHECK(stats.minutes == 5);
  CHECK(stats.empty_minutes == 2);
  CHECK(stats.peak_minute_arrivals == 3);
  CHECK(stats.rate_per_s.value() == Approx(6.0 / 250));
  CHECK(stats.peak_to_mean.value() == Approx((3.0 / 60) / (6.0 / 250)));
  // Gaps 0, 30, 150, 60, 10: mean 50, squares 900 + 22500 + 3600 + 100 = 27100 / 5 - 2500 = 2920.
  CHECK(stats.gap_cv.value() == Approx(std::sqrt(2920.0) / 50));
}

TEST_CASE("arrivals: a minute begins with its first second, and the peak may be the last one") {
  const ArrivalStats stats = arrivals_at({0, 59, 60, 61, 62});
  CHECK(stats.minutes == 2);
  CHECK(stats.empty_minutes == 0);
  CHECK(stats.peak_minute_arrivals == 3);
}

TEST_CASE("arrivals: what a single time cannot tell is not told") {
  CHECK(arrivals_at({}).arrivals == 0);
  const ArrivalStats one = arrivals_at({5});
  CHECK(one.arrivals == 1);
  CHECK(one.ties == 0);
  CHECK_FALSE(one.rate_per_s.has_value());
  CHECK_FALSE(one.gap_cv.has_value());
  const ArrivalStats ties = arrivals_at({5, 5, 5});
  CHECK(ties.ties == 2);
  CHECK_FALSE(ties.rate_per_s.has_value());
  const ArrivalStats short_span = arrivals_at({0, 59});
  CHECK(short_span.rate_per_s.has_value());
  CHECK_FALSE(short_span.peak_to_mean.has_value());
}

TEST_CASE("arrivals: the longest span a clock can have overflows nothing") {
  ArrivalMeter meter;
  meter.add(0);
  meter.add(INT64_MAX - 1);
  const ArrivalStats stats = meter.stats();
  CHECK(stats.span_ns == INT64_MAX - 1);
  CHECK(stats.gap_cv.value() == 0);
  // Minutes 0 .. floor((2^63 - 2) / 60e9), all but the first and the last empty.
  CHECK(stats.minutes == (INT64_MAX - 1) / 60'000'000'000 + 1);
  CHECK(stats.empty_minutes == stats.minutes - 2);
}

// Prompts that share beginnings, split in different places and lengths.
std::vector<PrefixSegment> random_prompt(RandomStream& random) {
  std::vector<PrefixSegment> prompt;
  for (std::int64_t left = random.uniform_int(0, 6); left > 0; --left) {
    const auto id = static_cast<std::uint64_t>(random.uniform_int(0, 2));
    const auto tokens = static_cast<std::int32_t>(random.uniform_int(1, 3) * 13);
    prompt.push_back({.id = id, .tokens = tokens});
  }
  return prompt;
}

TEST_CASE("whole pieces find the hits that an endless replay finds in blocks") {
  RandomStream random(11, "test/prefix_share");
  PrefixReplay replay({.block_tokens = static_cast<std::int32_t>(PrefixShare::kBlockTokens)});
  PrefixShare share;
  std::int64_t hits = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<PrefixSegment> prompt = random_prompt(random);
    const std::int64_t blocks = replay.add(1000, prompt);
    const std::int64_t tokens = share.add(prompt);
    REQUIRE(tokens == blocks * PrefixShare::kBlockTokens);
    hits += tokens;
  }
  CHECK(hits > 0);
}

Reservations reservations_of(const ReservationOptions& options,
                             const std::vector<std::pair<std::int32_t, std::int32_t>>& requests) {
  ReservationMeter meter(options);
  TokenCounts input;
  TokenCounts output;
  for (const auto& [prompt, answer] : requests) {
    meter.add(prompt, answer);
    input.add(prompt);
    output.add(answer);
  }
  return meter.finish(input, output);
}

TEST_CASE("each max_tokens rule reserves the prompt and what it declares") {
  const Reservations all = reservations_of({.kv_tokens = 3000}, {{100, 10}, {200, 33}, {300, 5}});
  CHECK(all.requests == 3);
  CHECK(all.max_model_len == 512);  // the longest has 305
  REQUIRE(all.rules.size() == 6);
  const auto mean = [&](std::size_t i) { return all.rules[i].mean_reserved_tokens; };
  CHECK(mean(0) == Approx((600.0 + 48) / 3));
  CHECK(all.rules[0].requests_at_once == Approx(3000 / 216.0));
  CHECK(all.rules[0].relative_to_true_output == 1);
  // p99 at 1.98 of the ranks 5, 10, 33: 10 + 0.98 x 23 = 32.54, so one answer is cut.
  CHECK(all.rules[1].limit_tokens == 32);
  CHECK(all.rules[1].cut_answers == 1);
  CHECK(mean(1) == 232);
  CHECK(all.rules[2].limit_tokens == 33);
  CHECK(mean(2) == 233);
  CHECK(all.rules[2].cut_answers == 0);
  CHECK(mean(3) == Approx((600.0 + 15 + 50 + 8) / 3));  // rounded up
  CHECK(mean(4) == Approx((600.0 + 16 + 64 + 8) / 3));
  CHECK(mean(5) == 512);
  CHECK(all.rules[5].requests_at_once == Approx(3000 / 512.0));
  CHECK(all.rules[5].relative_to_true_output == Approx(216.0 / 512));
}

TEST_CASE("max_model_len refuses prompts that fill it and cuts answers that reach it") {
  // 100 + 10 fits into 110; 105 + 33 is cut; 110 and 300 leave no room.
  const Reservations all = reservations_of({.kv_tokens = 1000, .max_model_len = 110},
                                           {{100, 10}, {105, 33}, {110, 1}, {300, 5}});
  const Reservation& rule = all.rules.back();
  CHECK(rule.rule == ReservationRule::max_model_len);
  CHECK(rule.limit_tokens == 110);
  CHECK(rule.refused_requests == 2);
  CHECK(rule.cut_answers == 1);
  CHECK(rule.mean_reserved_tokens == 110);
  const Reservations none = reservations_of({.max_model_len = 50}, {{100, 10}});
  CHECK(none.rules.back().refused_requests == 1);
  CHECK(none.rules.back().requests_at_once == 0);
  CHECK(reservations_of({}, {}).rules.empty());
}

}  // namespace
}  // namespace headroom::trace_meters_test
