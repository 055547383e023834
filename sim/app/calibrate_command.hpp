#pragma once
// `headroom calibrate DIR --calibration ID --runs ... --fit ...`: constants fitted on measured
// runs.

#include <string>

#include "sim/study/calibrate.hpp"

namespace headroom {

struct CalibrateArguments {
  std::string directory;
  std::string calibration;
  std::vector<std::string> runs;
  std::vector<std::string> fit;
  std::string output;   // folder for the calibrations.json; empty: print only
  std::string catalog;  // folder laid over the embedded one; empty: none
};

// What to print. ConfigError, DataError: an argument, the folder or a file in it is wrong.
[[nodiscard]] std::string calibrate_command(const CalibrateArguments& arguments);

}  // namespace headroom
