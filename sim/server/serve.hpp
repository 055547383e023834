#pragma once
// A server of OpenAI's API before a simulated deployment, in real time (docs/serve.md).

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/server/emulator.hpp"
#include "sim/server/http_server.hpp"
#include "sim/server/sleep_mode.hpp"
#include "sim/server/ui_files.hpp"

namespace headroom {

struct ServeOptions {
  HttpServerOptions http;
  double time_scale = 1;                      // simulated seconds in one, > 0
  std::string api_key;                        // empty: none
  std::string version;                        // that /version says
  double startup_s = 0;                       // simulated seconds until requests are taken
  double drain_s = 30;                        // for answers that are being made when it is stopped
  std::size_t most_open = 65'536;             // answers at once
  std::optional<SleepTimes> sleep_mode = {};  // simulated time; absent: no paths for it
  UiFiles ui = {};                            // the playground, if it is to be there
};

class SimulatedServer {
 public:
  // Clients can connect from here on. ConfigError: as HttpServer. `emulator` outlives this object.
  SimulatedServer(const ServeOptions& options, Emulator& emulator);
  ~SimulatedServer();
  SimulatedServer(const SimulatedServer&) = delete;
  SimulatedServer& operator=(const SimulatedServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  // Serves until `stop` becomes true, and then the answers that are being made, for a while.
  // Afterwards emulator.finish() has the results.
  void run(const std::atomic<bool>& stop);

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace headroom
