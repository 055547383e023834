#pragma once
// `headroom calibrate DIR --calibration ID --runs ... --fit ...`: constants fitted on measured
// runs. `headroom calibrate FILE --calibration ID --device ID --fit ...`: on step times that
// hardware/probe/probe.py wrote.

#include <string>

#include <vector>

namespace headroom {

struct CalibrateArguments {
  std::string source;  // folder of runs, or file of the probe
  std::string calibration;
  std::vector<std::string> runs;  // of a folder
  std::string device;             // of a file; empty: the row's
  std::vector<std::string> fit;
  std::string output;   // folder for the calibrations.json; empty: print only
  std::string catalog;  // folder laid over the embedded one; empty: none
};

// What to print. ConfigError, DataError: an argument, the folder or a file in it is wrong.
[[nodiscard]] std::string calibrate_command(const CalibrateArguments& arguments);

}  // namespace headroom
