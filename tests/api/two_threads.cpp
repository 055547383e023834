// Two scenarios on two threads of one simulator; exit 0 when each has the digest it has alone.

#include <future>
#include <iostream>

#include "sim/api/headroom.hpp"

int main() {
  using headroom::api::Scenario;
  const headroom::api::Simulator simulator;
  Scenario few = Scenario::ready("demo");
  few.set("workload.num_requests", "300");
  Scenario paged = few;
  paged.set("engine.max_num_seqs", "8");

  const auto digest = [&](const Scenario& one) { return simulator.run(one).digest; };
  auto first = std::async(std::launch::async, digest, few);
  auto second = std::async(std::launch::async, digest, paged);
  const bool same = first.get() == digest(few) && second.get() == digest(paged);
  std::cout << (same ? "the same bytes\n" : "other bytes than alone\n");
  return same ? 0 : 1;
}
