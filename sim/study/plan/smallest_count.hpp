#pragma once
// The smallest number of replicas that is enough.

#include <cstdint>
#include <functional>
#include <optional>

namespace headroom {

// Smallest n in 1 .. most for which `enough(n)`, supposing that more never hurts; nothing when
// `most` is not enough. Gallops from `guess` in growing strides until two numbers enclose the
// answer, then halves: some 2 log2(|answer - guess|) + 3 calls, each n tried at most once. Below
// `most` it tries the same numbers for any `most`, so that a larger one never changes the answer,
// even if `enough` errs.
[[nodiscard]] std::optional<std::int64_t> smallest_count(
    std::int64_t guess, std::int64_t most, const std::function<bool(std::int64_t)>& enough);

}  // namespace headroom
