#pragma once
// The page of `headroom twin`: a server as it was measured beside its model.

#include <string>
#include <vector>

#include "sim/fidelity/calibrate.hpp"
#include "sim/observe/observation.hpp"
#include "sim/study/ask/ask.hpp"

namespace headroom {

// One measurement with the replays of it.
struct TwinRun {
  Observation seen;
  bool is_fitted_on = false;          // the constants were chosen with it; else it only scores
  ScoredRun before;                   // with the constants that the catalog has for the system
  ScoredRun after;                    // with the fitted ones
  std::vector<RequestRecord> replay;  // with those
  ClientLatency client_latency;       // likewise
};

struct Twin {
  std::vector<TwinRun> runs;  // the traffic of interest last
  CalibrationFit fit;
  std::string started_from;  // row of constants
  AskAnswer answer;          // of the traffic, with the fitted constants
  std::string scenario;      // the question, as JSON
  std::string next;          // the command to go on with
};

[[nodiscard]] std::string twin_page(const Twin& twin, const std::string& version);

// The same for the terminal.
[[nodiscard]] std::string twin_text(const Twin& twin, const std::string& page);

}  // namespace headroom
