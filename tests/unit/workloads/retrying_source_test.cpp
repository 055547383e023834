#include "workloads/retrying_source.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "tests/unit/workloads/traffic_text.hpp"

namespace headroom::test::retrying_source_test {
namespace {

constexpr TimeNs kSecond = kNsPerSecond;

// Requests at given times, number n with n + 1 prompt tokens; remembers who left, and when.
class ListedSource final : public WorkloadSource {
 public:
  explicit ListedSource(std::vector<TimeNs> times) : times_(std::move(times)) {}
  [[nodiscard]] TimeNs next_time() override { return at_ == times_.size() ? kNever : times_[at_]; }
  [[nodiscard]] Arrival take() override {
    Arrival arrival = like;
    arrival.time_ns = times_[at_++];
    arrival.prompt_tokens = static_cast<std::int32_t>(at_);
    return arrival;
  }
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override {
    left += fmt::format("{}:{}:{} ", index, outcome == Outcome::finished ? "ok" : "no", now_ns);
  }

  Arrival like = {.output_tokens = 7};
  std::string left;

 private:
  std::vector<TimeNs> times_;
  std::size_t at_ = 0;
};

struct Clients {
  explicit Clients(std::vector<TimeNs> times, const RetryOptions& options = {})
      : made(std::make_unique<ListedSource>(std::move(times))),
        inner(*made),
        retrying(std::move(made), options, 1) {}

  std::unique_ptr<ListedSource> made;  // until `retrying` owns it
  ListedSource& inner;
  RetryingSource retrying;
};

// Every request leaves so long after its arrival; it fails until it has been sent `attempts` times.
ServiceOf failing(TimeNs duration_ns, Outcome outcome, int attempts) {
  return [=, sent = std::map<std::int32_t, int>()](const Arrival& a, std::uint64_t) mutable {
    const bool fails = ++sent[a.prompt_tokens] < attempts;
    return Service{duration_ns, fails ? outcome : Outcome::finished};
  };
}

// "12:3": at 12 the request with 3 prompt tokens.
std::string sent(const std::vector<ServedRequest>& requests) {
  std::string all;
  for (const ServedRequest& r : requests) {
    all += fmt::format("{}:{} ", r.arrival.time_ns, r.arrival.prompt_tokens);
  }
  return all;
}

}  // namespace

TEST_CASE("a request whose answer was lost comes again as it was", "[workloads]") {
  Clients clients({100}, {.max_attempts = 2, .delay_ns = 5});
  const std::vector<PrefixSegment> prefix{{.id = 4, .tokens = 1}};
  clients.inner.like = {.output_tokens = 7,
                        .max_tokens = 9,
                        .class_id = 2,
                        .priority = -1,
                        .session = 6,
                        .first_token_deadline_ns = 130,
                        .deadline_ns = 180,
                        .prefix = prefix,
                        .output_segment = 8};
  const auto all = serve(clients.retrying, failing(10, Outcome::lost_to_oom, 2));
  REQUIRE(all.size() == 2);
  // Lost at 110, sent again 5 later. The client waits 30 and 80 for tokens, each time.
  Arrival expected = clients.inner.like;
  expected.prompt_tokens = 1;
  expected.time_ns = 115;
  expected.first_token_deadline_ns = 145;
  expected.deadline_ns = 195;
  expected.prefix = {};  // `serve` compares it before it lets go of it
  CHECK(text(all[1].arrival) == text(expected));
  CHECK(all[1].prefix == prefix);
}

TEST_CASE("a workload hears of a request when its last attempt is over", "[workloads]") {
  // Of three requests at 0, 1 and 2 the second fails at 11 and at 31 and has its answer at 51.
  Clients clients({0, 1, 2}, {.max_attempts = 3, .delay_ns = 10});
  const auto service = [](const Arrival& a, std::uint64_t index) {
    return Service{10, a.prompt_tokens == 2 && index < 4 ? Outcome::cancelled : Outcome::finished};
  };
  CHECK(sent(serve(clients.retrying, service)) == "0:1 1:2 2:3 21:2 41:2 ");
  CHECK(clients.inner.left == "0:ok:10 2:ok:12 1:ok:51 ");  // by its own numbers
  CHECK(clients.retrying.open_requests() == 0);
}

TEST_CASE("clients give up after the last attempt", "[workloads]") {
  Clients clients({0}, {.max_attempts = 3, .delay_ns = 4});
  CHECK(sent(serve(clients.retrying, failing(1, Outcome::lost_to_oom, 99))) == "0:1 5:1 10:1 ");
  CHECK(clients.inner.left == "0:no:11 ");
  CHECK(clients.retrying.totals().after_loss == 2);
  CHECK(clients.retrying.totals().sent_again() == 2);
  CHECK(clients.retrying.totals().given_up == 1);
}

TEST_CASE("at one time new requests come first, then failures in their order", "[workloads]") {
  // Requests at 0, 0 and 3 leave at 8, 7 and 7: the third fails behind the second. All are due
  // again at 20 when the fourth is new.
  Clients clients({0, 0, 3, 20}, {.max_attempts = 2, .delay_ns = 0});
  RetryingSource& source = clients.retrying;
  for (int i = 0; i < 3; ++i) static_cast<void>(source.take());
  source.on_done(1, Outcome::cancelled, 20);
  source.on_done(2, Outcome::cancelled, 20);
  source.on_done(0, Outcome::lost_to_oom, 20);
  std::string order;
  for (int i = 0; i < 4; ++i) {
    CHECK(source.next_time() == 20);
    order += fmt::format("{} ", source.take().prompt_tokens);
  }
  CHECK(order == "4 2 3 1 ");
  CHECK(source.next_time() == kNever);
}

TEST_CASE("a delay stays, or doubles with each attempt", "[workloads]") {
  RetryOptions options{.max_attempts = 5, .delay_ns = 100};
  const auto attempts = [&] {
    Clients clients({0}, options);
    return sent(serve(clients.retrying, failing(1, Outcome::cancelled, 99)));  // each takes 1
  };
  CHECK(attempts() == "0:1 101:1 202:1 303:1 404:1 ");
  options.backoff = RetryBackoff::exponential;  // 100, 200, 400, 800
  CHECK(attempts() == "0:1 101:1 302:1 703:1 1504:1 ");
}

TEST_CASE("delays that the clock does not hold are never over", "[workloads]") {
  // 2^61, 2^62 and once more 2^62 ns, of 2^63 - 1.
  Clients clients({0}, {.max_attempts = 9,
                        .delay_ns = TimeNs{1} << 61,
                        .backoff = RetryBackoff::exponential,
                        .jitter = 0.0});
  const auto all = serve(clients.retrying, failing(0, Outcome::cancelled, 99));
  CHECK(all.size() == 3);
  CHECK(all.back().arrival.time_ns == 3 * (TimeNs{1} << 61));
  CHECK(clients.retrying.open_requests() == 1);
}

TEST_CASE("each outcome is retried or not as the options say", "[workloads]") {
  const auto attempts = [](Outcome outcome, const RetryOptions& options) {
    Clients clients({0}, options);
    return serve(clients.retrying, failing(1, outcome, 99)).size();
  };
  const RetryOptions usual{.max_attempts = 2};
  CHECK(attempts(Outcome::lost_to_oom, usual) == 2);
  CHECK(attempts(Outcome::cancelled, usual) == 2);
  CHECK(attempts(Outcome::rejected, usual) == 1);  // it may be too long
  const RetryOptions other{
      .max_attempts = 2, .on_lost_to_oom = false, .on_rejected = true, .on_cancelled = false};
  CHECK(attempts(Outcome::lost_to_oom, other) == 1);
  CHECK(attempts(Outcome::cancelled, other) == 1);
  CHECK(attempts(Outcome::rejected, other) == 2);
}

TEST_CASE("jitter shortens each delay by its own share of chance", "[workloads]") {
  const RetryOptions options{.max_attempts = 2, .delay_ns = 1'000'000, .jitter = 0.25};
  Clients clients(std::vector<TimeNs>(4000, 0), options);
  double sum = 0;
  for (const ServedRequest& r : serve(clients.retrying, failing(0, Outcome::cancelled, 2))) {
    if (r.arrival.time_ns == 0) continue;
    CHECK(r.arrival.time_ns > 750'000);
    CHECK(r.arrival.time_ns <= 1'000'000);
    sum += static_cast<double>(r.arrival.time_ns);
  }
  // Uniform: mean 875,000; its standard deviation 250,000 / sqrt(12 * 4000) = 1,141.
  CHECK(std::abs(sum / 4000 - 875'000) < 4 * 1141);
}

TEST_CASE("what one client draws depends on no other one", "[workloads]") {
  const RetryOptions options{
      .max_attempts = 4, .delay_ns = kSecond, .backoff = RetryBackoff::exponential, .jitter = 1};
  const auto attempts_of_third = [&](bool all_fail) {
    Clients clients({0, 0, 0, 0}, options);
    std::string times;
    for (const ServedRequest& r : serve(clients.retrying, [&](const Arrival&a, std::uint64_t) {
           const bool fails = all_fail || a.prompt_tokens == 3;
           return Service{1, fails ? Outcome::lost_to_oom : Outcome::finished};
         })) {
      if (r.arrival.prompt_tokens == 3) times += fmt::format("{} ", r.arrival.time_ns);
    }
    return times;
  };
  CHECK(attempts_of_third(true) == attempts_of_third(false));
}

TEST_CASE("a session goes on behind the attempt that brought the answer", "[workloads]") {
  TrafficSource alone(sessions(30), 4);
  const auto expected = by_session(serve(alone, after(kSecond)));

  auto source = std::make_unique<TrafficSource>(sessions(30), 4);
  const TrafficTotals& totals = source->totals();
  RetryingSource retrying(std::move(source), {.max_attempts = 3, .delay_ns = 2 * kSecond}, 4);
  // Every turn fails twice: prompts of one session differ, for each is longer than the one before.
  std::map<std::pair<std::uint64_t, std::int32_t>, int> sent;
  const auto served = by_session(serve(retrying, [&](const Arrival& a, std::uint64_t) {
    const bool fails = ++sent[{a.session, a.prompt_tokens}] < 3;
    return Service{kSecond, fails ? Outcome::cancelled : Outcome::finished};
  }));
  REQUIRE(served.size() == 30);
  for (std::size_t s = 0; s < served.size(); ++s) {
    REQUIRE(served[s].size() == 12);
    for (std::size_t i = 0; i < 12; ++i) {
      // Attempts of a turn are 1 + 2 s apart, turns 1 + 10 s of thinking.
      const ServedRequest& turn = expected[s][i / 3];
      const TimeNs start_ns = expected[s][0].arrival.time_ns;
      const auto turns = static_cast<TimeNs>(i / 3);
      CHECK(served[s][i].arrival.time_ns ==
            start_ns + turns * 17 * kSecond + static_cast<TimeNs>(i % 3) * 3 * kSecond);
      CHECK(served[s][i].arrival.prompt_tokens == turn.arrival.prompt_tokens);
      CHECK(served[s][i].prefix == turn.prefix);
    }
  }
  CHECK(totals.sessions_completed == 30);
  CHECK(retrying.totals().after_cancellation == 30 * 4 * 2);
}

TEST_CASE("a session ends when its client has given up", "[workloads]") {
  auto source = std::make_unique<TrafficSource>(sessions(30), 4);
  const TrafficTotals& totals = source->totals();
  RetryingSource retrying(std::move(source), {.max_attempts = 2, .delay_ns = kSecond}, 4);
  static_cast<void>(serve(retrying, failing(kSecond, Outcome::lost_to_oom, 1'000'000)));
  CHECK(totals.turns_sent == 30);  // as the session knows it
  CHECK(totals.ended_lost == 30);
  CHECK(retrying.totals().requests == 30);
  CHECK(retrying.totals().after_loss == 30);
  CHECK(retrying.totals().given_up == 30);
}

TEST_CASE("users of a closed loop wait while they try again", "[workloads]") {
  TrafficOptions options = chat(40);
  options.closed_loop = ClosedLoopOptions{.users = 1, .think_time = fixed_time(5.0)};
  RetryingSource retrying(std::make_unique<TrafficSource>(options, 4),
                          {.max_attempts = 2, .delay_ns = kSecond}, 4);
  const auto all = serve(retrying, [](const Arrival&, std::uint64_t index) {
    return Service{kSecond, index % 2 == 0 ? Outcome::lost_to_oom : Outcome::finished};
  });
  REQUIRE(all.size() == 80);
  for (std::size_t i = 0; i < 80; ++i) {
    // 1 s until it is lost, 1 s, 1 s until the answer, 5 s of thinking.
    const TimeNs second = static_cast<TimeNs>(i / 2) * 8 + static_cast<TimeNs>(i % 2) * 2;
    CHECK(all[i].arrival.time_ns == second * kSecond);
  }
}

TEST_CASE("where nothing fails the workload is as it was", "[workloads]") {
  TrafficSource alone(sessions(40), 4);
  const auto expected = serve(alone, after(kSecond));
  RetryingSource retrying(std::make_unique<TrafficSource>(sessions(40), 4), {.max_attempts = 3}, 4);
  const auto all = serve(retrying, after(kSecond));
  REQUIRE(all.size() == expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(text(all[i].arrival) == text(expected[i].arrival));
  }
  CHECK(retrying.totals().requests == 160);
  CHECK(retrying.totals().sent_again() == 0);
  CHECK(retrying.totals().given_up == 0);
}

TEST_CASE("every request is accounted for, whatever becomes of it", "[workloads]") {
  const RetryOptions options{.max_attempts = 3,
                             .delay_ns = kSecond / 7,
                             .backoff = RetryBackoff::exponential,
                             .jitter = 0.5,
                             .on_rejected = true};
  // The index alone decides: 2 of 7 requests have their answer.
  const auto service = [](const Arrival&, std::uint64_t index) {
    constexpr Outcome kOutcomes[] = {Outcome::finished,    Outcome::rejected,  Outcome::cancelled,
                                     Outcome::lost_to_oom, Outcome::cancelled, Outcome::finished,
                                     Outcome::lost_to_oom};
    const std::uint64_t mixed = mixed_id(index, 3);
    return Service{static_cast<TimeNs>(mixed % 1000) * 1'000'000, kOutcomes[mixed % 7]};
  };
  const auto run = [&](RetryTotals& totals) {
    RetryingSource retrying(std::make_unique<TrafficSource>(sessions(500), 9), options, 9);
    std::string order = sent(serve(retrying, service));
    totals = retrying.totals();
    CHECK(retrying.open_requests() == 0);
    return order;
  };
  RetryTotals totals;
  RetryTotals again;
  const std::string order = run(totals);
  CHECK(order == run(again));
  CHECK(totals.given_up == again.given_up);
  std::int64_t sent_in_all = 0;
  for (const char c : order) sent_in_all += c == ' ' ? 1 : 0;
  CHECK(sent_in_all == totals.requests + totals.sent_again());
  CHECK(totals.after_rejection > 0);
  // Of 5 failures in 7: each request is sent at most 3 times, and given up in (5/7)^3 = 0.364 of
  // the cases.
  const double share = static_cast<double>(totals.given_up) / static_cast<double>(totals.requests);
  CHECK(std::abs(share - 0.364) < 4 * std::sqrt(0.25 / static_cast<double>(totals.requests)));
}

TEST_CASE("a retrying workload refuses what cannot be", "[workloads]") {
  Clients clients({0}, {.max_attempts = 2});
  static_cast<void>(clients.retrying.take());
  CHECK_THROWS_AS(clients.retrying.on_done(1, Outcome::finished, 1), InternalError);
  CHECK_THROWS_AS(Clients({0}, {.max_attempts = 0}), ConfigError);
  CHECK_THROWS_AS(Clients({0}, {.delay_ns = -1}), ConfigError);
  CHECK_THROWS_AS(Clients({0}, {.jitter = 1.5}), ConfigError);
  CHECK_THROWS_AS(Clients({0}, {.jitter = std::nan("")}), ConfigError);
}

}  // namespace headroom::test::retrying_source_test
