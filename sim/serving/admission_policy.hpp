#pragma once
// Port: whether a request is let into the fleet at all, before any router sees it.

#include <cstdint>

#include "sim/serving/request.hpp"

namespace headroom {

// What the door knows. O(1) for the fleet to keep.
struct DoorState {
  TimeNs now_ns = 0;
  std::int64_t in_flight = 0;       // admitted and not yet gone
  TokenCount waiting_tokens = 0;    // known tokens in the queues of all engines
  TokenCount scheduled_tokens = 0;  // that have left those queues since the run began
};

class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;
  // False: it is turned away, and asked about no more.
  [[nodiscard]] virtual bool admits(const Arrival& arrival, const DoorState& door) = 0;
};

}  // namespace headroom
