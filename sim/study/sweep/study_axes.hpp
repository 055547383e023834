#pragma once
// The parts of a study file: axes and conditions.

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/options.hpp"
#include "sim/study/sweep/study_file.hpp"

namespace headroom {

// `value` must be an object with no other keys than these; ConfigError with the nearest one.
void expect_keys(const JsonDocument& document, const std::string& pointer, const Json& value,
                 const std::vector<std::string>& known);
[[nodiscard]] ConfigError missing_key(const JsonDocument& document, const std::string& pointer,
                                      std::string_view key, std::string_view what);

// The list at /vary. Every path must be an option or a section of a scenario, be varied once, and
// have values that all differ.
[[nodiscard]] std::vector<AxisGroup> read_axes(const JsonDocument& document);
// The keys of a path of a scenario that `value` names.
[[nodiscard]] std::vector<std::string> read_path(const JsonDocument& document,
                                                 const std::string& pointer, const Json& value);
// The option there; null for a section.
[[nodiscard]] const OptionRow* option_at(const std::vector<std::string>& keys);
// The dotted spelling of a path.
[[nodiscard]] std::string dotted_path(const std::vector<std::string>& keys);

// The list at `pointer` (/skip_if or /only_if). It may contain only varied paths, and only values
// comparable with those of the axis.
[[nodiscard]] std::vector<StudyCondition> read_conditions(const JsonDocument& document,
                                                          const std::string& pointer,
                                                          const std::vector<AxisGroup>& groups);
// `choice`: the number of the value of each group.
[[nodiscard]] bool holds(const StudyCondition& condition, const std::vector<AxisGroup>& groups,
                         const std::vector<std::size_t>& choice);

// Every path of a scenario's options, dotted.
[[nodiscard]] std::vector<std::string> option_paths();

}  // namespace headroom
