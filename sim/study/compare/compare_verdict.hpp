#pragma once
// What a comparison shows, in one sentence.

#include <string>

#include "sim/study/compare/compare.hpp"

namespace headroom {

// A side that does not start or does not keep up comes first, as its latencies would only say how
// long it ran; then the latencies and the throughput that certainly differ by 1 % or more, the
// largest share first.
[[nodiscard]] std::string compare_sentence(const ComparisonResult& result);

}  // namespace headroom
