#pragma once
// A fingerprint of a run's results: equal digests mean equal results, whatever the way the run was
// computed (cuts, threads, compiler).

#include <string>

#include "sim/kernel/digest.hpp"
#include "sim/metrics/recorder.hpp"

namespace headroom {

// Over every field of every record and every integer the meters hold, in a fixed order. 32 hex
// digits. After recorder.finish().
[[nodiscard]] std::string run_digest(const Recorder& recorder);

// The same in steps, for who passes over the records anyway: what comes before them; then each of
// recorder.records() in order (record_digest.hpp); and what comes behind.
[[nodiscard]] Digest begin_run_digest(const Recorder& recorder);
[[nodiscard]] std::string end_run_digest(Digest digest, const Recorder& recorder);

}  // namespace headroom
