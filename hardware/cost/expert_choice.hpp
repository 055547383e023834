#pragma once
// The kernel of routed experts that an engine's options choose.

#include "hardware/kernels/kernel_shapes.hpp"

namespace headroom {

struct ExpertChoice {
  ExpertKernel kernel = ExpertKernel::fastest;
  bool mxfp8 = false;  // of mxfp4 weights: activations in 8 bit
};

}  // namespace headroom
