#pragma once
// A fingerprint of a run's results: equal digests mean equal results, whatever the way the run was
// computed (cuts, threads, compiler).

#include <string>

#include "sim/metrics/recorder.hpp"

namespace headroom {

// Over every field of every record and every integer the meters hold, in a fixed order. 32 hex
// digits. After recorder.finish().
[[nodiscard]] std::string run_digest(const Recorder& recorder);

}  // namespace headroom
