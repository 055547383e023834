#include "sim/resolve/energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace headroom {
namespace {

enum class Bound : std::uint8_t { idle, memory, compute };

// By CostTerm.
constexpr std::array<Bound, kCostTermCount> kBoundOf{Bound::memory,   // linear_memory
                                                     Bound::compute,  // linear_compute
                                                     Bound::memory,   // elementwise
                                                     Bound::compute,  // attention_prefill
                                                     Bound::memory,   // attention_decode
                                                     Bound::memory,   // head
                                                     Bound::memory,   // communication
                                                     Bound::memory,   // step_overhead
                                                     Bound::idle,     // host
                                                     Bound::memory,   // transfer
                                                     Bound::idle};    // pipeline

struct Figure {
  double watts = 0;
  std::string source;
  bool assumed = false;
};

std::optional<Figure> figure(const DevicePower& power, const std::optional<double>& given,
                             const std::optional<double>& known, double share) {
  if (given) return Figure{*given, "scenario"};
  if (known) return Figure{*known, power.source};
  if (!power.tdp_w) return std::nullopt;
  return Figure{*power.tdp_w * share, fmt::format("assumed: {} of TDP", share), true};
}

}  // namespace

std::optional<PowerDraw> power_draw(const DeviceSpec& device, const PowerSection& given) {
  const DevicePower& power = device.power;
  const auto idle = figure(power, given.idle_w, power.idle_w, kIdleShareOfTdp);
  const auto memory = figure(power, given.memory_bound_w, power.memory_bound_w, kMemoryShareOfTdp);
  const auto compute =
      figure(power, given.compute_bound_w, power.compute_bound_w, kComputeShareOfTdp);
  if (!idle || !memory || !compute) return std::nullopt;
  PowerDraw draw{idle->watts, memory->watts, compute->watts, "", false};
  draw.source = fmt::format("idle {}; memory-bound {}; compute-bound {}", idle->source,
                            memory->source, compute->source);
  draw.assumed = idle->assumed || memory->assumed || compute->assumed;
  return draw;
}

PowerTime& PowerTime::operator+=(const PowerTime& other) {
  idle_s += other.idle_s;
  memory_s += other.memory_s;
  compute_s += other.compute_s;
  return *this;
}

PowerTime power_time(const CostMeter& cost, double span_s) {
  constexpr double kSecondsPerTick = 1e-9 / static_cast<double>(kTicksPerNs);
  std::array<TickSum, 3> ticks{};
  for (std::size_t t = 0; t < kCostTermCount; ++t) {
    ticks[static_cast<std::size_t>(kBoundOf[t])] += cost.term(static_cast<CostTerm>(t));
  }
  const double busy_s = static_cast<double>(cost.busy_ticks()) * kSecondsPerTick;
  return {std::max(0.0, span_s - busy_s) + static_cast<double>(ticks[0]) * kSecondsPerTick,
          static_cast<double>(ticks[1]) * kSecondsPerTick,
          static_cast<double>(ticks[2]) * kSecondsPerTick};
}

double joules(const PowerDraw& draw, const PowerTime& time, std::int64_t devices) {
  return static_cast<double>(devices) *
         (draw.idle_w * time.idle_s + draw.memory_bound_w * time.memory_s +
          draw.compute_bound_w * time.compute_s);
}

namespace {

// Stages that work in turn: while one of them does, the others wait.
PowerTime of_one_stage(const PowerTime& all, std::int64_t stages) {
  const auto n = static_cast<double>(stages);
  const double active_s = all.memory_s + all.compute_s;
  return {all.idle_s + active_s * (1 - 1 / n), all.memory_s / n, all.compute_s / n};
}

}  // namespace

std::optional<EnergyUse> energy_of(const RunResult& result, const Resolved& resolved,
                                   std::size_t first, std::int64_t places) {
  if (!result.started) return std::nullopt;
  const auto draw = power_draw(resolved.device, resolved.scenario.device.power);
  if (!draw) return std::nullopt;
  EnergyUse use;
  use.seconds = static_cast<double>(result.totals.end_ns) / 1e9;
  use.assumed = draw->assumed;
  PowerTime time;
  for (std::size_t i = first; i < first + static_cast<std::size_t>(places); ++i) {
    const TimeNs span_ns = exists_ns(result, i);
    if (result.totals.lifecycle && span_ns == 0) continue;
    use.devices += resolved.sharding.devices();
    const bool ran = i < result.recorder->replicas();
    time +=
        power_time(ran ? result.recorder->replica(static_cast<std::uint16_t>(i)).cost : CostMeter{},
                   static_cast<double>(span_ns) / 1e9);
  }
  if (resolved.scheduler->traits.stages_in_turn) {
    time = of_one_stage(time, resolved.sharding.pipeline);
  }
  use.joules = joules(*draw, time, resolved.sharding.devices());
  return use;
}

std::optional<EnergyUse> energy_of(const RunResult& result) {
  EnergyUse all;
  std::size_t first = 0;
  for (const FleetGroup& group : result.groups) {
    const auto use = energy_of(result, group.resolved, first, group.places);
    if (!use) return std::nullopt;
    all.joules += use->joules;
    all.seconds = use->seconds;
    all.devices += use->devices;
    all.assumed = all.assumed || use->assumed;
    first += static_cast<std::size_t>(group.places);
  }
  return all;
}

}  // namespace headroom
