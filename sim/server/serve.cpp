#include "sim/server/serve.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/server/endpoints.hpp"
#include "sim/server/serve_clock.hpp"

namespace headroom {
namespace {

constexpr TimeNs kLookForStopNs = 100 * kNsPerMs;

TimeNs wall_ns_of(double seconds, double scale) {
  return static_cast<TimeNs>(seconds / scale * kNsPerSecondReal);
}

std::optional<SleepTimes> wall_times(const ServeOptions& options) {
  if (!options.sleep_mode) return std::nullopt;
  const auto wall = [&](TimeNs ns) {
    return static_cast<TimeNs>(static_cast<double>(ns) / options.time_scale);
  };
  return SleepTimes{wall(options.sleep_mode->offload_ns), wall(options.sleep_mode->reload_ns)};
}

}  // namespace

// Everything happens on one thread: the network and the engine take turns.
class SimulatedServer::Service {
 public:
  Service(const ServeOptions& options, Emulator& emulator)
      : options_(options),
        emulator_(emulator),
        clock_([this] { return http_.now_ns(); }, options.time_scale),
        endpoints_({.api_key = options.api_key,
                    .version = options.version,
                    .most_open = options.most_open,
                    .sleep_mode = wall_times(options),
                    .ui = options.ui},
                   emulator, clock_),
        http_(options.http, [this](const HttpAsk& ask, HttpReply& reply) {
          return endpoints_.begin(ask, reply);
        }) {}

  [[nodiscard]] std::uint16_t port() const { return http_.port(); }

  void run(const std::atomic<bool>& stop) {
    const TimeNs ready_ns = wall_ns_of(options_.startup_s, options_.time_scale);
    while (!stop.load(std::memory_order_relaxed)) {
      endpoints_.set_ready(http_.now_ns() >= ready_ns);
      turn();
    }
    http_.stop_accepting();
    const TimeNs until_ns = http_.now_ns() + wall_ns_of(options_.drain_s, 1);
    while (http_.connections() > 0 && http_.now_ns() < until_ns) turn();
    http_.close_all();
  }

 private:
  void turn() {
    if (clock_.runs()) emulator_.advance(clock_.now_ns());
    endpoints_.advance(http_.now_ns());
    http_.wait_until(std::min({clock_.wall_of(emulator_.next_ns()), endpoints_.next_ns(),
                               http_.now_ns() + kLookForStopNs}));
  }

  ServeOptions options_;
  Emulator& emulator_;
  ServeClock clock_;
  Endpoints endpoints_;
  HttpServer http_;  // the last: what it works on uses all others
};

SimulatedServer::SimulatedServer(const ServeOptions& options, Emulator& emulator)
    : service_(std::make_unique<Service>(options, emulator)) {}
SimulatedServer::~SimulatedServer() = default;
std::uint16_t SimulatedServer::port() const { return service_->port(); }
void SimulatedServer::run(const std::atomic<bool>& stop) { service_->run(stop); }

}  // namespace headroom
