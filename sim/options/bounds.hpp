#pragma once
// Ranges of numbers, as option tables state them.

namespace headroom {

inline constexpr double kNoBound = 1e300;

struct Bounds {
  double low = -kNoBound;
  double high = kNoBound;
  bool low_open = false;  // the bound itself is not allowed
  bool high_open = false;
};

inline constexpr Bounds kCount{.low = 1, .high = 1e9};
inline constexpr Bounds kTokens{.low = 1, .high = 1e8};
inline constexpr Bounds kBytes{.low = 0, .high = 9e15};
inline constexpr Bounds kPositive{.low = 0, .high = 1e9, .low_open = true};
inline constexpr Bounds kShare{.low = 0, .high = 1};
inline constexpr Bounds kShareAbove0{.low = 0, .high = 1, .low_open = true};

}  // namespace headroom
