#pragma once
// Plain quantities shared by every part of the serving model.

#include <cstdint>

namespace headroom {

using RequestId = std::uint32_t;  // slot of a live request; reused after it leaves
using TokenCount = std::int64_t;
using BlockCount = std::int64_t;
using ByteCount = std::int64_t;
using StepIndex = std::int64_t;  // steps of one replica, counted from 1
using StepCount = std::int64_t;

inline constexpr RequestId kNoRequest = UINT32_MAX;
inline constexpr StepCount kManySteps = StepCount{1} << 40;  // "no bound of mine"

}  // namespace headroom
