#pragma once
// What the page shows of one run, as JSON. Long tables are thinned deterministically, so that the
// page of a million requests stays small; the page says what was left out.
//
//   name, directory, summary      summary.json as it is
//   settings                      [pointer, value, who set it, given by the user] of each value
//   scenario                      what the user gave, as a scenario that gives this run again
//   latency                       exact quantiles of TTFT, TPOT and E2EL in ms at `levels` (%)
//   requests                      sample and slowest requests, by column
//   throughput                    requests and tokens per second, by bin
//   timeline                      samples of the state, by column; OOM moments
//   events                        counts, counts by bin, the first of each kind

#include "sim/report/page/run_files.hpp"

namespace headroom {

// Requests drawn of those that finished, and of each other outcome; all when there are no more.
inline constexpr std::size_t kSampledFinished = 2000;
inline constexpr std::size_t kSampledOthers = 500;
// Bins of what is shown over time.
inline constexpr std::size_t kTimeBins = 240;
// Of so many slices of the timeline the fullest sample and the one with most waiting are kept.
inline constexpr std::size_t kTimelineSlices = 700;

[[nodiscard]] Json run_data(const RunFiles& run);

}  // namespace headroom
