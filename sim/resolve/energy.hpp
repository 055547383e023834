#pragma once
// What the devices of a run draw. Computed from the sums of its cost terms when it is over: nothing
// is added to a step, and no digest depends on it.

#include <cstdint>
#include <optional>
#include <string>

#include "hardware/device.hpp"
#include "sim/metrics/cost_meter.hpp"
#include "sim/resolve/run.hpp"

namespace headroom {

// Shares of the TDP where nothing was measured. Idle: an H200 with a model loaded draws 80 of 700
// W. Memory and arithmetic: the same device 517 and 662 W.
inline constexpr double kIdleShareOfTdp = 0.12;
inline constexpr double kMemoryShareOfTdp = 0.70;
inline constexpr double kComputeShareOfTdp = 0.95;

// Of one device, in W.
struct PowerDraw {
  double idle_w = 0;
  double memory_bound_w = 0;
  double compute_bound_w = 0;
  std::string source;    // of each of the three figures
  bool assumed = false;  // at least one is a share of the TDP
};

// Nothing for a device without a TDP in the catalog, unless the scenario gives all three.
[[nodiscard]] std::optional<PowerDraw> power_draw(const DeviceSpec& device,
                                                  const PowerSection& given);

// Where a device's time goes, in s: `idle` is waiting, for requests, the host or other devices.
struct PowerTime {
  double idle_s = 0;
  double memory_s = 0;
  double compute_s = 0;

  PowerTime& operator+=(const PowerTime& other);
};
// Of one replica that exists for `span_s`. Terms bound by arithmetic (linear_compute,
// attention_prefill) count as compute, those of waiting (host, pipeline) as idle, all others as
// memory; what is not busy is idle, a replica that is down included: its machine stays on.
[[nodiscard]] PowerTime power_time(const CostMeter& cost, double span_s);
[[nodiscard]] double joules(const PowerDraw& draw, const PowerTime& time, std::int64_t devices);

struct EnergyUse {
  double joules = 0;
  double seconds = 0;        // of the run
  std::int64_t devices = 0;  // of all replicas that there ever were
  bool assumed = false;

  [[nodiscard]] double mean_w() const { return seconds > 0 ? joules / seconds : 0; }
};

// Of replicas first .. first + places - 1 of a finished run, all of the group `resolved`, each for
// as long as it exists.
[[nodiscard]] std::optional<EnergyUse> energy_of(const RunResult& result, const Resolved& resolved,
                                                 std::size_t first, std::int64_t places);
// Of the whole run; nothing when a device's power is not known, or nothing ran.
[[nodiscard]] std::optional<EnergyUse> energy_of(const RunResult& result);

}  // namespace headroom
