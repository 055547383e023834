#include "sim/resolve/kv_tier.hpp"

#include <fmt/format.h>

#include <optional>

#include "hardware/budget/budget.hpp"
#include "scheduler/batching/policies.hpp"
#include "sim/resolve/lora.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

// Of one batch of copies: a launch and its synchronisation. Estimates.
constexpr TimeNs kCopyLatencyNs = 10'000;
constexpr TimeNs kDiskLatencyNs = 100'000;
// NVLink-C2C between a Grace CPU and its GPUs, per direction (900 GB/s in both: NVIDIA's Grace
// Hopper data sheet). A GB200's two devices share it, which is left out.
constexpr double kC2cBytesPerS = 450e9;

bool is_unified(const Resolved& r) { return r.device.memory_model == MemoryModel::unified; }

std::unique_ptr<Link> serial_link(double bytes_per_s, TimeNs latency_ns) {
  return std::make_unique<SerialLink>(static_cast<std::int64_t>(bytes_per_s), latency_ns);
}

constexpr std::string_view kOffloading = "kv_offloading_size_gib";

std::int64_t ranks(const Resolved& r) { return r.scenario.engine.tensor_parallel_size; }

ByteCount disk_tier_bytes(const Resolved& r) {
  return bytes_from_gib(r.scenario.engine.kv_offloading_disk_gib);
}

}  // namespace

// On unified memory of a copy that reads and writes the same memory.
std::optional<double> host_copy_bytes_per_s(const Resolved& r) {
  if (const auto& given = r.scenario.engine.kv_offloading_gb_per_s) return *given * 1e9;
  switch (r.device.memory_model) {
    case MemoryModel::unified: return r.device.bandwidth_bytes_per_s / 2;
    case MemoryModel::coherent_discrete: return kC2cBytesPerS;
    case MemoryModel::discrete: break;
  }
  return r.device.pcie_bytes_per_s;
}

namespace {

std::optional<ByteCount> swap_space(const Resolved& resolved) {
  const auto of_policy = resolved.scheduler->swap_space_gib;
  if (of_policy == nullptr) return std::nullopt;
  const std::optional<double> gib = of_policy(resolved.scenario.engine.own);
  if (!gib) return std::nullopt;
  return bytes_from_gib(*gib);
}

// The option that says how large the tier is.
std::string_view size_option(const Resolved& resolved) {
  if (swaps(resolved)) return "/engine/swap_space_gib";
  if (reads_option(*resolved.scheduler, kOffloading)) return "/engine/kv_offloading_size_gib";
  const Engine& engine = *resolved.engine;
  return engine.host_tier != nullptr ? engine.host_tier_option : "/engine/host_cache_size";
}

ByteCount own_tier_bytes(const Resolved& resolved) {
  const Engine& engine = *resolved.engine;
  return engine.host_tier == nullptr ? 0 : engine.host_tier(resolved.scenario.engine);
}

}  // namespace

bool swaps(const Resolved& resolved) { return swap_space(resolved).has_value(); }

ByteCount host_tier_bytes(const Resolved& resolved) {
  if (const std::optional<ByteCount> space = swap_space(resolved)) return *space * ranks(resolved);
  if (reads_option(*resolved.scheduler, kOffloading)) {
    return bytes_from_gib(resolved.scenario.engine.kv_offloading_size_gib);
  }
  return finds_prefixes(resolved) ? own_tier_bytes(resolved) * ranks(resolved) : 0;
}

void check_kv_tier(const Resolved& resolved) {
  const Scenario& s = resolved.scenario;
  if (swaps(resolved) && finds_prefixes(resolved)) {
    s.refuse("/engine/preemption_mode",
             "a swapped request takes its blocks with it, so they cannot be shared: set "
             "enable_prefix_caching to false");
  }
  const std::string size(size_option(resolved));
  const std::string own_size(resolved.engine->host_tier_option);
  if (own_tier_bytes(resolved) > 0 && size == own_size && !finds_prefixes(resolved)) {
    s.refuse(size, "it stores what a prefix cache overwrites, but there is no prefix cache");
  }
  if (own_tier_bytes(resolved) > 0 && size != own_size) {
    s.refuse(own_size, fmt::format("for this scheduler use {} instead", size));
  }
  if (host_tier_bytes(resolved) == 0) {
    if (disk_tier_bytes(resolved) == 0) return;
    s.refuse("/engine/kv_offloading_disk_gib",
             fmt::format("the disk stores what host memory overwrites: set {} too", size),
             ErrorKind::missing);
  }
  if (!swaps(resolved) && !finds_prefixes(resolved)) {
    s.refuse(size, "without prefix caching the engine never looks up offloaded blocks");
  }
  if (sets_aside(resolved)) {
    s.refuse(size, fmt::format("scheduler {} reserves KV for whole requests and has no second "
                               "tier: remove this option, or choose a scheduler that has one",
                               resolved.scheduler->name));
  }
  if (!host_copy_bytes_per_s(resolved)) {
    s.refuse(size,
             fmt::format("the catalog has no PCIe rate for {}: set kv_offloading_gb_per_s",
                         resolved.device.id),
             ErrorKind::missing);
  }
}

Environment environment_with_tier(const Resolved& resolved) {
  Environment environment = resolved.environment;
  if (is_unified(resolved)) {
    environment.engine_host_bytes += host_tier_bytes(resolved) + lora_host_bytes(resolved);
  }
  return environment;
}

ByteCount run_block_bytes(const KvLayout& layout) {
  // Every group of layers has a block of its own for the same tokens.
  std::int64_t growing = 0;
  for (const KvGroup& group : layout.groups) {
    growing += group.kind == KvGroupKind::recurrent ? 0 : 1;
  }
  return layout.block_bytes * std::max<std::int64_t>(1, growing);
}

OffloadTierOptions tier_options(const Resolved& resolved, const KvLayout& layout) {
  const ByteCount block = run_block_bytes(layout) * ranks(resolved);
  OffloadTierOptions options;
  if (block == 0) return options;
  options.host_blocks = host_tier_bytes(resolved) / block;
  if (options.host_blocks > 0) options.disk_blocks = disk_tier_bytes(resolved) / block;
  options.write_through = resolved.scheduler->traits.writes_tier_through;
  return options;
}

TierLinks tier_links(const Resolved& resolved, const KvLayout& layout) {
  TierLinks links;
  const OffloadTierOptions options = tier_options(resolved, layout);
  if (options.host_blocks == 0) return links;
  const double rate = *host_copy_bytes_per_s(resolved);
  links.block_bytes = run_block_bytes(layout);
  links.to_device = serial_link(rate, kCopyLatencyNs);
  // A bus has two directions; copies within one memory share its bandwidth, and V0 swaps in and out
  // on one stream.
  if (!is_unified(resolved) && !swaps(resolved)) links.to_host = serial_link(rate, kCopyLatencyNs);
  if (options.disk_blocks > 0) {
    // One store for the ranks of a host.
    const double disk = resolved.scenario.environment.storage_gb_per_s * 1e9;
    links.from_disk = serial_link(disk / static_cast<double>(ranks(resolved)), kDiskLatencyNs);
  }
  return links;
}

}  // namespace headroom
