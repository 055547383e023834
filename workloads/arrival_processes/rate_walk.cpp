#include "workloads/arrival_processes/rate_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr int kMaxChanges = 10'000'000;  // without a request: a second or so
constexpr double kReachNs = 0x1p62;
// A gap that misses the end of a piece by less than this many requests ends there: the miss is a
// rounding, and equal gaps, which often end with a piece, must not carry it across a silence.
constexpr double kEndTolerance = 1e-9;

RatePiece next_piece(RatePath& path) {
  return std::visit([](auto& rate) { return rate.next(); }, path);
}

}  // namespace

RateWalk::RateWalk(RatePath path) : path_(std::move(path)), piece_(next_piece(path_)) {
  if (!piece_.lasts_for_ever()) piece_end_.add(piece_.duration_ns());
}

TimeNs RateWalk::advance(double gap) {
  if (ended_) return kNever;
  for (int changes = 0; changes < kMaxChanges; ++changes) {
    const bool last = piece_.lasts_for_ever();
    const double left_ns = last ? std::numeric_limits<double>::infinity() : piece_end_.since(now_);
    const double expected = piece_.expected(left_ns);
    if (gap <= expected + kEndTolerance) {
      const double time_ns = piece_.time_for(std::min(gap, expected), left_ns);
      check_reach(static_cast<double>(now_.whole_ns()) + time_ns);
      now_.add(time_ns);
      if (!last && piece_end_.since(now_) < 0.0) now_ = piece_end_;  // by a rounding of the sum
      return now_.rounded_ns();
    }
    if (last) {
      ended_ = true;
      return kNever;
    }
    gap -= expected;
    enter_next_piece();
  }
  throw ConfigError(
      fmt::format("arrivals: the rate changes {} times without a request", kMaxChanges));
}

void RateWalk::enter_next_piece() {
  check_reach(static_cast<double>(piece_end_.whole_ns()));
  now_ = piece_end_;
  piece_ = next_piece(path_);
  if (!piece_.lasts_for_ever()) piece_end_.add(piece_.duration_ns());
}

void RateWalk::check_reach(double instant_ns) const {
  if (instant_ns < kReachNs) return;
  throw ConfigError("arrivals: a request would arrive after more than 146 years (2^62 ns)");
}

}  // namespace headroom
