#pragma once
// Sleep mode: an engine gives its weights' and KV cache's memory back and takes it again. This is
// the order of things and how long they take, without HTTP or requests (docs/serve.md, "Sleep
// mode"). All times are of the wall clock.

#include <cstdint>
#include <deque>
#include <optional>

#include "sim/kernel/time.hpp"
#include "sim/resolve/resolve.hpp"

namespace headroom {

// How long the copies take.
struct SleepTimes {
  TimeNs offload_ns = 0;  // level 1: the weights of a rank to host memory, and back
  TimeNs reload_ns = 0;   // level 2: all weights from storage
};
// In simulated time. ConfigError: the catalog does not know how fast the host's memory is reached.
[[nodiscard]] SleepTimes sleep_times_of(const Resolved& resolved);

// What happens to the answers that are being made.
enum class SleepWith : std::uint8_t { abort, wait, keep };

struct SleepCommand {
  bool sleeps = true;  // false: wakes up
  int level = 1;       // 0: scheduling stops, 1: weights to host memory, 2: weights are dropped
  SleepWith with = SleepWith::abort;
  bool weights = true;  // of waking up: what comes back
  bool kv_cache = true;
};

// What the owner has to do on the way.
class SleepListener {
 public:
  virtual ~SleepListener() = default;
  virtual void on_abort() = 0;                 // all answers end now
  virtual void on_freeze(bool frozen) = 0;     // no simulated time passes
  virtual void on_cache_lost() = 0;            // the KV cache is empty
  virtual void on_awake() = 0;                 // requests that wait may begin
  virtual void on_done(std::uint64_t id) = 0;  // a command is carried out
};

class SleepMode {
 public:
  // `listener` outlives this object.
  SleepMode(SleepTimes wall_times, SleepListener& listener)
      : times_(wall_times), listener_(listener) {}

  // Carried out behind those before it. Returns its identity for on_done(), which advance() calls.
  std::uint64_t command(const SleepCommand& command);
  // `open_answers`: how many are being made.
  void advance(TimeNs now_ns, std::size_t open_answers);
  // When advance() has something to do; 0: at once; kNever: not by itself.
  [[nodiscard]] TimeNs next_ns() const;
  // Whether new requests begin; otherwise they wait.
  [[nodiscard]] bool takes_requests() const { return !is_paused_; }
  [[nodiscard]] bool is_sleeping() const { return is_paused_; }

 private:
  struct Queued {
    SleepCommand command;
    std::uint64_t id = 0;
    std::optional<TimeNs> until_ns = {};  // set when it has begun
    bool drains = false;                  // waits for answers before that
  };

  void begin(Queued& queued, TimeNs now_ns);
  void end(const SleepCommand& command);
  [[nodiscard]] TimeNs duration(const SleepCommand& command) const;

  SleepTimes times_;
  SleepListener& listener_;
  std::deque<Queued> queue_;
  std::uint64_t commands_ = 0;
  bool is_paused_ = false;  // scheduling
  bool is_frozen_ = false;  // with its answers
  int weights_level_ = 0;   // how deep they sleep; 0: they are there
  bool kv_sleeps_ = false;
};

}  // namespace headroom
