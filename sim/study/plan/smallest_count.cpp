#include "sim/study/plan/smallest_count.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

std::optional<std::int64_t> smallest_count(std::int64_t guess, std::int64_t most,
                                           const std::function<bool(std::int64_t)>& enough) {
  HEADROOM_CHECK(most >= 1, "no number of replicas to choose from");
  std::optional<bool> most_is_enough;
  // Beyond `most` its own answer counts.
  const auto ask = [&](std::int64_t n) {
    if (n < most) return enough(n);
    if (!most_is_enough) most_is_enough = enough(most);
    return *most_is_enough;
  };
  std::int64_t at = std::max<std::int64_t>(guess, 1);
  // The first stride is as far as a guess may usually be off.
  std::int64_t stride = std::max<std::int64_t>(1, at / 12);
  std::int64_t too_few = 0;  // not enough
  std::int64_t good = 0;     // enough; 0: none known
  if (ask(at)) {
    good = at;
    while (good > 1) {
      at = std::max<std::int64_t>(1, good - stride);
      if (!ask(at)) {
        too_few = at;
        break;
      }
      good = at;
      stride *= 2;
    }
  } else {
    too_few = at;
    while (good == 0) {
      if (too_few >= most) return std::nullopt;
      at = too_few + stride;
      if (ask(at)) {
        good = at;
      } else {
        too_few = at;
      }
      stride *= 2;
    }
  }
  while (good - too_few > 1) {
    const std::int64_t middle = too_few + (good - too_few) / 2;
    (ask(middle) ? good : too_few) = middle;
  }
  return good;
}

}  // namespace headroom
