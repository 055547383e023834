// The device, how many of it, and what the environment takes of them.

#include <fmt/format.h>

#include <algorithm>

#include "hardware/device_names.hpp"
#include "hardware/environment.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/resolve/resolver.hpp"

namespace headroom {

// What the host holds takes nothing of a device that has memory of its own.
void Resolver::check_host_figures() const {
  if (r_.device.memory_model == MemoryModel::unified) return;
  const Environment& env = r_.environment;
  const auto refuse_given = [&](std::string_view name, std::string_view only_with) {
    const std::string pointer = fmt::format("/environment/{}", name);
    if (!r_.scenario.is_given(pointer)) return;
    r_.scenario.refuse_unused(
        pointer, fmt::format(": {} has its own memory, of which the host uses nothing{}",
                             r_.device.id, only_with));
  };
  constexpr std::string_view kInstead =
      "; device.memory_used_gib is what other processes hold on the device";
  for (const std::string_view name :
       {"system_gib", "processes_gib", "page_cache_gib", "checkpoint_cache_share", "free_metric"}) {
    refuse_given(name, kInstead);
  }
  if (env.memory_limit_bytes) return;
  if (!env.shm_size_bytes)
    refuse_given("tmpfs_gib", "; only with shm_size_gib or memory_limit_gib");
  refuse_given("engine_host_gib", "; only with memory_limit_gib");
}

// "2x4090": a replica of two, as the engine spreads it unless it is told how.
void Resolver::spread_over_counted() {
  std::string& device = r_.scenario.device.name;
  const std::optional<CountedDevice> counted = counted_device(device);
  if (!counted) return;
  EngineSection& e = r_.scenario.engine;
  const bool by_layers = r_.engine->traits.devices_share_layers;
  const auto refuse = [&](ErrorKind kind, std::string problem) {
    engine_.lookup("/device/name", [&] {
      throw ConfigError(Complaint{.kind = kind, .value = device, .problem = std::move(problem)});
      return 0;
    });
  };
  if (counted->count == 0) {
    refuse(ErrorKind::value, "asks for no device: expected a count from 1 on, as in 2xrtx4090");
  }
  const bool stated = r_.scenario.is_given("/engine/tensor_parallel_size") ||
                      r_.scenario.is_given("/engine/pipeline_parallel_size");
  const std::int64_t now = e.tensor_parallel_size * e.pipeline_parallel_size;
  if (stated && now != counted->count) {
    refuse(ErrorKind::conflict,
           fmt::format("the engine is asked to spread a replica over {} (engine."
                       "tensor_parallel_size x pipeline_parallel_size): leave the number out "
                       "here, or change it there",
                       now));
  }
  if (!stated) (by_layers ? e.pipeline_parallel_size : e.tensor_parallel_size) = counted->count;
  device = counted->name;
}

void Resolver::find_machine() {
  DeviceSection& d = r_.scenario.device;
  r_.device = engine_.lookup("/device/name", [&] { return catalog_.device(d.name); });
  if (d.name != r_.device.id) {
    const std::vector<std::string> others = catalog_.devices_also_called(d.name);
    r_.warnings.push_back(
        fmt::format("device {} is read as {}{}{}", d.name, r_.device.id,
                    others.empty() ? "" : "; also called so: ", comma_list(others)));
    d.name = r_.device.id;
  }
  if (d.memory_used_gib && r_.device.memory_model == MemoryModel::unified) {
    r_.scenario.refuse_unused("/device/memory_used_gib",
                              ": its memory is the host's; use environment.processes_gib");
  }
  if (d.memory_total_gib) r_.device.memory_reported_bytes = bytes_from_gib(*d.memory_total_gib);
  const EnvironmentSection& e = r_.scenario.environment;
  r_.first_start = e.first_start;
  Environment& env = r_.environment;
  env = engine_.lookup("/environment/name", [&] { return catalog_.environment(e.name); });
  const auto replace = [](const std::optional<double>& gib, ByteCount& bytes) {
    if (gib) bytes = bytes_from_gib(*gib);
  };
  // A system's own memory was measured on large machines. On a small one it is less: 1.6 of 7.43
  // GiB on a Jetson Orin Nano (measured/startups).
  constexpr ByteCount kSystemParts = 5;
  if (r_.device.memory_model == MemoryModel::unified) {
    env.system_bytes = std::min(env.system_bytes, r_.device.memory_reported_bytes / kSystemParts);
  }
  replace(e.system_gib, env.system_bytes);
  replace(e.processes_gib, env.processes_bytes);
  replace(e.tmpfs_gib, env.tmpfs_bytes);
  replace(e.page_cache_gib, env.page_cache_bytes);
  replace(e.engine_host_gib, env.engine_host_bytes);
  if (e.shm_size_gib) env.shm_size_bytes = bytes_from_gib(*e.shm_size_gib);
  if (e.memory_limit_gib) env.memory_limit_bytes = bytes_from_gib(*e.memory_limit_gib);
  if (e.checkpoint_cache_share) env.checkpoint_cache_share = *e.checkpoint_cache_share;
  const bool shared = r_.device.memory_model == MemoryModel::unified;
  check_host_figures();
  if (e.host_growth_mib_per_hour > 0 && !shared && !env.memory_limit_bytes) {
    r_.scenario.refuse_unused("/environment/host_growth_mib_per_hour",
                              ": the size of the host's memory is unknown; set the container's "
                              "limit (environment.memory_limit_gib)");
  }
  note_measured_containers(e.name);
  if (r_.scenario.is_given("/environment/reboot_s") && !shared) {
    r_.scenario.refuse_unused("/environment/reboot_s",
                              ": only device allocations in shared memory can stop a machine");
  }
}

// The rules say that a container changes nothing. Of some models containers were measured, and did.
void Resolver::note_measured_containers(const std::string& environment) {
  const bool counted = r_.device.memory_model == MemoryModel::unified &&
                       r_.device.vendor == "nvidia" && r_.environment.container;
  if (!counted || r_.environment.steady_overhead) return;
  for (const std::string& id : catalog_.environment_ids()) {
    const Environment& other = catalog_.environment(id);
    const bool of_model = !other.measured_model.empty() && other.measured_model == r_.model.hf_repo;
    if (!other.steady_overhead || !of_model) continue;
    r_.warnings.push_back(fmt::format(
        "environment {}: containers measured with this model held {:.1f} GiB more than native "
        "starts: compare with environment {}",
        environment, gib_from_bytes(other.steady_overhead->typical), id));
  }
}

}  // namespace headroom
