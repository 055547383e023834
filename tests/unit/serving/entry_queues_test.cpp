// Requests on their way into engines, served by turns.

#include "sim/serving/entry_queues.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace headroom::entry_queues_test {

namespace {

constexpr TimeNs kMs = 1'000'000;

Arrival request_of(std::int32_t prompt, TimeNs deadline_ns = kNever,
                   std::uint64_t shared_prompt = 0) {
  Arrival arrival;
  arrival.prompt_tokens = prompt;
  arrival.deadline_ns = deadline_ns;
  arrival.shared_prompt = shared_prompt;
  return arrival;
}

// One queue: 2 ms a request and 1 ms per thousand tokens.
EntryQueues one_queue() {
  return EntryQueues({{.request_ns = 2 * kMs, .prompt_token_ps = 1'000'000}});
}

// The next one to leave, whenever that is.
EntryQueues::Held next_of(EntryQueues& queues) {
  while (queues.next_ns() != kNever) {
    if (const auto held = queues.take(queues.next_ns())) return *held;
  }
  FAIL("nobody is held");
  return {};
}

struct Came {
  TimeNs time_ns = 0;
  std::int32_t prompt = 0;
};

// The same by hand: a clock, and a line in which who had a turn stands at the end again.
std::vector<std::pair<TimeNs, std::uint64_t>> by_hand(const std::vector<Came>& came) {
  struct Job {
    std::uint64_t index = 0;
    std::vector<TimeNs> turns;  // the next one last
  };
  std::vector<std::pair<TimeNs, std::uint64_t>> exits;
  std::deque<Job> line;
  std::size_t next = 0;
  TimeNs now = 0;
  const auto join_until = [&](TimeNs end) {
    for (; next < came.size() && came[next].time_ns < end; ++next) {
      const TimeNs work = 2 * kMs + came[next].prompt * TimeNs{1000};
      const TimeNs turn = work / 4;
      line.push_back({.index = next, .turns = {turn, turn, turn, work - 3 * turn}});
    }
  };
  while (next < came.size() || !line.empty()) {
    if (line.empty()) {
      now = std::max(now, came[next].time_ns);
      join_until(now + 1);
      continue;
    }
    Job job = std::move(line.front());
    line.pop_front();
    now += job.turns.back();
    job.turns.pop_back();
    join_until(now);
    if (job.turns.empty()) {
      exits.emplace_back(now, job.index);
    } else {
      line.push_back(std::move(job));
    }
  }
  return exits;
}

}  // namespace

TEST_CASE("a request that comes alone is there when its work is done", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK(queues.next_ns() == kNever);
  CHECK(queues.holds(request_of(1000), 0, 0, 5 * kMs));
  CHECK(queues.next_ns() == 8 * kMs);
  CHECK_FALSE(queues.take(7 * kMs).has_value());
  CHECK(queues.take(8 * kMs)->index == 0);
  CHECK(queues.next_ns() == kNever);
}

TEST_CASE("who comes together arrives together, by turns", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK(queues.holds(request_of(2000), 0, 0, 0));  // 4 turns of 1 ms each
  CHECK(queues.holds(request_of(2000), 1, 0, 0));
  CHECK(queues.holds(request_of(2000), 2, 0, kMs / 2));
  CHECK(queues.held_for(0) == 3);
  for (const std::uint64_t index : {0U, 1U, 2U}) {
    const EntryQueues::Held held = next_of(queues);
    CHECK(held.index == index);
    CHECK(held.time_ns == static_cast<TimeNs>(10 + index) * kMs);
  }
  CHECK(queues.held_for(0) == 0);
  CHECK(queues.next_ns() == kNever);
}

TEST_CASE("turns go round as they do by hand", "[entry]") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Came> came;
    TimeNs now = 0;
    for (std::uint64_t i = 0; i < 2 + random() % 20; ++i) {
      now += static_cast<TimeNs>(random() % (3 * kMs)) * static_cast<TimeNs>(random() % 3);
      came.push_back({now, static_cast<std::int32_t>(random() % 5000)});
    }
    EntryQueues queues = one_queue();
    std::vector<std::pair<TimeNs, std::uint64_t>> exits;
    const auto take_until = [&](TimeNs end) {
      while (queues.next_ns() < end) {
        if (const auto held = queues.take(queues.next_ns())) {
          exits.emplace_back(held->time_ns, held->index);
        }
      }
    };
    for (std::size_t i = 0; i < came.size(); ++i) {
      take_until(came[i].time_ns);
      REQUIRE(queues.holds(request_of(came[i].prompt), i, 0, came[i].time_ns));
    }
    take_until(kNever);
    REQUIRE(exits == by_hand(came));
  }
}

TEST_CASE("answers of one prompt are one request on the way in", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK(queues.holds(request_of(2000, kNever, 7), 0, 0, 0));
  CHECK(queues.holds(request_of(2000, kNever, 7), 1, 0, 0));
  CHECK(queues.holds(request_of(2000, kNever, 8), 2, 0, 0));
  CHECK(queues.holds(request_of(2000, kNever, 8), 3, 0, 0));
  CHECK(queues.held_for(0) == 4);
  for (const std::uint64_t index : {0U, 1U, 2U, 3U}) {
    const EntryQueues::Held held = next_of(queues);
    CHECK(held.index == index);
    CHECK(held.time_ns == (index < 2 ? 7 : 8) * kMs);
  }
}

TEST_CASE("each replica has a way in of its own", "[entry]") {
  EntryQueues queues({{.request_ns = 2 * kMs}, {}});
  CHECK(queues.holds(request_of(10), 0, 0, 0));
  CHECK_FALSE(queues.holds(request_of(10), 1, 1, 0));  // without work nobody waits
  CHECK(queues.held_for(0) == 1);
  CHECK(queues.held_for(1) == 0);
  CHECK(next_of(queues).time_ns == 2 * kMs);
}

TEST_CASE("who gives up on the way in leaves at its deadline", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK(queues.holds(request_of(8000), 0, 0, 0));
  CHECK(queues.holds(request_of(0, 4 * kMs), 1, 0, 0));
  CHECK(queues.holds(request_of(0), 2, 0, 0));
  EntryQueues::Held held = next_of(queues);
  CHECK(held.index == 1);
  CHECK(held.gives_up);
  CHECK(held.time_ns == 4 * kMs);
  CHECK(queues.give_up(2, 5 * kMs));
  CHECK_FALSE(queues.give_up(1, 5 * kMs));
  held = next_of(queues);
  CHECK(held.index == 2);
  CHECK(held.gives_up);
  held = next_of(queues);  // the others are worked on all the same
  CHECK(held.index == 0);
  CHECK(held.time_ns == 13 * kMs);
  CHECK(queues.next_ns() == kNever);
}

TEST_CASE("work for clients that are gone wakes nobody, and delays who comes", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK(queues.holds(request_of(6000, kMs), 0, 0, 0));
  CHECK(next_of(queues).gives_up);
  CHECK(queues.next_ns() == kNever);
  CHECK(queues.holds(request_of(2000), 1, 0, 4 * kMs));  // two turns of 2 ms are left of the first
  CHECK(next_of(queues).time_ns == 12 * kMs);
  CHECK(queues.holds(request_of(2000, 101 * kMs), 2, 0, 100 * kMs));
  CHECK(next_of(queues).gives_up);
  CHECK(queues.holds(request_of(2000), 3, 0, 300 * kMs));  // long after the rest of it
  CHECK(next_of(queues).time_ns == 304 * kMs);
}

TEST_CASE("the end of a run finds those that are still on their way", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK(queues.holds(request_of(0, 4 * kMs), 0, 0, 0));
  CHECK(queues.holds(request_of(0), 1, 0, 0));
  const std::vector<EntryQueues::Held> left = queues.drop_all();
  REQUIRE(left.size() == 2);
  CHECK(left[0].index == 0);
  CHECK(left[1].index == 1);
  CHECK(queues.drop_all().empty());
  CHECK(queues.held_for(0) == 0);
}

TEST_CASE("the way in is busy for its share of the time in which requests come", "[entry]") {
  EntryQueues queues = one_queue();
  static_cast<void>(queues.holds(request_of(0), 0, 0, 0));
  static_cast<void>(queues.holds(request_of(0), 1, 0, 10 * kMs));
  static_cast<void>(queues.holds(request_of(0), 2, 0, 10 * kMs));
  CHECK(utilisation(queues.use()) == Approx(0.2));  // 2 of 10 ms
  CHECK(floor_ns(queues.use().backlog) == 4 * kMs);
  CHECK_FALSE(is_saturated(queues.use()));
}

}  // namespace headroom::entry_queues_test
