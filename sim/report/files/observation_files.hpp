#pragma once
// The folder of a measured server, as `headroom validate runs` and `calibrate` read it
// (sim/fidelity/measured_observation.cpp):
//   observed.json   what was measured and how: figures, server, system, workload, notes
//   trace.csv       the requests that loaded the server, with what was measured of each
//                   (`headroom run --trace` replays them)
//   requests.csv    every request, for people and other programs
//   load.csv        what the server's /metrics said meanwhile; without metrics: its header

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/observe/observation.hpp"
#include "sim/options/json.hpp"
#include "sim/report/files/created_folders.hpp"
#include "sim/report/files/replaced_file.hpp"

namespace headroom {

// What the user said of the run.
struct ObservedQuestion {
  Json scenario;                      // system and workload; without a "model": workload alone
  std::string model_file;             // the text of a model of the user's own; empty: none
  std::vector<std::string> classes;   // names by class id
  std::optional<std::int64_t> users;  // a closed loop without pauses, of so many
  std::int64_t most_requests = 0;
  double most_seconds = 0;
};

// The release that the server tells goes into the scenario of a system whose release nobody named:
// the run shall be replayed as what was measured, not as the newest release of that day. Nothing
// happens where the server tells none, or /metrics are another engine's.
void name_release(const Observation& observation, Json& scenario);

class ObservationFolder {
 public:
  // ConfigError: it cannot be written, or holds files: what was measured is never overwritten.
  explicit ObservationFolder(const std::string& folder);

  // All files. Returns observed.json.
  std::string write(const Observation& observation, const ObservedQuestion& question,
                    const std::string& version);

 private:
  [[nodiscard]] std::string path(const char* name) const;

  std::string folder_;
  CreatedFolders created_;
  ReplacedFile json_;  // opened at once, so that a folder that cannot be written is reported early
};

}  // namespace headroom
