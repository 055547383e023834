#pragma once
// What a run has recorded, as the columns of the library.

#include <memory>

#include "sim/api/headroom.hpp"
#include "sim/metrics/recorder.hpp"

namespace headroom::api {

// `recorder` may be empty: nothing ran.
[[nodiscard]] RunTables run_tables(std::shared_ptr<const Recorder> recorder);

}  // namespace headroom::api
