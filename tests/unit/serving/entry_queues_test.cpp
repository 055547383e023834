// Requests on their way into engines, one after the other.

#include "sim/serving/entry_queues.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
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

}  // namespace

TEST_CASE("a request that finds nobody before it enters at once", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK_FALSE(queues.holds(request_of(1000), 0, 0, 5 * kMs));
  CHECK_FALSE(queues.holds(request_of(1000), 1, 0, 8 * kMs));  // the first one's 3 ms are over
  CHECK(queues.next_ns() == kNever);
}

TEST_CASE("who comes together enters one after the other", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK_FALSE(queues.holds(request_of(1000), 0, 0, 0));
  CHECK(queues.holds(request_of(3000), 1, 0, 0));
  CHECK(queues.holds(request_of(0), 2, 0, kMs));
  CHECK(queues.held_for(0) == 2);
  EntryQueues::Held held = queues.take();
  CHECK(held.index == 1);
  CHECK(held.time_ns == 3 * kMs);
  held = queues.take();
  CHECK(held.index == 2);
  CHECK(held.time_ns == 8 * kMs);
  CHECK(queues.held_for(0) == 0);
  CHECK(queues.next_ns() == kNever);
}

TEST_CASE("answers of one prompt are one request on the way in", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK_FALSE(queues.holds(request_of(1000, kNever, 7), 0, 0, 0));
  CHECK_FALSE(queues.holds(request_of(1000, kNever, 7), 1, 0, 0));
  CHECK(queues.holds(request_of(1000, kNever, 8), 2, 0, 0));
  CHECK(queues.holds(request_of(1000, kNever, 8), 3, 0, 0));
  CHECK(queues.take().time_ns == 3 * kMs);
  const EntryQueues::Held held = queues.take();
  CHECK(held.index == 3);
  CHECK(held.time_ns == 3 * kMs);
}

TEST_CASE("each replica has a way in of its own", "[entry]") {
  EntryQueues queues({{.request_ns = 2 * kMs}, {}});
  CHECK_FALSE(queues.holds(request_of(10), 0, 0, 0));
  CHECK_FALSE(queues.holds(request_of(10), 1, 1, 0));
  CHECK_FALSE(queues.holds(request_of(10), 2, 1, 0));  // without work nobody waits
  CHECK(queues.holds(request_of(10), 3, 0, 0));
  CHECK(queues.held_for(0) == 1);
  CHECK(queues.held_for(1) == 0);
}

TEST_CASE("who gives up on the way in leaves at its deadline", "[entry]") {
  EntryQueues queues = one_queue();
  CHECK_FALSE(queues.holds(request_of(8000), 0, 0, 0));
  CHECK(queues.holds(request_of(0, 4 * kMs), 1, 0, 0));
  CHECK(queues.holds(request_of(0, 10 * kMs), 2, 0, 0));  // the one before it is worked on, too
  EntryQueues::Held held = queues.take();
  CHECK(held.index == 1);
  CHECK(held.gives_up);
  CHECK(held.time_ns == 4 * kMs);
  held = queues.take();
  CHECK(held.gives_up);
  CHECK(held.time_ns == 10 * kMs);
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
