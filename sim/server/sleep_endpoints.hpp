#pragma once
// The paths of sleep mode: POST /sleep, POST /wake_up, GET /is_sleeping (sleep_mode.hpp).

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "sim/server/emulator.hpp"
#include "sim/server/http_server.hpp"
#include "sim/server/open_completions.hpp"
#include "sim/server/serve_clock.hpp"
#include "sim/server/sleep_mode.hpp"

namespace headroom {

class SleepEndpoints final : private SleepListener {
 public:
  struct Path {
    std::string_view path;
    std::string_view method;
  };
  static constexpr Path kPaths[] = {
      {"/sleep", "POST"}, {"/wake_up", "POST"}, {"/is_sleeping", "GET"}};

  // All outlive this object, which outlives what begin() returns.
  SleepEndpoints(SleepTimes wall_times, Emulator& emulator, ServeClock& clock,
                 OpenCompletions& completions);

  // One of the paths; the answer comes when the command is carried out. ApiRefusal: its query.
  [[nodiscard]] std::unique_ptr<HttpWork> begin(const HttpAsk& ask, HttpReply& reply);
  [[nodiscard]] bool takes_requests() const { return mode_.takes_requests(); }
  void advance(TimeNs wall_ns) { mode_.advance(wall_ns, emulator_.open_answers()); }
  [[nodiscard]] TimeNs next_ns() const { return mode_.next_ns(); }

 private:
  class Waiting;

  void on_abort() override { completions_.abort(); }
  void on_freeze(bool frozen) override { clock_.freeze(frozen); }
  void on_cache_lost() override { emulator_.forget_prefixes(); }
  void on_awake() override { completions_.begin_waiting(); }
  void on_done(std::uint64_t id) override;

  Emulator& emulator_;
  ServeClock& clock_;
  OpenCompletions& completions_;
  SleepMode mode_;
  std::map<std::uint64_t, HttpReply*> waiting_;  // by command; of clients that are still there
};

}  // namespace headroom
