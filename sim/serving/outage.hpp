#pragma once
// When an engine is out of service (docs/semantics.md 23): from its death until it is back, or
// while another process starts in its place.

#include "sim/kernel/likely.hpp"
#include "sim/kernel/time.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

class Outage {
 public:
  // `outcome`: of requests that the engine loses, or turns away until then.
  void begin(TimeNs until_ns, Outcome outcome) {
    until_ns_ = until_ns;
    outcome_ = outcome;
  }
  // At a planning instant: whether an outage ends with it.
  [[nodiscard]] bool try_end(TimeNs now_ns) {
    if (mostly(until_ns_ == 0) || now_ns < until_ns_) return false;
    until_ns_ = 0;
    return true;
  }

  [[nodiscard]] bool lasts_at(TimeNs now_ns) const { return now_ns < until_ns_; }
  [[nodiscard]] TimeNs until_ns() const { return until_ns_; }
  // Of the latest outage.
  [[nodiscard]] Outcome outcome() const { return outcome_; }

 private:
  // begin() and try_end() write.
  TimeNs until_ns_ = 0;  // 0: none since the latest one was ended
  Outcome outcome_ = Outcome::lost_to_oom;
};

}  // namespace headroom
