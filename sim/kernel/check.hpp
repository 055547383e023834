#pragma once
// Always-on checks of our own invariants, in every build type. A failed check is a bug of Headroom,
// never of the user's input: it throws `InternalError` with the simulated time, the number of the
// event and the seed of the run, which together reproduce it.

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "sim/kernel/time.hpp"

namespace headroom {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

// Where the running simulation is. One per thread; written by the event loop, read by a failed
// check.
struct RunPosition {
  TimeNs now_ns = 0;
  std::uint64_t event = 0;
  std::uint64_t seed = 0;
};
[[nodiscard]] RunPosition& run_position();

[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               std::string_view detail);

}  // namespace headroom

// The only macro of the project: it needs the text of the condition and its place.
// HEADROOM_CHECK(condition, detail): `detail` is evaluated only when the condition is false.
#define HEADROOM_CHECK(condition, detail) \
  (static_cast<bool>(condition)           \
       ? static_cast<void>(0)             \
       : ::headroom::check_failed(#condition, __FILE__, __LINE__, (detail)))
