#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace headroom::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// How many of `count` random cases a test looks at: HEADROOM_SOAK times as many where
// scripts/soak.sh sets it, a tenth under the sanitizers, which look for other faults than a wrong
// figure and take ten times as long.
inline std::uint64_t repetitions(std::uint64_t count) {
  if (const char* soak = std::getenv("HEADROOM_SOAK"); soak != nullptr)
    return count * static_cast<std::uint64_t>(std::max(1LL, std::atoll(soak)));
  return kSanitized ? std::max<std::uint64_t>(1, count / 10) : count;
}

}  // namespace headroom::test
