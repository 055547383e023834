// What the figures of a watched server mean.

#include <catch2/catch.hpp>

#include "sim/observe/watch_verdict.hpp"

namespace headroom::watch_verdict_test {
namespace {

// 5 requests/s over 100 s: 500 of them, known to 2 x sqrt(500) = 45, or 0.45 requests/s.
WatchedTraffic traffic() {
  WatchedTraffic t;
  t.seconds = 100;
  t.reads = 10;
  t.running = 20;
  t.waiting = 0;
  t.kv_share = 0.5;
  t.pool_tokens = 10'000;
  t.arrivals_per_s = 5;
  t.preemptions = 0;
  t.waiting_per_s = 0;
  t.kv_share_per_s = 0;
  return t;
}

WatchLimit limit_of(double rate) { return {.rate = rate, .breaks = "prefill is too slow"}; }

HoldVerdict verdict_of(const WatchedTraffic& t) { return watch_verdict(t, nullptr).verdict; }

}  // namespace

TEST_CASE("the largest rate says what is left") {
  const auto at = [](double rate) {
    const WatchLimit limit = limit_of(rate);
    return watch_verdict(traffic(), &limit);
  };
  CHECK(at(10).verdict == HoldVerdict::holds);
  CHECK(at(10).rate_left == Approx(5));
  CHECK(at(10).first == "prefill is too slow");
  CHECK(at(6.2).verdict == HoldVerdict::tight);  // 5 are more than 0.8 of it
  CHECK(at(4.6).verdict == HoldVerdict::tight);  // the count may be by chance
  CHECK(at(4.5).verdict == HoldVerdict::does_not_hold);
  CHECK(at(4.5).rate_left == Approx(-0.5));
  WatchLimit none = limit_of(0);
  none.rate.reset();
  CHECK(watch_verdict(traffic(), &none).verdict == HoldVerdict::does_not_hold);
}

TEST_CASE("a pool that fills says when") {
  WatchedTraffic t = traffic();
  t.kv_share_per_s = 0.001;  // 10 tokens/s; half of the pool in 500 s
  WatchVerdict v = watch_verdict(t, nullptr);
  CHECK(v.verdict == HoldVerdict::tight);
  CHECK(v.tokens_left == Approx(5000));
  CHECK(v.tokens_per_s == Approx(10));
  CHECK(v.seconds_until_full == Approx(500));
  t.kv_share_per_s = 0.0005;  // in 1,000 s
  CHECK(verdict_of(t) == HoldVerdict::holds);
  t.kv_share_per_s = 0.00005;  // less than a hundredth of the pool in the window
  CHECK_FALSE(watch_verdict(t, nullptr).seconds_until_full);
  t.kv_share_per_s = -0.01;
  CHECK_FALSE(watch_verdict(t, nullptr).seconds_until_full);
  t.kv_share = 0.95;
  CHECK(verdict_of(t) == HoldVerdict::tight);
}

TEST_CASE("preemptions and a growing queue do not hold") {
  WatchedTraffic t = traffic();
  CHECK(verdict_of(t) == HoldVerdict::holds);
  t.preemptions = 1;
  CHECK(verdict_of(t) == HoldVerdict::does_not_hold);
  t.preemptions = 0;
  t.waiting = 5;
  CHECK(verdict_of(t) == HoldVerdict::holds);  // they wait, but no more than before
  t.waiting_per_s = 0.05;                      // 5 in the window, a quarter of the batch
  CHECK(verdict_of(t) == HoldVerdict::does_not_hold);
}

TEST_CASE(
    "a simulated pool replaces blocks times block size, and other lengths are simulated anew") {
  WatchLimit limit = limit_of(10);
  limit.pool_tokens = 8000;
  limit.mean_prompt_tokens = 100;
  limit.mean_output_tokens = 20;
  CHECK(watch_verdict(traffic(), &limit).tokens_left == Approx(4000));
  WatchedTraffic t = traffic();
  CHECK_FALSE(is_outdated(limit, t));  // none has ended
  t.prompt = LengthHistogram{{}, {}, 1090, 10};
  t.output = LengthHistogram{{}, {}, 200, 10};
  CHECK_FALSE(is_outdated(limit, t));
  t.prompt->sum = 1110;
  CHECK(is_outdated(limit, t));
}

}  // namespace headroom::watch_verdict_test
