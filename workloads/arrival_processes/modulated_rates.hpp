#pragma once
// Arrival rates that change at random: on and off, or between the states of a Markov chain. Periods
// and states are drawn from a stream of their own ("arrivals/states", behind `prefix`), so they
// stay the same when rates or gaps change.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/kernel/random.hpp"
#include "workloads/arrival_processes/rate_piece.hpp"

namespace headroom {

enum class PeriodLaw : std::uint8_t { exponential, fixed };

// On and off periods in turn, an on period first. The rate of the arrival options is the mean over
// both kinds in the long run; in an on period it is rate * (on_s + off_s) / on_s, at most 1e12
// requests/s.
struct OnOffOptions {
  double on_s = 1.0;   // mean duration, above 0, at most 1e9 s
  double off_s = 1.0;  // 0 .. 1e9 s
  PeriodLaw periods = PeriodLaw::exponential;
};

class OnOffRate {
 public:
  OnOffRate(double mean_rate_per_s, const OnOffOptions& options, std::uint64_t seed,
            std::string_view prefix = {});

  [[nodiscard]] RatePiece next();  // one draw a period (fixed: none)

 private:
  RandomStream stream_;
  PeriodLaw periods_;
  double on_ns_;
  double off_ns_;
  double on_rate_per_s_;
  bool is_on_ = false;
};

// Markov-modulated Poisson process: requests come at the rate of the state, which lasts for an
// exponential time. It starts in state 0 (errors count from 0, too). With two states Heffes and
// Lucantoni, "A Markov modulated characterization of packetized voice and data traffic" (1986).
struct MmppOptions {
  std::vector<double> rates_per_s = {};  // 2 .. 1000 states: 0 .. 1e12 requests/s
  std::vector<double> sojourns_s = {};   // as many: mean durations, above 0, at most 1e9 s
  // Row by row: the probability that a state is followed by another. Each row has a 0 on the
  // diagonal and sums to 1 (within 1e-9). Empty: all other states equally likely.
  std::vector<double> transitions = {};
  // From every state that is ever reached a state with a rate above 0 must be reached.
};

class MarkovRate {
 public:
  MarkovRate(const MmppOptions& options, std::uint64_t seed, std::string_view prefix = {});

  [[nodiscard]] RatePiece next();  // two draws a state: how long, and which state next

 private:
  [[nodiscard]] std::size_t follower(double probability) const;

  RandomStream stream_;
  std::vector<double> rates_per_s_;
  std::vector<double> sojourns_ns_;
  std::vector<double> cumulative_;  // of the transitions, row by row
  std::size_t state_ = 0;
};

}  // namespace headroom
