#pragma once
// Which data rank a request is sent to (docs/semantics.md 28; vLLM 0.19: v1/engine/core_client.py,
// DPLBAsyncMPClient.get_core_engine_for_request, and v1/engine/coordinator.py,
// DPCoordinatorProc.process_input_socket).
//
// A front end sends a request to the rank with the smallest 4 x waiting + running, as it knows
// them: from a coordinator, which publishes the ranks' queues every 100 ms while they change, and
// from what it has sent itself since. Publications are no events of a run: they are made up for
// when somebody reports or asks.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

// Requests of one rank.
struct RankQueue {
  std::int64_t waiting = 0;
  std::int64_t running = 0;

  [[nodiscard]] std::int64_t all() const { return waiting + running; }
  friend constexpr bool operator==(const RankQueue&, const RankQueue&) = default;
};

class RankBalancer {
 public:
  // `seed`: of the draw which of the front ends (>= 1) a request reaches.
  RankBalancer(std::size_t ranks, std::size_t front_ends, std::uint64_t seed);

  // The rank of a request that arrives now. This and report() in the order of time.
  [[nodiscard]] std::size_t choose(TimeNs now_ns);
  // A step has ended: the queues of all ranks behind it.
  void report(TimeNs now_ns, std::span<const RankQueue> queues);

 private:
  void publish_until(TimeNs now_ns);

  struct FrontEnd {
    std::vector<RankQueue> known;
    std::size_t first = 0;  // of equal ranks this one, or the next one behind it
  };

  std::vector<FrontEnd> front_ends_;
  RandomStream connections_;            // choose()
  std::vector<RankQueue> queues_;       // as reported last; report(), as the next ones
  std::vector<RankQueue> step_before_;  // and before that, if it is still to be published
  bool has_step_before_ = false;
  bool changed_ = false;  // since queues_ were published
  TimeNs publish_ns_ = 0;
  TimeNs published_ns_;  // publish_until()
};

}  // namespace headroom
