#include "sim/kernel/event_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "sim/kernel/check.hpp"

namespace headroom::event_queue_test {
namespace {

using Key = std::tuple<TimeNs, int, std::uint32_t>;

constexpr int kPlan = static_cast<int>(Priority::plan);

std::optional<Key> key_of(const Event& event) {
  if (event.time_ns == kNever) return std::nullopt;
  return Key{event.time_ns, static_cast<int>(event.priority), event.source};
}

TEST_CASE("events come in order of time", "[event_queue]") {
  EventQueue queue(3);
  queue.schedule(30, Priority::plan, 0);
  queue.schedule(10, Priority::plan, 1);
  queue.schedule(20, Priority::plan, 2);
  CHECK(key_of(queue.pop()) == Key{10, kPlan, 1});
  CHECK(key_of(queue.pop()) == Key{20, kPlan, 2});
  CHECK(key_of(queue.pop()) == Key{30, kPlan, 0});
  CHECK_FALSE(key_of(queue.pop()).has_value());
}

TEST_CASE("at one time steps end, requests arrive, clients give up, plans are made",
          "[event_queue]") {
  EventQueue queue(2);
  queue.schedule(5, Priority::plan, 0);
  queue.schedule(5, Priority::cancel, 0);
  queue.schedule(5, Priority::arrival, 1);
  queue.schedule(5, Priority::step_end, 1);
  queue.schedule(5, Priority::step_end, 0);
  CHECK(key_of(queue.pop()) == Key{5, 0, 0});  // within one priority by source
  CHECK(key_of(queue.pop()) == Key{5, 0, 1});
  CHECK(key_of(queue.pop()) == Key{5, 1, 1});
  CHECK(key_of(queue.pop()) == Key{5, 2, 0});
  CHECK(key_of(queue.pop()) == Key{5, kPlan, 0});
}

TEST_CASE("scheduling again replaces the pending event, earlier or later", "[event_queue]") {
  EventQueue queue(1);
  queue.schedule(10, Priority::plan, 0);
  queue.schedule(20, Priority::plan, 0);
  CHECK(key_of(queue.next()) == Key{20, kPlan, 0});
  queue.schedule(5, Priority::plan, 0);
  CHECK(key_of(queue.pop()) == Key{5, kPlan, 0});
  CHECK_FALSE(key_of(queue.pop()).has_value());
}

TEST_CASE("a cancelled event never comes, and its slot can be used again", "[event_queue]") {
  EventQueue queue(2);
  queue.schedule(10, Priority::arrival, 0);
  queue.schedule(11, Priority::arrival, 1);
  queue.cancel(Priority::arrival, 0);
  queue.cancel(Priority::plan, 0);  // nothing pending: no effect
  CHECK(key_of(queue.pop()) == Key{11, 1, 1});
  CHECK_FALSE(key_of(queue.next()).has_value());
  queue.schedule(12, Priority::arrival, 0);
  CHECK(key_of(queue.pop()) == Key{12, 1, 0});
}

TEST_CASE("cutting a run into more step ends changes no order of other events", "[event_queue]") {
  // Source 0 ends one step at 100, or the same stretch in 50 pieces; what follows 100 is the same.
  const auto rest = [](int pieces) {
    EventQueue queue(3);
    queue.schedule(100, Priority::plan, 2);
    queue.schedule(100, Priority::arrival, 1);
    for (int i = 1; i <= pieces; ++i) {
      queue.schedule(100 * i / pieces, Priority::step_end, 0);
      queue.pop();
    }
    queue.schedule(100, Priority::plan, 0);
    std::vector<Key> keys;
    for (auto key = key_of(queue.pop()); key; key = key_of(queue.pop())) keys.push_back(*key);
    return keys;
  };
  CHECK(rest(1) == std::vector<Key>{{100, 1, 1}, {100, kPlan, 0}, {100, kPlan, 2}});
  CHECK(rest(50) == rest(1));
}

TEST_CASE("an event of an unknown source is refused", "[event_queue]") {
  EventQueue queue(2);
  CHECK_THROWS_AS(queue.schedule(1, Priority::plan, 2), InternalError);
}

TEST_CASE("random operations agree with a plain list of pending events", "[event_queue]") {
  const std::uint32_t sources = GENERATE(1U, 2U, 4U, 5U, 40U);  // looked through up to 4
  std::mt19937_64 random(20240607);
  EventQueue queue(sources);
  std::vector<Key> pending;  // at most one per (priority, source)
  const auto forget = [&pending](int priority, std::uint32_t source) {
    std::erase_if(pending, [&](const Key& k) {
      return std::get<1>(k) == priority && std::get<2>(k) == source;
    });
  };
  for (int i = 0; i < 200'000; ++i) {
    const auto operation = random() % 8;
    const auto priority = static_cast<int>(random() % kPriorityCount);
    const auto source = static_cast<std::uint32_t>(random() % sources);
    if (operation < 5) {
      const auto time = static_cast<TimeNs>(random() % 50);  // many equal times
      queue.schedule(time, static_cast<Priority>(priority), source);
      forget(priority, source);
      pending.emplace_back(time, priority, source);
    } else if (operation == 5) {
      queue.cancel(static_cast<Priority>(priority), source);
      forget(priority, source);
    } else {
      const auto first = std::min_element(pending.begin(), pending.end());
      const auto expected = first == pending.end() ? std::nullopt : std::optional<Key>(*first);
      REQUIRE(key_of(operation == 6 ? queue.next() : queue.pop()) == expected);
      if (operation == 7 && expected) pending.erase(first);
    }
  }
}

}  // namespace
}  // namespace headroom::event_queue_test
