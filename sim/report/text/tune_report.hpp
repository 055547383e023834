#pragma once
// The answer of `headroom tune` on one screen: the best flags, what they gain, and how sure that
// is.

#include <string>

#include "sim/study/tune/tune.hpp"

namespace headroom {

// `flags`: the engine's command with the best options; may be empty.
[[nodiscard]] std::string tune_text(const TuneAnswer& answer, const std::string& flags);

}  // namespace headroom
