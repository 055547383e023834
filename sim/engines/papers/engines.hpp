#pragma once
// Engines of the literature: Sarathi-Serve, Orca, and static batches without a rule of their own.

#include "sim/engines/engine.hpp"

namespace headroom {

[[nodiscard]] const Engine& sarathi_engine();
[[nodiscard]] const Engine& orca_engine();
[[nodiscard]] const Engine& static_engine();

}  // namespace headroom
