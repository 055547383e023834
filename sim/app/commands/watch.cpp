// `headroom watch URL`: a running server, followed by its /metrics. What is left, and what breaks
// first?

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/failure.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/watching.hpp"
#include "sim/report/files/watch_json.hpp"
#include "sim/report/text/watch_report.hpp"
#include "sim/server/http_server.hpp"

namespace headroom {
namespace {

struct WatchArguments {
  WatchFlags flags;
  std::optional<std::int64_t> port;
  bool once = false;
  bool json = false;
};

constexpr std::int64_t kHighestPort = 65535;
constexpr double kStep_s = 0.1;  // between two looks at whether to stop

// Gauges on a port of this machine. Nothing: no port was asked for.
std::unique_ptr<HttpServer> gauges(const WatchArguments& a, const WatchView& view) {
  if (!a.port) return nullptr;
  if (*a.port < 0 || *a.port > kHighestPort) {
    throw ConfigError(Complaint{.kind = ErrorKind::value,
                                .origin = "--port",
                                .value = fmt::format("{}", *a.port),
                                .problem = fmt::format("expected 0 to {}", kHighestPort)});
  }
  HttpServerOptions options;
  options.port = static_cast<std::uint16_t>(*a.port);
  options.most_connections = 64;
  options.most_body_bytes = 1024;
  return std::make_unique<HttpServer>(
      options, [&view](const HttpAsk& ask, HttpReply& reply) -> std::unique_ptr<HttpWork> {
        constexpr int kNotFound = 404;
        constexpr int kWrongMethod = 405;
        if (ask.path != "/metrics") {
          reply.send(kNotFound, "text/plain", "the gauges are at /metrics\n");
        } else if (ask.method != "GET") {
          reply.send(kWrongMethod, "text/plain", "GET only\n");
        } else {
          reply.send(kHttpOk, "text/plain; version=0.0.4", watch_gauges(view));
        }
        return nullptr;
      });
}

// `seconds`, or until a signal comes; answers who asks for the gauges meanwhile.
void pass_time(double seconds, HttpServer* server, const std::atomic<bool>& stop) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  while (!stop && Clock::now() < end) {
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    const double step = std::min(left, kStep_s);
    if (server != nullptr) {
      server->wait_until(server->now_ns() + static_cast<TimeNs>(step * kNsPerSecondReal));
    } else {
      std::this_thread::sleep_for(std::chrono::duration<double>(step));
    }
  }
}

void show(const WatchArguments& a, const WatchView& view) {
  if (a.json) {
    // One document, or a line for each read.
    std::string text = watch_json(view, kVersion).dump(a.once ? 2 : -1);
    print(text + "\n", true);
  } else if (a.once) {
    print(watch_text(view));
  } else if (::isatty(STDOUT_FILENO) == 1) {
    fmt::print("\033[H\033[J");  // from the top of an empty screen
    print(watch_text(view));
  } else {
    print(watch_line(view));
  }
  std::fflush(stdout);
}

int watch_command(const WatchArguments& a) {
  const std::atomic<bool>& stop = stop_on_signals();
  Watching watching(a.flags, stop);
  const auto server = gauges(a, watching.view());
  if (server) fmt::print(stderr, "gauges at http://127.0.0.1:{}/metrics\n", server->port());
  watching.read();
  if (a.once) {
    pass_time(a.flags.every_s, server.get(), stop);
    if (!stop) watching.read();
  }
  while (!stop) {
    watching.update_limit();
    show(a, watching.view());
    if (a.once) {
      return watching.view().verdict.verdict == HoldVerdict::does_not_hold ? kExitDoesNotHold : 0;
    }
    pass_time(a.flags.every_s, server.get(), stop);
    if (!stop) watching.read();
  }
  return interrupted_exit_code();
}

std::function<int()> add_watch(CLI::App& command) {
  const auto a = std::make_shared<WatchArguments>();
  WatchFlags& f = a->flags;
  command.add_option("url", f.url, "the server: http://127.0.0.1:8000")->required();
  command.add_option("source", f.system.source,
                     "what serves: its command behind --, or quoted; compose.yaml, a start-up log, "
                     "a scenario");
  command.add_option("--model", f.system.models, "without a source: the model that serves")
      ->allow_extra_args(false);
  command
      .add_option("--device", f.system.devices,
                  "what it runs on; 2x4090 for two. Alone: the server says the rest")
      ->allow_extra_args(false);
  command.add_option("--devices", f.system.device_count, "without a source: how many");
  command.add_option("--engine", f.system.engine, "without a source: engine or engine@version");
  command.add_option("--service", f.system.service, "for a compose file: the service to read");
  command.add_option("--set", f.system.set, "path=value, changes the system")
      ->allow_extra_args(false);
  command.add_option("--slo", f.targets, "targets: p99_ttft=2s,p95_tpot=50ms")
      ->allow_extra_args(false);
  with_short_numbers(
      command.add_option("--every", f.every_s, "seconds between reads of /metrics (15)"), "s");
  with_short_numbers(command.add_option("--window", f.window_s,
                                        "seconds that traffic and growth are taken from (300)"),
                     "s");
  command.add_option("--port", a->port, "also publish gauges for Prometheus there; 0: any port");
  command.add_flag("--once", a->once, "two reads, one answer; exit code 4 when it does not hold");
  command.add_option("--api-key-env", f.key_variable,
                     "variable of the environment that holds the key; it is not stored");
  command.add_flag("--remote", f.remote, "the server may be on another machine");
  command.add_option("-j,--threads", f.threads, "runs in parallel (all cores)");
  command.add_option("--catalog", f.catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON, without --once a line for each read");
  return [a] { return watch_command(*a); };
}

}  // namespace

const Command kWatchCommand{"watch", "follow a running server: what is left, what breaks first",
                            add_watch};

}  // namespace headroom
