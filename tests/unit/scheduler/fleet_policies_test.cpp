// Admission at a fleet's door, and faults by schedule and by chance.

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "scheduler/fleet/admission.hpp"
#include "scheduler/fleet/fault_schedule.hpp"

namespace headroom::fleet_policies_test {

namespace {

constexpr TimeNs kSecond = kNsPerSecond;

bool at(AdmissionPolicy& policy, TimeNs now_ns, std::int32_t prompt_tokens = 1) {
  return policy.admits({.time_ns = now_ns, .prompt_tokens = prompt_tokens}, {.now_ns = now_ns});
}

}  // namespace

TEST_CASE("so many requests are let in at once") {
  MaxInFlight policy(2);
  CHECK(policy.admits({}, {.in_flight = 1}));
  CHECK_FALSE(policy.admits({}, {.in_flight = 2}));
}

TEST_CASE("a bucket of three fills at two a second") {
  TokenBucket policy({.rate_per_s = 2, .burst = 3});
  for (int i = 0; i < 3; ++i) CHECK(at(policy, 0));
  CHECK_FALSE(at(policy, 0));
  CHECK_FALSE(at(policy, kSecond / 2 - 1));
  CHECK(at(policy, kSecond / 2));
  CHECK_FALSE(at(policy, kSecond / 2));
  // Ten seconds bring twenty, of which it holds three.
  for (int i = 0; i < 3; ++i) CHECK(at(policy, 11 * kSecond));
  CHECK_FALSE(at(policy, 11 * kSecond));
}

TEST_CASE("a bucket of prompt tokens takes what a prompt has, or nothing") {
  TokenBucket policy({.counts_prompt_tokens = true, .rate_per_s = 100, .burst = 1000});
  CHECK(at(policy, 0, 900));
  CHECK_FALSE(at(policy, 0, 101));
  CHECK(at(policy, 0, 100));
  CHECK_FALSE(at(policy, kSecond, 101));
  CHECK(at(policy, kSecond, 100));
}

TEST_CASE("who would wait longer than its class is promised is turned away") {
  // Class 0: 2 s; class 1: nothing promised. Queues empty at 1000 tokens a second.
  DeadlineShedding policy({2 * kSecond, kNever}, 10 * kSecond);
  const auto asks = [&](std::int32_t class_id, TimeNs now_ns, TokenCount waiting) {
    Arrival arrival;
    arrival.class_id = class_id;
    return policy.admits(arrival, {.now_ns = now_ns,
                                   .waiting_tokens = waiting,
                                   .scheduled_tokens = now_ns / (kSecond / 1000)});
  };
  CHECK(asks(0, 0, 5000));  // no rate is known yet
  CHECK(asks(0, 4 * kSecond, 2000));
  CHECK_FALSE(asks(0, 4 * kSecond, 2001));
  CHECK(asks(1, 4 * kSecond, 9000));
  CHECK(asks(0, 40 * kSecond, 2000));
  CHECK_FALSE(asks(0, 40 * kSecond, 2100));
}

TEST_CASE("scheduled faults come in order of time, ends of slow times first") {
  FaultOptions options;
  options.scheduled = {{.time_ns = 20, .kind = FaultKind::slow, .replica = 1},
                       {.time_ns = 10, .kind = FaultKind::crash, .replica = 2},
                       {.time_ns = 20, .kind = FaultKind::slow_end, .replica = 1},
                       {.time_ns = 20, .kind = FaultKind::crash, .replica = 0}};
  FaultSchedule faults(options);
  CHECK(faults.next_time() == 10);
  CHECK(faults.take().replica == 2);
  CHECK(faults.take().replica == 0);
  CHECK(faults.take().kind == FaultKind::slow_end);
  CHECK(faults.take().kind == FaultKind::slow);
  CHECK(faults.next_time() == kNever);
}

TEST_CASE("crashes by chance have the mean time between them, and none while down") {
  FaultOptions options;
  options.mtbf_s = 100;
  options.down_ns = {10 * kSecond, 5 * kSecond};
  options.seed = 3;
  FaultSchedule faults(options);
  std::map<std::uint32_t, TimeNs> last;
  std::map<std::uint32_t, int> count;
  TimeNs before = 0;
  while (faults.next_time() < 2'000'000 * kSecond) {
    const Fault fault = faults.take();
    REQUIRE(fault.time_ns >= before);
    before = fault.time_ns;
    const bool first = !last.contains(fault.replica);
    REQUIRE((first || fault.time_ns >= last[fault.replica] + fault.down_ns));
    last[fault.replica] = fault.time_ns;
    ++count[fault.replica];
  }
  // Renewals of 110 s and 105 s: 18,182 and 19,048, with deviations of about 122 and 131.
  CHECK(std::abs(count[0] - 18'182) < 500);
  CHECK(std::abs(count[1] - 19'048) < 500);
}

}  // namespace headroom::fleet_policies_test
