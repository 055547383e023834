#pragma once
// What the ranks of an engine send each other in a step: within a node over the device's links at
// the calibration's constants, between nodes over each device's network port (data sheet).

#include <cstdint>
#include <string_view>

#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "hardware/llm/model_spec.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

// Ranks fill nodes in the order tensor, pipeline, data (tensor ranks next to each other).
struct NodeOptions {
  std::int64_t devices_per_node = 8;
  double nic_bytes_per_s = 50e9;   // per device and direction; 400 Gb/s
  double nic_latency_ns = 10'000;  // of a collective or message between nodes, per doubling of them
};

// How tokens reach the experts of other data ranks, with vLLM's names (--all2all-backend).
enum class All2All : std::uint8_t {
  allgather_reducescatter,  // every rank gets every token
  deepep                    // a rank gets the tokens that are routed to it
};

struct ParallelOptions {
  Sharding sharding;
  NodeOptions nodes;
  All2All all2all = All2All::allgather_reducescatter;
  // Load of the busiest expert rank over what even routing gives it, at least 1.
  double expert_load_factor = 1;
};

struct CommunicationTicks {
  Ticks step = 0;       // latencies
  Ticks token = 0;      // transfer, per token of a rank's batch
  Ticks all_token = 0;  // and per token of all data ranks
};

// Tensor parallelism: two all-reduces per layer, each moving 2 (tp - 1) / tp of a 16-bit hidden
// state per rank (FIDELITY.md 1, t_comm); over several nodes each device carries its share of the
// node's sum, 2 (N - 1) / N of it, over its own port. Data parallelism: besides, per layer with
// experts a dispatch and a combine over the data ranks: all-gather and reduce-scatter of all their
// tokens, which together move what an all-reduce of them would, or with deepep one copy per rank
// that a token's experts are on, 8-bit there where weights are, 16-bit back. Nothing for one rank.
// ConfigError when the device has no link in the catalog.
[[nodiscard]] CommunicationTicks communication_ticks(const ModelSpec& model,
                                                     const DeviceSpec& device,
                                                     const Calibration& calibration,
                                                     const ParallelOptions& parallel);

// Hand-overs of a batch from pipeline stage to stage, all of them: hidden state and residual,
// 16-bit, a share of each per tensor rank.
[[nodiscard]] CommunicationTicks hand_over_ticks(const ModelSpec& model, const DeviceSpec& device,
                                                 const Calibration& calibration,
                                                 const ParallelOptions& parallel);

}  // namespace headroom
