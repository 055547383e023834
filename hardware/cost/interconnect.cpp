#include "hardware/cost/interconnect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "hardware/cost/expert_share.hpp"
#include "hardware/cost/ticks.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

double log2_of(std::int64_t ranks) {
  const auto bits = static_cast<std::uint64_t>(ranks);
  if (std::has_single_bit(bits)) return static_cast<double>(std::bit_width(bits)) - 1;
  return det::log(static_cast<double>(ranks)) / det::log(2.0);
}

// The ranks of a collective: equally many on each of its nodes.
struct Group {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;
  std::int64_t nodes = 1;
};

// `ranks` that lie `stride` devices apart.
Group group_of(std::int64_t ranks, std::int64_t stride, const NodeOptions& nodes) {
  Group group;
  group.ranks = ranks;
  group.per_node = std::clamp<std::int64_t>(nodes.devices_per_node / stride, 1, ranks);
  group.nodes = (ranks + group.per_node - 1) / group.per_node;
  return group;
}

class Links {
 public:
  Links(const DeviceSpec& device, const Calibration& calibration, const NodeOptions& nodes)
      : device_(device),
        calibration_(calibration),
        nodes_(nodes),
        nvlink_(device.nvlink_bytes_per_s.has_value()) {
    if (nvlink_) {
      bandwidth_ = *device.nvlink_bytes_per_s * calibration.nvlink_bandwidth_share;
    } else {
      bandwidth_ = calibration.pcie_bytes_per_s;
      if (bandwidth_ == 0) bandwidth_ = device.pcie_bytes_per_s.value_or(0);
    }
    if (bandwidth_ == 0) {
      throw ConfigError(fmt::format(
          "several ranks need a link, but device {} has none in the catalog", device.id));
    }
  }

  [[nodiscard]] double latency_ns(const Group& group) const {
    double ns = calibration_.pcie_latency_ns;
    if (nvlink_) {
      ns = calibration_.nvlink_latency_ns +
           calibration_.nvlink_latency_log2_ns * log2_of(group.per_node);
    }
    if (group.nodes > 1) ns += nodes_.nic_latency_ns * log2_of(group.nodes);
    return ns;
  }

  // Seconds per byte of what is reduced over all ranks, or of what all ranks gather and reduce.
  [[nodiscard]] double reduced_byte_s(const Group& group) const {
    const double inside = real(group.per_node);
    const double nodes = real(group.nodes);
    double seconds = 2.0 * (inside - 1) / inside / bytes_per_s(inside);
    if (group.nodes > 1) seconds += 2.0 * (nodes - 1) / nodes / inside / nodes_.nic_bytes_per_s;
    return seconds;
  }

  // The time of a byte that each rank sends to another rank of the group, all equally likely.
  [[nodiscard]] double sent_byte_s(const Group& group) const {
    const double others = real(group.ranks - 1);
    const double inside = real(group.per_node - 1) / others / bytes_per_s(real(group.per_node));
    return std::max(inside, (1 - real(group.per_node - 1) / others) / nodes_.nic_bytes_per_s);
  }

  [[nodiscard]] double message_byte_s(bool between_nodes) const {
    return 1.0 / (between_nodes ? nodes_.nic_bytes_per_s : bytes_per_s(2));
  }

 private:
  // Of one device in a group of `devices` of a node.
  [[nodiscard]] double bytes_per_s(double devices) const {
    return nvlink_ ? bandwidth_ * share_of_links(devices, device_.link_peers) : bandwidth_;
  }

  const DeviceSpec& device_;
  const Calibration& calibration_;
  NodeOptions nodes_;
  bool nvlink_;
  double bandwidth_ = 0;
};

// Bytes that one rank sends of one token of its batch: a copy to each other rank that one of the
// token's experts is on, and as many back.
double routed_bytes(const ModelSpec& model, const Sharding& sharding) {
  const std::int64_t ranks = sharding.tensor * sharding.data;
  double missed = 1;  // of the chance that a rank has none of the token's experts
  for (std::int64_t k = 0; k < experts_of(model)->top_k; ++k) missed *= 1 - 1 / real(ranks);
  const double others = real(ranks - 1) * (1 - missed);
  const double there = main_dtype(model) == Dtype::fp8 ? 1 : 2;
  // Tensor ranks hold the same tokens and share them out.
  return others * real(model.hidden) * (there + 2) / real(sharding.tensor);
}

}  // namespace

CommunicationTicks communication_ticks(const ModelSpec& model, const DeviceSpec& device,
                                       const Calibration& calibration,
                                       const ParallelOptions& parallel) {
  const Sharding& s = parallel.sharding;
  if (s.tensor * s.data == 1) return {};
  const Links links(device, calibration, parallel.nodes);
  const double state = real(model.hidden) * 2.0;
  double latency_ns = 0;
  double token_s = 0;
  double all_token_s = 0;
  if (s.tensor > 1) {
    const Group group = group_of(s.tensor, 1, parallel.nodes);
    const double reduces = 2.0 * real(model.layers());
    latency_ns += reduces * links.latency_ns(group);
    token_s += reduces * state * links.reduced_byte_s(group);
  }
  if (s.data > 1) {
    const double layers = real(layers_with_experts(model));
    if (parallel.all2all == All2All::deepep) {
      const Group group = group_of(s.tensor * s.data, 1, parallel.nodes);
      latency_ns += layers * 2 * links.latency_ns(group);
      token_s += layers * routed_bytes(model, s) * links.sent_byte_s(group);
    } else {
      const Group group = group_of(s.data, s.tensor * s.pipeline, parallel.nodes);
      latency_ns += layers * 2 * links.latency_ns(group);
      all_token_s = layers * state * links.reduced_byte_s(group);
    }
  }
  return {ticks_from_ns(latency_ns), ticks_from_seconds(token_s), ticks_from_seconds(all_token_s)};
}

CommunicationTicks hand_over_ticks(const ModelSpec& model, const DeviceSpec& device,
                                   const Calibration& calibration,
                                   const ParallelOptions& parallel) {
  const Sharding& s = parallel.sharding;
  if (s.pipeline == 1) return {};
  const Links links(device, calibration, parallel.nodes);
  const double bytes = 2.0 * real(model.hidden) * 2.0 / real(s.tensor);
  double latency_ns = 0;
  double token_s = 0;
  for (std::int64_t stage = 1; stage < s.pipeline; ++stage) {
    const std::int64_t per_node = parallel.nodes.devices_per_node;
    const bool between = (stage - 1) * s.tensor / per_node != stage * s.tensor / per_node;
    latency_ns += links.latency_ns({2, between ? 1 : 2, between ? 2 : 1});
    token_s += bytes * links.message_byte_s(between);
  }
  return {.step = ticks_from_ns(latency_ns), .token = ticks_from_seconds(token_s)};
}

}  // namespace headroom
