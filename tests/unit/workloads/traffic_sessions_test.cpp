// Open loop, sessions of several turns.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/workloads/traffic_text.hpp"
#include "workloads/prefix_replay.hpp"
#include "workloads/traffic_source.hpp"

namespace headroom::test::traffic_sessions_test {
namespace {

constexpr TimeNs kSecond = kNsPerSecond;

std::vector<ServedRequest> served(const TrafficOptions& options, TimeNs service_ns = kSecond) {
  TrafficSource source(options, 4);
  return serve(source, after(service_ns));
}

// Everybody is finished after a second, but turn `turn` (from 0) of each session leaves so.
TrafficTotals totals_with(const TrafficOptions& options, std::size_t turn, Outcome outcome) {
  TrafficSource source(options, 4);
  std::vector<std::size_t> turns;  // by session
  const auto requests = serve(source, [&](const Arrival& arrival, std::uint64_t) {
    turns.resize(std::max<std::size_t>(turns.size(), arrival.session + 1));
    const bool is_last = turns[arrival.session]++ == turn;
    return Service{kSecond, is_last ? outcome : Outcome::finished};
  });
  CHECK(static_cast<std::int64_t>(requests.size()) == source.totals().turns_sent);
  CHECK(source.live_sessions() == 0);
  CHECK(source.awaited_requests() == 0);
  return source.totals();
}

void check_accounts(const TrafficTotals& totals, std::int64_t turns_a_session) {
  CHECK(totals.sessions_started == totals.sessions_completed + totals.ended_early());
  CHECK(totals.turns_sent + totals.turns_dropped == totals.sessions_started * turns_a_session);
}

// Lengths of each session's turns, whatever the order in which sessions took their turns.
std::vector<std::string> contents(const std::vector<ServedRequest>& requests) {
  std::vector<std::string> lines;
  for (const auto& turns : by_session(requests)) {
    std::string line = fmt::format("{}:", turns.front().arrival.session);
    for (const ServedRequest& turn : turns) {
      line += fmt::format(" {}+{}", turn.arrival.prompt_tokens, turn.arrival.output_tokens);
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

TEST_CASE("a turn is sent a think time after the one before has left", "[workloads]") {
  const auto all = by_session(served(sessions(50), 3 * kSecond));
  REQUIRE(all.size() == 50);
  for (const auto& turns : all) {
    REQUIRE(turns.size() == 4);
    for (std::size_t k = 1; k < turns.size(); ++k) {
      CHECK(turns[k].arrival.time_ns == turns[k - 1].arrival.time_ns + (3 + 10) * kSecond);
    }
  }
}

TEST_CASE("a prompt is everything said before and the turn's own text", "[workloads]") {
  // Without history the prompts are the own texts alone: the same draws at the same places.
  TrafficOptions alone = sessions(50);
  alone.classes[0].sessions.keeps_history = false;
  const auto texts = by_session(served(alone));
  const auto all = by_session(served(sessions(50)));
  REQUIRE(all.size() == texts.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::int64_t history = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const Arrival& a = all[i][k].arrival;
      CHECK(a.prompt_tokens == history + texts[i][k].arrival.prompt_tokens);
      CHECK(a.output_tokens == texts[i][k].arrival.output_tokens);
      history = a.prompt_tokens + a.output_tokens;
    }
  }
}

TEST_CASE("a chain begins with the chain and the answer of the turn before", "[workloads]") {
  TrafficOptions options = sessions(20);
  options.classes[0].system_prompts = {.count = 2, .tokens = fixed_tokens(70)};
  options.classes[0].documents = {.count = 9, .tokens = fixed_tokens(800)};
  for (const auto& turns : by_session(served(options))) {
    CHECK(turns[0].prefix.size() == 3);
    for (const ServedRequest& turn : turns) {
      CHECK(tokens_of(turn.prefix) == turn.arrival.prompt_tokens);
      CHECK(turn.arrival.output_segment != 0);
    }
    for (std::size_t k = 1; k < turns.size(); ++k) {
      auto expected = turns[k - 1].prefix;
      const Arrival& before = turns[k - 1].arrival;
      expected.push_back({before.output_segment, before.output_tokens});
      auto begin = turns[k].prefix;
      begin.pop_back();  // the own text
      CHECK(begin == expected);
    }
  }
}

TEST_CASE("a prefix cache of prompts finds the prompt of the turn before, and nothing of others",
          "[workloads]") {
  TrafficOptions options = sessions(30);
  PrefixReplay replay({.block_tokens = 1});
  std::vector<std::int64_t> known(30, 0);  // prompt of each session's latest turn
  for (const ServedRequest& turn : served(options)) {
    const Arrival& a = turn.arrival;
    REQUIRE(replay.add(a.prompt_tokens, turn.prefix) == known[a.session]);
    known[a.session] = a.prompt_tokens;
  }
  // A system prompt for all: the first turn of all sessions but one finds it.
  options.classes[0].system_prompts = {.count = 1, .tokens = fixed_tokens(64)};
  PrefixReplay shared({.block_tokens = 1});
  known.assign(30, 64);
  bool is_first = true;
  for (const ServedRequest& turn : served(options)) {
    const Arrival& a = turn.arrival;
    const std::int64_t expected = std::exchange(is_first, false) ? 0 : known[a.session];
    REQUIRE(shared.add(a.prompt_tokens, turn.prefix) == expected);
    known[a.session] = a.prompt_tokens;
  }
}

TEST_CASE("without history turns share their system prompt and document alone", "[workloads]") {
  TrafficOptions options = sessions(20);
  options.classes[0].sessions.keeps_history = false;
  options.classes[0].system_prompts = {.count = 2, .tokens = fixed_tokens(70)};
  options.classes[0].documents = {.count = 9, .tokens = fixed_tokens(800)};
  for (const auto& turns : by_session(served(options))) {
    REQUIRE(turns.size() == 4);
    for (const ServedRequest& turn : turns) {
      CHECK(turn.prefix.size() == 2);
      CHECK(turn.prefix == turns[0].prefix);
      CHECK(turn.arrival.prompt_tokens > 70 + 800);
      CHECK(turn.arrival.prompt_tokens <= 70 + 800 + 200);
      CHECK(turn.arrival.output_segment == 0);
    }
  }
}

TEST_CASE("tools run in their share of the pauses, and users think in the others", "[workloads]") {
  TrafficOptions options = sessions(1000);
  SessionOptions& s = options.classes[0].sessions;
  s.tool_time = fixed_time(2.0);
  s.tool_share = 0.4;
  TrafficSource source(options, 4);
  std::int64_t tools = 0;
  for (const auto& turns : by_session(serve(source, after(kSecond)))) {
    for (std::size_t k = 1; k < turns.size(); ++k) {
      const TimeNs pause_ns = turns[k].arrival.time_ns - turns[k - 1].left_ns;
      REQUIRE((pause_ns == 2 * kSecond || pause_ns == 10 * kSecond));
      tools += pause_ns == 2 * kSecond ? 1 : 0;
    }
  }
  CHECK(source.totals().tool_pauses == tools);
  CHECK(source.totals().think_pauses == 3000 - tools);
  // 1200 of 3000, standard deviation sqrt(3000 * .4 * .6) = 26.8
  CHECK(tools > 1200 - 108);
  CHECK(tools < 1200 + 108);
}

TEST_CASE("a turn that is not answered ends its session, and says why", "[workloads]") {
  const TrafficTotals finished = totals_with(sessions(40), 9, Outcome::rejected);
  CHECK(finished.sessions_completed == 40);
  CHECK(finished.turns_sent == 160);
  CHECK(finished.ended_early() == 0);
  CHECK(finished.think_pauses == 120);
  check_accounts(finished, 4);

  const TrafficTotals rejected = totals_with(sessions(40), 0, Outcome::rejected);
  CHECK(rejected.ended_rejected == 40);
  CHECK(rejected.turns_dropped == 120);
  check_accounts(rejected, 4);
  const TrafficTotals cancelled = totals_with(sessions(40), 1, Outcome::cancelled);
  CHECK(cancelled.ended_cancelled == 40);
  CHECK(cancelled.turns_sent == 80);
  check_accounts(cancelled, 4);
  const TrafficTotals lost = totals_with(sessions(40), 2, Outcome::lost_to_oom);
  CHECK(lost.ended_lost == 40);
  CHECK(lost.turns_dropped == 40);
  check_accounts(lost, 4);
  // Nothing is left to send behind the last turn.
  const TrafficTotals last = totals_with(sessions(40), 3, Outcome::rejected);
  CHECK(last.ended_early() == 0);
  CHECK(last.sessions_completed == 40);
}

TEST_CASE("no turn is sent at end_ns or later", "[workloads]") {
  TrafficOptions options = sessions(10);
  options.arrivals = {.process = ArrivalProcess::constant, .rate_per_s = 1.0};
  // Session k starts at k + 1 s, its turns come every 1 + 10 s: at 12 s the first one's second is
  // due, which is too late.
  options.end_ns = 12 * kSecond;
  const TrafficTotals none = totals_with(options, 9, Outcome::finished);
  CHECK(none.turns_sent == 10);
  CHECK(none.ended_by_limit == 10);
  check_accounts(none, 4);
  options.end_ns += 1;
  const TrafficTotals one = totals_with(options, 9, Outcome::finished);
  CHECK(one.turns_sent == 11);
  CHECK(one.think_pauses == 1);
  check_accounts(one, 4);
}

TEST_CASE("traffic ends with its number of requests, whoever sent them", "[workloads]") {
  for (std::int64_t most = 1; most <= 120; ++most) {
    TrafficOptions options = sessions(30);
    options.arrivals.rate_per_s = 0.3;  // starts and turns of others mix
    options.num_requests = most;
    const TrafficTotals totals = totals_with(options, 9, Outcome::finished);
    CHECK(totals.turns_sent == most);
    check_accounts(totals, 4);
  }
}

TEST_CASE("a number of sessions that start at once go on to their ends", "[workloads]") {
  TrafficOptions options = sessions(25);
  options.arrivals.process = ArrivalProcess::all_at_once;
  const auto all = served(options);
  CHECK(all.size() == 100);
  // Equal pauses and services: turns of one instant come in order of the sessions' numbers.
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].arrival.session == i % 25);
}

TEST_CASE("a schedule of sessions ends with the last session", "[workloads]") {
  TrafficOptions options = sessions(40);
  options.num_requests = 1000;
  options.arrivals = {.process = ArrivalProcess::vllm_bench, .rate_per_s = 2.0};
  // The last of 40 starts comes at 40 / 2 s exactly.
  const auto all = by_session(served(options));
  REQUIRE(all.size() == 40);
  CHECK(all.back().front().arrival.time_ns == 20 * kSecond);
}

TEST_CASE("a turn comes before the session that starts in its nanosecond", "[workloads]") {
  TrafficOptions options = sessions(15);
  options.arrivals = {.process = ArrivalProcess::constant, .rate_per_s = 1.0};
  options.classes[0].sessions.think_time = fixed_time(9.0);
  // Session k starts at k + 1 s, its second turn comes at k + 11 s, as session k + 10 starts.
  const auto all = served(options);
  CHECK(all[9].arrival.session == 9);
  CHECK(all[10].arrival.session == 0);
  CHECK(all[11].arrival.session == 10);
  CHECK(all[10].arrival.time_ns == all[11].arrival.time_ns);
}

TEST_CASE("what sessions say does not depend on how fast they are served", "[workloads]") {
  TrafficOptions options = sessions(60);
  SessionOptions& s = options.classes[0].sessions;
  s.turns = {.law = LengthLaw::uniform, .min = 1, .max = 8};
  s.think_time = exponential_time(5.0);
  const auto base = contents(served(options, 1));
  CHECK(base.size() == 60);
  CHECK(contents(served(options, 50 * kSecond)) == base);
  TrafficSource source(options, 4);
  const auto uneven = serve(source, [](const Arrival& arrival, std::uint64_t index) {
    return Service{static_cast<TimeNs>(index * 7919 % 100) * arrival.output_tokens * 10'000'000};
  });
  CHECK(contents(uneven) == base);
  options.classes[0].output = fixed_tokens(3);  // and neither do turns and texts on outputs
  const auto other = by_session(served(options));
  const auto before = by_session(served([&] {
    TrafficOptions o = options;
    o.classes[0].output = fixed_tokens(9);
    return o;
  }()));
  for (std::size_t i = 0; i < 60; ++i) {
    REQUIRE(other[i].size() == before[i].size());
    for (std::size_t k = 0; k < other[i].size(); ++k) {
      const auto answers = static_cast<std::int32_t>(k) * 6;  // 9 - 3 more each
      CHECK(before[i][k].arrival.prompt_tokens == other[i][k].arrival.prompt_tokens + answers);
    }
  }
}

TEST_CASE("an answer that is cut to max_tokens is what comes back in the prompt", "[workloads]") {
  TrafficOptions options = sessions(10);
  options.classes[0].prompt = fixed_tokens(100);
  options.classes[0].output = fixed_tokens(50);
  options.max_tokens = {.rule = MaxTokensRule::value, .value = 20};
  TrafficSource source(options, 4);
  for (const auto& turns : by_session(serve(source, after(kSecond)))) {
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(turns[k].arrival.prompt_tokens == static_cast<std::int32_t>(100 + k * 120));
    }
  }
  CHECK(source.totals().outputs_cut == 40);
}

TEST_CASE("a class may declare its own max_tokens", "[workloads]") {
  TrafficOptions options = chat(500);
  options.max_tokens = {.rule = MaxTokensRule::value, .value = 100};
  TrafficClass other = options.classes.front();
  options.classes.front().name = "a";
  other.name = "b";
  other.class_id = 1;
  other.max_tokens = MaxTokensOptions{.rule = MaxTokensRule::value, .value = 7};
  options.classes.push_back(other);
  TrafficSource source(options, 1);
  for (int i = 0; i < 500; ++i) {
    const Arrival arrival = source.take();
    CHECK(arrival.max_tokens == (arrival.class_id == 0 ? 100 : 7));
    CHECK(arrival.output_tokens <= arrival.max_tokens);
  }
}

TEST_CASE("a history that fills 2^31 - 1 tokens ends its session", "[workloads]") {
  TrafficOptions options = sessions(1);
  options.classes[0].prompt = fixed_tokens(1'000'000'000);
  options.classes[0].output = fixed_tokens(100'000'000);
  TrafficSource source(options, 4);
  const auto all = serve(source, after(kSecond));
  // 1.0e9, then 1.1e9 + 1.0e9 = 2.1e9, and with its answer 2.2e9: too long.
  REQUIRE(all.size() == 2);
  CHECK(all[1].arrival.prompt_tokens == 2'100'000'000);
  CHECK(source.totals().ended_full == 1);
  CHECK(source.totals().turns_dropped == 2);
  CHECK(source.totals().prompts_cut == 0);
  // 1.2e9, then 1.3e9 in front of a text of 1.2e9, of which 847,483,647 fit.
  options.classes[0].prompt = fixed_tokens(1'200'000'000);
  TrafficSource cut(options, 4);
  const auto cut_all = serve(cut, after(kSecond));
  REQUIRE(cut_all.size() == 2);
  CHECK(cut_all[1].arrival.prompt_tokens == INT32_MAX);
  CHECK(tokens_of(cut_all[1].prefix) == INT32_MAX);
  CHECK(cut.totals().prompts_cut == 1);
}

TEST_CASE("sessions and single requests mix by class", "[workloads]") {
  TrafficOptions options = sessions(300);
  options.classes[0].name = "talk";
  TrafficClass single = chat(1).classes[0];
  single.name = "single";
  single.class_id = 1;
  options.classes.push_back(single);
  TrafficSource source(options, 4);
  std::int64_t singles = 0;
  for (const ServedRequest& request : serve(source, after(kSecond))) {
    const bool is_single = request.arrival.class_id == 1;
    CHECK((request.arrival.session == kNoSession) == is_single);
    CHECK(request.prefix.empty() == is_single);
    singles += is_single ? 1 : 0;
  }
  CHECK(source.totals().sessions_started == 300);
  CHECK(source.totals().turns_sent == singles + 4 * (300 - singles));
}

TEST_CASE("patience is each turn's own", "[workloads]") {
  TrafficOptions options = sessions(10);
  options.classes[0].patience.first_token = exponential_time(5.0);
  options.classes[0].patience.answer = fixed_time(60.0);
  std::set<TimeNs> different;
  for (const ServedRequest& turn : served(options)) {
    const Arrival& a = turn.arrival;
    CHECK(a.deadline_ns == a.time_ns + 60 * kSecond);
    different.insert(a.first_token_deadline_ns - a.time_ns);
  }
  CHECK(different.size() == 40);
}

TEST_CASE("memory is that of the sessions that go on", "[workloads]") {
  TrafficOptions options = sessions(20'000);
  options.arrivals = {.process = ArrivalProcess::constant, .rate_per_s = 1.0};
  TrafficSource source(options, 4);
  // Four turns of one second and three pauses of ten: 34 s in all, one session a second.
  std::size_t most = 0;
  static_cast<void>(serve(source, [&](const Arrival&, std::uint64_t) {
    most = std::max(most, source.live_sessions());
    return Service{kSecond};
  }));
  CHECK(most <= 35);
  CHECK(source.totals().turns_sent == 80'000);
}

}  // namespace headroom::test::traffic_sessions_test
