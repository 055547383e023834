#pragma once
// What steps read out of the host's memory, where weights and KV do not all lie on devices.

#include "sim/serving/types.hpp"

namespace headroom {

struct HostReads {
  ByteCount always = 0;   // by every step: layers, without their routed experts
  ByteCount experts = 0;  // routed experts, of which a step reads those that its tokens reach
  ByteCount head = 0;
  double kv_share = 0;      // of the KV
  double weight_share = 0;  // of the weights that a step with one token reads
};

}  // namespace headroom
