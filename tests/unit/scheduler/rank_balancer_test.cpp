#include "scheduler/batching/rank_balancer.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace headroom::rank_balancer_test {
namespace {

constexpr TimeNs kMs = 1'000'000;
using Queues = std::vector<RankQueue>;

TEST_CASE("a request goes to the rank with the smallest 4 x waiting + running", "[ranks]") {
  RankBalancer balancer(3, 1, 0);
  CHECK(balancer.choose(0) == 0);
  CHECK(balancer.choose(0) == 1);  // what was sent to the first one counts as waiting
  CHECK(balancer.choose(0) == 2);
  CHECK(balancer.choose(0) == 0);
  // One waiting request counts as much as four that run.
  balancer.report(10 * kMs, Queues{{1, 0}, {0, 3}, {0, 5}});
  CHECK(balancer.choose(100 * kMs) == 1);
  CHECK(balancer.choose(100 * kMs) == 0);
  CHECK(balancer.choose(100 * kMs) == 2);
}

TEST_CASE("queues are known 100 ms after the last publication, and a step late", "[ranks]") {
  RankBalancer balancer(2, 1, 0);
  balancer.report(5 * kMs, Queues{{0, 0}, {2, 0}});
  CHECK(balancer.choose(99 * kMs) == 0);
  CHECK(balancer.choose(99 * kMs) == 1);   // not known yet
  CHECK(balancer.choose(100 * kMs) == 0);  // known, and what was sent is forgotten
  CHECK(balancer.choose(100 * kMs) == 0);
  // While further steps change the queues, those of the step before are published.
  balancer.report(110 * kMs, Queues{{9, 0}, {0, 0}});
  balancer.report(120 * kMs, Queues{{0, 0}, {9, 0}});
  CHECK(balancer.choose(200 * kMs) == 1);
  CHECK(balancer.choose(300 * kMs) == 0);  // now the last ones
  // A change after a long time is published when no more of that step can come, 50 ms later.
  balancer.report(90'000 * kMs, Queues{{1, 0}, {0, 0}});
  CHECK(balancer.choose(90'049 * kMs) == 0);
  CHECK(balancer.choose(90'050 * kMs) == 1);
}

TEST_CASE("each front end knows only what it has sent itself", "[ranks]") {
  // Four ranks, two front ends: the first begins to look at rank 0, the second at 2.
  std::size_t first = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RankBalancer balancer(4, 2, seed);
    first += balancer.choose(0) == 0 ? 1 : 0;
  }
  CHECK((first > 3 && first < 17));
  // Twelve requests in a row, some of each: both send to all ranks in turn.
  RankBalancer balancer(4, 2, 3);
  std::vector<std::size_t> sent(4);
  for (int i = 0; i < 12; ++i) ++sent[balancer.choose(0)];
  for (const std::size_t requests : sent) CHECK((requests > 1 && requests < 5));
  // When they learn of a shorter queue both send to it, though the other one does, too.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RankBalancer both(4, 2, seed);
    both.report(1, Queues{{0, 4}, {0, 1}, {0, 4}, {0, 4}});
    CHECK(both.choose(100 * kMs) == 1);
  }
}

}  // namespace
}  // namespace headroom::rank_balancer_test
