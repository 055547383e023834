#include "hardware/calibration_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

using C = Calibration;

constexpr double kUs = 1e3;
constexpr double kMs = 1e6;
constexpr double kGb = 1e9;
constexpr double kShare = 1e-9;  // an efficiency is above 0
constexpr double kMost = 1e12;

// key, member, unit, legal range, range of a fit, spread; whether a file may leave it out
constexpr std::array kFields{
    CalibrationField{"weight_bandwidth_share", &C::weight_bandwidth_share, 1, kShare, 1, .4, 1, .1},
    CalibrationField{"compute_share", &C::compute_share, 1, kShare, 1, .2, 1, .15},
    CalibrationField{"kv_bandwidth_share", &C::kv_bandwidth_share, 1, kShare, 1, .3, 1, .15},
    CalibrationField{"prefill_compute_share", &C::prefill_compute_share, 1, kShare, 1, .1, 1, .15},
    CalibrationField{"mixed_decode_factor", &C::mixed_decode_factor, 1, 1e-3, kMost, .5, 4, .7},
    CalibrationField{"expert_compute_share", &C::expert_compute_share, 1, kShare, 1, .1, 1, .2,
                     true},
    CalibrationField{"expert_reach", &C::expert_reach, 1, kShare, 1, .1, 1, .2, true},
    CalibrationField{"expert_layer_us", &C::expert_layer_ns, kUs, 0, kMost, 0, 200, 15, true},
    CalibrationField{"vector_tokens", &C::vector_tokens, 1, 0, 1024, 0, 16, 4, true},
    CalibrationField{"vector_compute_share", &C::vector_compute_share, 1, 0, 1, .05, 1, .2, true},
    CalibrationField{"tile_tokens", &C::tile_tokens, 1, 0, 1024, 0, 128, 32, true},
    CalibrationField{"tile_extra_tokens", &C::tile_extra_tokens, 1, 0, 4096, 0, 128, 32, true},
    CalibrationField{"expert_tile_tokens", &C::expert_tile_tokens, 1, 0, 1024, 0, 256, 32, true},
    CalibrationField{"experts_apart_tokens", &C::experts_apart_tokens, 1, 0, 1024, 0, 64, 8, true},
    CalibrationField{"layer_us", &C::layer_ns, kUs, 0, kMost, 0, 60, 6},
    CalibrationField{"attention_floor_us", &C::attention_floor_ns, kUs, 0, kMost, 0, 40, 4},
    CalibrationField{"attention_row_us", &C::attention_row_ns, kUs, 0, kMost, 0, 4, .15},
    CalibrationField{"step_us", &C::step_ns, kUs, 0, kMost, 0, 20'000, 800},
    CalibrationField{"host_step_us", &C::host_step_ns, kUs, 0, kMost, 0, 50'000, 1'500},
    CalibrationField{"host_row_us", &C::host_row_ns, kUs, 0, kMost, 0, 500, 20},
    CalibrationField{"sampler_us", &C::sampler_ns, kUs, 0, kMost, 0, 500, 20},
    CalibrationField{"sampler_passes", &C::sampler_passes, 1, 0, kMost, 0, 20, 2},
    CalibrationField{"elementwise_bandwidth_factor", &C::elementwise_bandwidth_factor, 1, kShare,
                     10, .5, 4, .4},
    CalibrationField{"nvlink_latency_us", &C::nvlink_latency_ns, kUs, 0, kMost, 0, 60, 4},
    CalibrationField{"nvlink_latency_log2_us", &C::nvlink_latency_log2_ns, kUs, 0, kMost, 0, 40, 4},
    CalibrationField{"nvlink_bandwidth_share", &C::nvlink_bandwidth_share, 1, kShare, 1, .1, 1, .2},
    CalibrationField{"pcie_latency_us", &C::pcie_latency_ns, kUs, 0, kMost, 0, 100, 10},
    CalibrationField{"pcie_gb_per_s", &C::pcie_bytes_per_s, kGb, 0, kMost, 1, 64, 8},
    CalibrationField{"client_latency_ms", &C::client_latency_ns, kMs, 0, kMost, 0, 60, 5}};

}  // namespace

std::span<const CalibrationField> calibration_fields() { return kFields; }

const CalibrationField& calibration_field(std::string_view key) {
  const auto* found = std::ranges::find(kFields, key, &CalibrationField::key);
  if (found != kFields.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kFields.size());
  for (const CalibrationField& field : kFields) names.emplace_back(field.key);
  throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                              .problem = fmt::format("a calibration has no constant \"{}\"", key),
                              .nearest = nearest_name(key, names)});
}

}  // namespace headroom
