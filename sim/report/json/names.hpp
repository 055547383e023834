#pragma once
// Names of enumerations as result files spell them.

#include <string_view>

#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

[[nodiscard]] std::string_view name_of(Outcome outcome);
[[nodiscard]] std::string_view name_of(EngineEventKind kind);

}  // namespace headroom
