#pragma once
// The requests for completions that are here: asked of the emulator, or waiting until it takes
// requests again (sleep_mode.hpp).

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "sim/server/api_request.hpp"
#include "sim/server/emulator.hpp"
#include "sim/server/http_server.hpp"
#include "sim/server/serve_clock.hpp"

namespace headroom {

class OpenCompletions {
 public:
  // Both outlive this object, which outlives all that add() returns.
  OpenCompletions(Emulator& emulator, ServeClock& clock) : emulator_(emulator), clock_(clock) {}

  // `begins`: the emulator is asked at once, and the first one of all begins the clock.
  [[nodiscard]] std::unique_ptr<HttpWork> add(CompletionAsk ask, HttpReply& reply, bool begins);
  // Asks for all that wait, in the order in which they came.
  void begin_waiting();
  // Ends all that have begun: their answers are as long as they are now.
  void abort();

  [[nodiscard]] std::size_t answers() const { return emulator_.open_answers() + waiting_answers_; }

 private:
  class Completion;

  Emulator& emulator_;
  ServeClock& clock_;
  std::uint64_t added_ = 0;
  std::size_t waiting_answers_ = 0;
  std::map<std::uint64_t, Completion*> all_;  // by order of coming
};

}  // namespace headroom
