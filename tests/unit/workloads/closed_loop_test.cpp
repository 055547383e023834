// Closed loop: users who wait for their answers and think.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/workloads/traffic_text.hpp"
#include "workloads/traffic_source.hpp"

namespace headroom::test::closed_loop_test {
namespace {

constexpr TimeNs kSecond = kNsPerSecond;

// Users of one-turn sessions who think for 10 s.
TrafficOptions users(std::int64_t count, std::int64_t num_requests) {
  TrafficOptions options;
  options.closed_loop = ClosedLoopOptions{.users = count, .think_time = fixed_time(10.0)};
  options.num_requests = num_requests;
  TrafficClass one;
  one.prompt = {.law = LengthLaw::uniform, .min = 1, .max = 1'000'000};
  one.output = {.law = LengthLaw::uniform, .min = 1, .max = 1'000'000};
  options.classes.push_back(one);
  return options;
}

std::vector<ServedRequest> served(const TrafficOptions& options, TimeNs service_ns = kSecond) {
  TrafficSource source(options, 4);
  return serve(source, after(service_ns));
}

// What each session says, by user and the session's rank among the user's.
std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::int64_t>> said(
    const TrafficOptions& options, TimeNs service_ns) {
  const auto count = static_cast<std::uint64_t>(options.closed_loop->users);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::int64_t>> all;
  for (const ServedRequest& request : served(options, service_ns)) {
    const Arrival& a = request.arrival;
    auto& words = all[{a.session % count, a.session / count}];
    words.insert(words.end(), {a.prompt_tokens, a.output_tokens, a.class_id});
  }
  return all;
}

}  // namespace

TEST_CASE("users start at once, in order, or evenly spread", "[workloads]") {
  const auto at_once = served(users(5, 5));
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(at_once[i].arrival.time_ns == 0);
    CHECK(at_once[i].arrival.session == i);
  }
  TrafficOptions spread = users(5, 5);
  spread.closed_loop->start_within_s = 2.0;
  const auto all = served(spread);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(all[i].arrival.time_ns == static_cast<TimeNs>(i) * 400'000'000);
  }
}

TEST_CASE("a user's next session starts a think time after the last one ended", "[workloads]") {
  TrafficOptions options = users(3, 30);
  options.closed_loop->start_within_s = 0.3;
  // Whatever became of it.
  TrafficSource source(options, 4);
  const auto all = serve(source, [](const Arrival&, std::uint64_t index) {
    const Outcome outcomes[] = {Outcome::finished, Outcome::rejected, Outcome::cancelled,
                                Outcome::lost_to_oom};
    return Service{kSecond, outcomes[index % 4]};
  });
  REQUIRE(all.size() == 30);
  for (std::size_t i = 3; i < all.size(); ++i) {
    CHECK(all[i].arrival.session == i);  // user i % 3, session i / 3
    CHECK(all[i].arrival.time_ns == all[i - 3].left_ns + 10 * kSecond);
  }
  CHECK(source.totals().sessions_started == 30);
  CHECK(source.totals().sessions_completed == 30);
  CHECK(source.totals().ended_early() == 0);
}

TEST_CASE("a user's first session comes before the next one of another user in its nanosecond",
          "[workloads]") {
  TrafficOptions options = users(4, 8);
  options.closed_loop = {.users = 4, .think_time = fixed_time(2.0), .start_within_s = 4.0};
  // Users start at 0, 1, 2, 3 s and come back every 1 + 2 s: at 3 s user 3 and user 0.
  const auto all = served(options);
  CHECK(all[3].arrival.session == 3);
  CHECK(all[4].arrival.session == 4);
  CHECK(all[3].arrival.time_ns == all[4].arrival.time_ns);
}

TEST_CASE("there are never more requests than users", "[workloads]") {
  TrafficOptions options = users(7, 5000);
  options.closed_loop->think_time = exponential_time(0.5);
  options.classes[0].sessions.turns = {.law = LengthLaw::uniform, .min = 1, .max = 5};
  options.classes[0].sessions.think_time = exponential_time(0.2);
  TrafficSource source(options, 4);
  std::size_t most = 0;
  const auto all = serve(source, [&](const Arrival& arrival, std::uint64_t) {
    most = std::max(most, source.awaited_requests());
    CHECK(source.live_sessions() <= 7);
    return Service{arrival.output_tokens * TimeNs{1000}};
  });
  CHECK(all.size() == 5000);
  CHECK(most == 7);
  const TrafficTotals& totals = source.totals();
  CHECK(totals.sessions_started == totals.sessions_completed + totals.ended_early());
  CHECK(source.live_sessions() == 0);
}

TEST_CASE("what users say depends neither on the system nor on other users", "[workloads]") {
  TrafficOptions options = users(6, 600);
  options.classes[0].name = "a";
  TrafficClass other = options.classes[0];
  other.name = "b";
  other.class_id = 1;
  options.classes.push_back(other);
  options.classes[0].sessions.turns = {.law = LengthLaw::uniform, .min = 1, .max = 4};
  options.closed_loop->think_time = exponential_time(3.0);
  const auto base = said(options, kSecond);
  std::size_t compared = 0;
  const auto check_same = [&](const auto& changed) {
    compared = 0;
    for (const auto& [session, words] : changed) {
      const auto found = base.find(session);
      if (found == base.end()) continue;
      // One of the two may have been cut off by the number of requests.
      const std::size_t common = std::min(words.size(), found->second.size());
      REQUIRE(std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(common),
                         found->second.begin()));
      ++compared;
    }
    CHECK(compared > 150);
  };
  check_same(said(options, 40 * kSecond));
  options.closed_loop->users = 7;
  check_same(said(options, kSecond));
  options.closed_loop->think_time = fixed_time(1.0);
  check_same(said(options, kSecond));
  std::set<std::vector<std::int64_t>> different;  // and nobody says what another one says
  for (const auto& [session, words] : base) different.insert(words);
  CHECK(different.size() == base.size());
}

TEST_CASE("a closed loop ends with its sessions, its requests or its time", "[workloads]") {
  TrafficOptions options = users(4, 1000);
  options.closed_loop->start_within_s = 100.0;  // the last user starts at 75 s
  options.num_sessions = 10;
  TrafficSource sessions_end(options, 4);
  CHECK(serve(sessions_end, after(kSecond)).size() == 10);
  CHECK(sessions_end.totals().sessions_started == 10);
  CHECK(sessions_end.live_sessions() == 0);
  options.num_sessions.reset();
  options.num_requests = 13;
  CHECK(served(options).size() == 13);
  options.num_requests.reset();
  // User u at 25 u s and every 11 s: before 50 s at 0, 11, 22, 33, 44 and 25, 36, 47.
  options.end_ns = 50 * kSecond;
  CHECK(served(options).size() == 8);
  options.end_ns = 50 * kSecond + 1;  // and user 2
  CHECK(served(options).size() == 9);
}

TEST_CASE("a closed loop without requests or sessions sends none", "[workloads]") {
  TrafficOptions options = users(4, 0);
  CHECK(served(options).empty());
  options.num_requests.reset();
  options.num_sessions = 0;
  CHECK(served(options).empty());
}

TEST_CASE("sessions in progress go on when no more may start", "[workloads]") {
  TrafficOptions options = users(4, 0);
  options.num_requests.reset();
  options.num_sessions = 6;
  options.classes[0].sessions.turns = fixed_tokens(5);
  options.classes[0].sessions.think_time = fixed_time(1.0);
  TrafficSource source(options, 4);
  CHECK(serve(source, after(kSecond)).size() == 30);
  CHECK(source.totals().sessions_completed == 6);
  CHECK(source.totals().ended_early() == 0);
}

TEST_CASE("a user whose session ends early comes back with the next one", "[workloads]") {
  TrafficOptions options = users(1, 6);
  options.classes[0].sessions.turns = fixed_tokens(3);
  TrafficSource source(options, 4);
  const auto all = serve(source, [](const Arrival&, std::uint64_t index) {
    return Service{kSecond, index == 1 ? Outcome::cancelled : Outcome::finished};
  });
  const std::vector<std::uint64_t> expected{0, 0, 1, 1, 1, 2};
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].arrival.session == expected[i]);
  CHECK(source.totals().ended_cancelled == 1);
  CHECK(source.totals().ended_by_limit == 1);
  CHECK(source.totals().turns_dropped == 1 + 2);
  CHECK(all[2].prefix.size() == 1);  // nothing of the session before
}

TEST_CASE("users of shared documents keep their prefix until they leave", "[workloads]") {
  TrafficOptions options = users(50, 3000);
  options.classes[0].documents = {.count = 10, .tokens = fixed_tokens(77)};
  TrafficSource source(options, 4);
  // `serve` compares each prefix when its request leaves with what it was.
  const auto all = serve(source, [](const Arrival& arrival, std::uint64_t) {
    return Service{arrival.output_tokens * TimeNs{1'000'000}};
  });
  for (const ServedRequest& request : all) {
    REQUIRE(request.prefix.size() == 1);
    REQUIRE(request.prefix[0].tokens == 77);
    REQUIRE(request.arrival.output_segment == 0);
  }
}

}  // namespace headroom::test::closed_loop_test
