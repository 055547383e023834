#pragma once
// Tables of a run as NumPy arrays.

#include <nanobind/nanobind.h>

#include <memory>

#include "sim/api/headroom.hpp"

namespace headroom::python {

// A dict of name -> array, in the order of requests.csv and timeline.csv. The arrays show the run's
// own memory, cannot be written, and keep it as long as any of them lives.
[[nodiscard]] nanobind::dict request_arrays(const api::RunTables& tables);
[[nodiscard]] nanobind::dict timeline_arrays(const api::RunTables& tables);

}  // namespace headroom::python
