#include "sim/metrics/itl_meter.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {

namespace {
// Pieces of so many steps keep every factor of the sums of squares within 64 bits for up to 2^17
// decoding sequences: sum of i^2 over a piece < 2^46.5, times 2^17 < 2^64.
constexpr StepCount kPieceSteps = StepCount{1} << 16;
// Up to here the squares of all gaps of a run add up to less than 2^26 * 2^100.
constexpr std::int64_t kFewGaps = std::int64_t{1} << 26;
}  // namespace

[[gnu::noinline]] void ItlMeter::add_groups(std::span<const GapGroup> groups) {
  for (const GapGroup& group : groups) add_gaps(group.gap, group.tokens);
}

// Apart, like those below: inlined they would cost runs of one step their registers.
[[gnu::noinline]] void ItlMeter::add_runs(const StepRun& run) {
  if (!run.gaps.empty()) return add_parts(run.gaps, run.gaps_per_step);
  add_run(run.first_ticks, run.slope_ticks, run.steps, run.gaps_per_step);
}

// Of `gaps` sequences.
void ItlMeter::add_parts(std::span<const GapRun> parts, std::int64_t gaps) {
  for (const GapRun& part : parts) {
    if (part.steps == 1) {
      add_gaps(part.first, gaps);
    } else if (part.first > kMaxStepTicks) {
      // Only an API server that is hours behind makes them: equal ones, and few.
      HEADROOM_CHECK(part.slope == 0, "a gap in a run of steps out of range");
      const StepCount most = kMaxGapsPerStep / gaps;
      for (StepCount left = part.steps; left > 0; left -= most) {
        add_gaps(part.first, std::min(left, most) * gaps);
      }
    } else {
      add_run(static_cast<Ticks>(part.first), part.slope, part.steps, gaps);
    }
  }
}

// Of `gaps` sequences in each step.
void ItlMeter::add_run(Ticks first, Ticks slope, StepCount steps, std::int64_t gaps) {
  // A falling duration is a rising one read backwards.
  if (rarely(slope < 0)) {
    first += slope * (steps - 1);
    slope = -slope;
  }
  const StepCount pairs = steps * (steps - 1) / 2;
  sum_ += (TickSum{first} * steps + TickSum{slope} * pairs) * gaps;
  StepCount left = steps;
  for (; rarely(left > kPieceSteps); left -= kPieceSteps) {
    add_squares(first, slope, kPieceSteps, gaps);
    add_buckets(first, slope, kPieceSteps, gaps);
    first += slope * kPieceSteps;
  }
  add_squares(first, slope, left, gaps);
  add_buckets(first, slope, left, gaps);
}

void ItlMeter::add_gaps(TickSum ticks, std::int64_t count) {
  HEADROOM_CHECK(ticks >= 0 && ticks >> 78 == 0, "a gap between tokens out of range");
  HEADROOM_CHECK(count > 0 && count <= kMaxGapsPerStep, "number of equal gaps out of range");
  const auto gap = static_cast<Uint128>(ticks);
  const auto times = static_cast<Uint128>(count);
  sum_ += ticks * count;
  // gap * (low half + 2^32 * high half), `count` times
  squares_.add(gap * times, static_cast<std::uint32_t>(gap));
  squares_.add((gap << 32) * times, static_cast<std::uint64_t>(gap >> 32));
  histogram_.add(floor_ns(ticks), count);
}

// Sum over i < steps of (first + i * slope)^2, `gaps` times. slope >= 0.
void ItlMeter::add_squares(Ticks first, Ticks slope, StepCount steps, std::int64_t gaps) {
  const auto f = static_cast<std::uint64_t>(first);
  const auto s = static_cast<std::uint64_t>(slope);
  const auto n = static_cast<std::uint64_t>(steps);
  const auto times = static_cast<std::uint64_t>(gaps);
  const std::uint64_t rise = s * (n - 1);
  const std::uint64_t sum_ii = n * (n - 1) * (2 * n - 1) / 6;
  if (mostly(steps * gaps < kFewGaps) && mostly(first + slope * (steps - 1) < kShortStep)) {
    Uint128 squares = Uint128{f} * (f + rise) * n;  // f^2 and 2 * f * i * s
    if (rise > 0) squares += Uint128{s} * s * sum_ii;
    squares_.add(squares * times);
    return;
  }
  squares_.add(Uint128{f} * f, n * times);
  squares_.add(Uint128{f} * 2 * s, n * (n - 1) / 2 * times);
  squares_.add(Uint128{s} * s, sum_ii * times);
}

// slope >= 0. One addition per histogram bucket that the duration passes through, and a division
// per width of them: how many steps fall into a bucket is that or one more, as what the latest step
// has left of the bucket before decides.
void ItlMeter::add_buckets(Ticks first, Ticks slope, StepCount steps, std::int64_t gaps) {
  const auto bucket_of = [](Ticks ticks) { return LogHistogram::bucket_index(ticks >> kTickBits); };
  const auto width_of = [](std::size_t bucket) {
    return LogHistogram::bucket_width(bucket) << kTickBits;
  };
  std::size_t bucket = bucket_of(first);
  const std::size_t last_bucket = bucket_of(first + slope * (steps - 1));
  StepCount done = 0;
  // Where a step rises by more than a bucket, each has one of its own; buckets get wider.
  for (; bucket != last_bucket && width_of(bucket) < slope; bucket = bucket_of(first)) {
    histogram_.add_to_bucket(bucket, gaps);
    first += slope;
    ++done;
  }
  if (bucket != last_bucket) {
    const Ticks ahead = (LogHistogram::bucket_high(bucket) + 1) << kTickBits;  // first one outside
    StepCount inside = (ahead - first + slope - 1) / slope;
    Ticks beyond = first + inside * slope - ahead;  // where the next step falls in the next bucket
    Ticks width = 0;
    StepCount whole = 0;  // width / slope, and the remainder
    Ticks rest = 0;
    while (true) {
      histogram_.add_to_bucket(bucket, inside * gaps);
      done += inside;
      if (++bucket == last_bucket) break;
      if (width != width_of(bucket)) {
        width = width_of(bucket);
        whole = width / slope;
        rest = width % slope;
      }
      inside = beyond < rest ? whole + 1 : whole;
      beyond += inside * slope - width;
    }
  }
  histogram_.add_to_bucket(last_bucket, (steps - done) * gaps);
}

}  // namespace headroom
