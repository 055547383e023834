#include "tests/unit/workloads/served_requests.hpp"

#include <algorithm>
#include <queue>
#include <span>
#include <tuple>

#include "sim/kernel/check.hpp"

namespace headroom::test {
namespace {

struct Leaving {
  TimeNs time_ns = 0;
  std::uint64_t index = 0;
  Outcome outcome = Outcome::finished;
  bool operator>(const Leaving& other) const {
    return std::tie(time_ns, index) > std::tie(other.time_ns, other.index);
  }
};

}  // namespace

std::vector<ServedRequest> serve(WorkloadSource& source, const ServiceOf& service,
                                 std::uint64_t most) {
  std::vector<ServedRequest> all;
  std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> in_system;
  TimeNs now_ns = 0;
  while (true) {
    const TimeNs next_ns = source.next_time();
    HEADROOM_CHECK(next_ns >= now_ns, "a workload in the past");
    if (!in_system.empty() && in_system.top().time_ns <= next_ns) {
      const Leaving leaving = in_system.top();
      in_system.pop();
      now_ns = leaving.time_ns;
      ServedRequest& request = all[leaving.index];
      HEADROOM_CHECK(std::ranges::equal(request.arrival.prefix, request.prefix),
                     "a prefix changed under its request");
      request.arrival.prefix = {};
      request.left_ns = now_ns;
      source.on_done(leaving.index, leaving.outcome, now_ns);
      continue;
    }
    if (next_ns == kNever || all.size() == most) return all;
    now_ns = next_ns;
    const Arrival arrival = source.take();
    HEADROOM_CHECK(arrival.time_ns == next_ns, "a request at another time than announced");
    const std::uint64_t index = all.size();
    all.push_back({.arrival = arrival, .prefix = {}, .left_ns = -1});
    all.back().prefix.assign(arrival.prefix.begin(), arrival.prefix.end());
    const Service served = service(arrival, index);
    in_system.push({now_ns + served.duration_ns, index, served.outcome});
  }
}

ServiceOf after(TimeNs duration_ns) {
  return [duration_ns](const Arrival&, std::uint64_t) { return Service{duration_ns}; };
}

}  // namespace headroom::test
