#pragma once
// The paths of the server: which request is answered with what.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/embedded_file.hpp"
#include "sim/server/emulator.hpp"
#include "sim/server/http_server.hpp"
#include "sim/server/open_completions.hpp"
#include "sim/server/serve_clock.hpp"
#include "sim/server/sleep_endpoints.hpp"
#include "sim/server/ui_files.hpp"

namespace headroom {

[[nodiscard]] std::span<const EmbeddedFile> live_files();  // web/*

struct EndpointOptions {
  std::string api_key;                        // that clients must send; empty: none
  std::string version;                        // of Headroom
  std::size_t most_open = 0;                  // answers at once; more are turned away with 429
  std::optional<SleepTimes> sleep_mode = {};  // absent: no paths for it. Of the wall clock
  UiFiles ui = {};                            // at /ui/
};

class Endpoints {
 public:
  // The first request for completions begins the clock. `emulator` and `clock` outlive this object,
  // which outlives all work.
  Endpoints(EndpointOptions options, Emulator& emulator, ServeClock& clock);

  [[nodiscard]] std::unique_ptr<HttpWork> begin(const HttpAsk& ask, HttpReply& reply);
  // Whether the engine is there: before that, requests and /health are answered with 503.
  void set_ready(bool is_ready) { is_ready_ = is_ready; }
  // What happens by itself, by the wall clock.
  void advance(TimeNs wall_ns) {
    if (sleep_) sleep_->advance(wall_ns);
  }
  [[nodiscard]] TimeNs next_ns() const { return sleep_ ? sleep_->next_ns() : kNever; }

 private:
  [[nodiscard]] std::unique_ptr<HttpWork> route(const HttpAsk& ask, HttpReply& reply);
  [[nodiscard]] std::unique_ptr<HttpWork> complete(const HttpAsk& ask, HttpReply& reply,
                                                   bool is_chat);
  [[nodiscard]] std::vector<SleepEndpoints::Path> paths() const;
  void show(const HttpAsk& ask, HttpReply& reply);
  [[nodiscard]] bool show_ui(const HttpAsk& ask, HttpReply& reply) const;
  void check_key(const HttpAsk& ask) const;

  EndpointOptions options_;
  Emulator& emulator_;
  ServeClock& clock_;
  OpenCompletions completions_;
  std::optional<SleepEndpoints> sleep_;
  std::int64_t created_s_;
  std::string live_page_;  // at /
  bool is_ready_ = true;
};

}  // namespace headroom
