#pragma once
// A running server as `watch` follows it: its metrics, read every so often, beside the largest load
// of the same requests that the simulator says it holds.

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/app/system_source.hpp"
#include "sim/observe/http_client.hpp"
#include "sim/observe/watch_verdict.hpp"
#include "sim/study/search/bisection.hpp"

namespace headroom {

struct WatchFlags {
  std::string url;
  SystemFlags system;  // what serves; may be left out: then no load is simulated
  std::vector<std::string> targets;
  double every_s = 15;
  double window_s = 300;
  std::string key_variable;  // of the environment
  bool remote = false;
  std::string catalog;
  std::optional<std::int64_t> threads;  // empty: all cores
};

class Watching {
 public:
  // ConfigError: a flag, the system or the server's address is wrong. `stop` outlives this object.
  Watching(const WatchFlags& flags, const std::atomic<bool>& stop);

  // Reads the server's metrics, within five seconds. ConfigError, the first time: it does not
  // answer, or has no metrics that are known. Later that is in the view.
  void read();
  // Simulates the largest load anew where the traffic has changed, which takes seconds.
  void update_limit();
  [[nodiscard]] const WatchView& view() const { return view_; }

 private:
  [[nodiscard]] std::string metrics();
  // The system under the traffic of the window; nothing: no request has ended yet.
  [[nodiscard]] std::optional<ScenarioDocument> question() const;

  WatchFlags flags_;
  const std::atomic<bool>& stop_;
  Catalog catalog_;
  std::vector<Limit> targets_;
  HttpClient client_;
  TrafficWindow window_;
  std::optional<ScenarioDocument> system_;
  WatchView view_;
};

}  // namespace headroom
