#pragma once
// How many requests came, and what became of them.

#include <cstdint>

#include "sim/serving/request.hpp"

namespace headroom {

struct RequestCounts {
  std::int64_t arrived = 0;  // the sum of all others
  std::int64_t finished = 0;
  std::int64_t rejected = 0;
  std::int64_t cancelled = 0;
  std::int64_t lost_to_oom = 0;
  std::int64_t lost_to_fault = 0;
  std::int64_t unfinished = 0;

  void add(Outcome outcome) {
    ++arrived;
    switch (outcome) {
      case Outcome::unfinished: ++unfinished; break;
      case Outcome::finished: ++finished; break;
      case Outcome::rejected: ++rejected; break;
      case Outcome::cancelled: ++cancelled; break;
      case Outcome::lost_to_oom: ++lost_to_oom; break;
      case Outcome::lost_to_fault: ++lost_to_fault; break;
    }
  }
  void merge(const RequestCounts& other) {
    arrived += other.arrived;
    finished += other.finished;
    rejected += other.rejected;
    cancelled += other.cancelled;
    lost_to_oom += other.lost_to_oom;
    lost_to_fault += other.lost_to_fault;
    unfinished += other.unfinished;
  }
};

}  // namespace headroom
