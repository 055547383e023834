#pragma once
// Requests of a rate that changes in time: the instant at which the integrated rate has grown by
// the next gap of a process of rate 1. With exponential gaps that is exactly a Poisson process of
// this rate (at random rates: a Cox process; the rest of an exponential gap when the rate changes
// is exponential again), and each request uses one gap at any rate, so scaling the rate does not
// move the draws of other requests.

#include <variant>

#include "sim/kernel/time.hpp"
#include "workloads/arrival_processes/modulated_rates.hpp"
#include "workloads/arrival_processes/rate_profiles.hpp"
#include "workloads/arrival_processes/summed_time.hpp"

namespace headroom {

using RatePath = std::variant<ListedRate, OnOffRate, MarkovRate>;

class RateWalk {
 public:
  explicit RateWalk(RatePath path);

  // The next request's instant: `gap` (>= 0) expected requests after the one before. kNever, now
  // and ever after, when the rate ends before that. ConfigError beyond 2^62 ns (146 years), and
  // when the rate changes 10 million times without a request.
  [[nodiscard]] TimeNs advance(double gap);

 private:
  void enter_next_piece();
  void check_reach(double instant_ns) const;

  RatePath path_;
  RatePiece piece_;
  SummedTime now_;
  SummedTime piece_end_;  // unless the piece lasts for ever
  bool ended_ = false;
};

}  // namespace headroom
