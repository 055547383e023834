#pragma once
// ServeGen's client pools (https://github.com/alibaba/ServeGen, data at commit f891d118;
// arXiv:2505.09999; TRACES.md 3.10): not requests but, for each client of a service, laws to draw
// them from. A folder data/<category>/<model> (language/m-large, reason/deepseek-r1,
// multimodal/mm-image ...), unpacked, holds two files per client:
// - chunk-<client>-trace.csv, without a header: start_s,rate_rps,cv,pattern,p1,p2, one row per
//   window of 600 s. Pattern Gamma or Weibull is the law of the gaps, with the shape p1; their
//   scale p2 and their cv follow from rate and shape and are not used. Empty: the client is idle.
// - chunk-<client>-dataset.json: lengths (servegen_lengths.hpp).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/time.hpp"
#include "workloads/servegen_lengths.hpp"

namespace headroom {

// Arrivals of a client in a window of kServeGenWindowS.
struct ServeGenWindow {
  enum class Gaps : std::uint8_t { idle, gamma, weibull };

  std::int64_t start_s = 0;
  std::int64_t requests_e9 = 0;  // expected, in units of 1e-9
  double shape = 1.0;            // of the gaps
  Gaps gaps = Gaps::idle;
};

inline constexpr std::int64_t kServeGenWindowS = 600;

struct ServeGenClient {
  std::int64_t id = 0;
  std::vector<ServeGenWindow> windows;   // in order of time
  std::vector<ServeGenLengths> lengths;  // in order of time

  // What applies at `time_s`; nullptr: nothing yet, or no data.
  [[nodiscard]] const ServeGenLengths* lengths_at(std::int64_t time_s) const;
};

class ServeGenPools {
 public:
  // All clients of the folder, in order of their numbers. DataError: no client, a client with one
  // file of two, a malformed file.
  explicit ServeGenPools(const std::string& folder);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::vector<ServeGenClient>& clients() const { return clients_; }
  // Where the last window ends, in seconds.
  [[nodiscard]] std::int64_t end_s() const;
  // Of all windows, those without lengths included, in units of 1e-9 requests.
  [[nodiscard]] Int128 expected_requests_e9() const;

 private:
  std::string folder_;
  std::vector<ServeGenClient> clients_;
};

}  // namespace headroom
