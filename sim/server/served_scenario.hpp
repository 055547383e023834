#pragma once
// The scenario that a server runs: a given system under the requests that come.

#include "sim/scenario/json_document.hpp"

namespace headroom {

inline constexpr const char* kServedTrace = "trace.csv";

// `document` with the trace `kServedTrace` for its workload, and without limits of its length.
// Written beside the trace of what was served, `headroom run` replays it.
[[nodiscard]] JsonDocument served_document(JsonDocument document);

// A document without a workload gets one, for the lengths of answers: 256 tokens each.
void add_plain_workload(JsonDocument& document);

}  // namespace headroom
