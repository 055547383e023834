#pragma once
// The sections of a workload as the options of its generators.

#include <string>

#include "sim/scenario/scenario.hpp"
#include "workloads/trace_transform.hpp"
#include "workloads/traffic_options.hpp"

namespace headroom {

// A part of a scenario, to find the files it names: those of a scenario (or of a study's values)
// are relative to the scenario's file, those of a flag to the current directory.
struct SectionPlace {
  const Scenario& scenario;
  std::string pointer;  // "/workload/classes/1"

  [[nodiscard]] SectionPlace below(const std::string& name) const {
    return {scenario, pointer + "/" + name};
  }
  // The path of `file`, an option at `pointer`.
  [[nodiscard]] std::string path_of(const std::string& file) const;
};

// Whether the user gave any option of the section at `pointer`.

[[nodiscard]] ArrivalOptions arrival_options(const ArrivalsSection& section);
[[nodiscard]] DurationOptions duration_options(const DurationSection& section);
[[nodiscard]] MaxTokensOptions max_tokens_options(const MaxTokensSection& section);
// `second_column`: the outputs of a file with two columns.
[[nodiscard]] LengthOptions length_options(const SectionPlace& place, const LengthSection& section,
                                           bool second_column = false);
// Everything of a class but its id and share.
[[nodiscard]] TrafficClass traffic_class(const SectionPlace& place, const WorkloadSection& section);
[[nodiscard]] TraceOptions trace_reading(const TraceSection& section);
[[nodiscard]] TransformOptions transform_options(const SectionPlace& place,
                                                 const WorkloadSection& section);

}  // namespace headroom
