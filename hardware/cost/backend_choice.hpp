#pragma once
// The kernels of matrix products that an engine's options choose.

#include "hardware/kernels/kernel_shapes.hpp"

namespace headroom {

struct BackendChoice {
  ProductKernel linear = ProductKernel::fastest;  // of every matrix but those of routed experts
  ProductKernel moe = ProductKernel::fastest;     // of these
  bool mxfp8 = false;                             // of mxfp4 experts: activations in 8 bit

  // Of most weights of a model with experts or without.
  [[nodiscard]] ProductKernel most(bool has_experts) const { return has_experts ? moe : linear; }
};

}  // namespace headroom
