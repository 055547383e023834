#pragma once
// Autoscaling as KEDA's ScaledObject says it (keda.sh/v1alpha1, spec): a Prometheus trigger over
// what engines publish, and the behaviour of the HorizontalPodAutoscaler that KEDA makes.
// https://keda.sh/docs/latest/reference/scaledobject-spec/

#include <optional>
#include <string>
#include <vector>

#include "sim/engines/engine.hpp"
#include "sim/scenario/fleet_scaling_section.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {

// The spec but for its target. `pods`: a regular expression of the pods' names. Nothing: the engine
// publishes no such metric.
[[nodiscard]] std::optional<Json> scaling_trigger(const Engine& engine,
                                                  const AutoscalingSection& scaling,
                                                  const std::string& pods);

// The inverse: an element of fleet.autoscaling. Nothing, with a note: none of these metrics.
[[nodiscard]] std::optional<Json> read_scaling_trigger(const Engine& engine, const Json& spec,
                                                       std::vector<std::string>& notes);

}  // namespace headroom
