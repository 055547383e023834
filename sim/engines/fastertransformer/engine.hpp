#pragma once
// FasterTransformer.

#include <cstdint>

#include "sim/engines/engine.hpp"

namespace headroom {

struct FtOptions {
  std::int64_t beam_width = 1;
};

[[nodiscard]] const Engine& fastertransformer_engine();

}  // namespace headroom
