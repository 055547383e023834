#pragma once
// Simulated time. Instants are whole nanoseconds; durations of steps are whole *ticks* of 2^-20 ns,
// so that a run of steps may be cut anywhere without changing a bit of the result.

#include <cstdint>

namespace headroom {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

using TimeNs = std::int64_t;  // nanoseconds since the start of the run
using Ticks = std::int64_t;   // 2^-20 ns; one step: below 2^62 ticks = 73 min
using TickSum = Int128;       // sums of ticks; also instants with their sub-nanosecond part

inline constexpr int kTickBits = 20;
inline constexpr std::int64_t kTicksPerNs = std::int64_t{1} << kTickBits;
inline constexpr Ticks kMaxStepTicks = Ticks{1} << 62;
inline constexpr TimeNs kNsPerMs = 1'000'000;
inline constexpr TimeNs kNsPerSecond = 1'000'000'000;
inline constexpr double kNsPerMsReal = 1e6;  // for times in real numbers
inline constexpr double kNsPerSecondReal = 1e9;
inline constexpr TimeNs kNever = INT64_MAX;

// The nanosecond in which an instant falls (floor).
[[nodiscard]] constexpr TimeNs floor_ns(TickSum instant) {
  return static_cast<TimeNs>(instant >> kTickBits);
}

[[nodiscard]] constexpr TickSum ticks_from_ns(TimeNs ns) {
  return static_cast<TickSum>(ns) << kTickBits;
}

}  // namespace headroom
