#include "sim/kernel/errors.hpp"

#include <array>
#include <utility>

namespace headroom {

std::string_view name_of(ErrorKind kind) {
  constexpr std::array<std::string_view, 7> kNames{
      "value", "missing", "unknown", "no_effect", "conflict", "unsupported", "unreadable"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string sentence(const Complaint& complaint) {
  std::string text;
  for (const std::string* part : {&complaint.origin, &complaint.pointer}) {
    if (!part->empty()) text += *part + ": ";
  }
  if (!complaint.value.empty()) text += "value " + complaint.value + ": ";
  text += complaint.problem;
  if (!complaint.nearest.empty()) text += " (nearest: " + complaint.nearest + ")";
  if (!complaint.context.empty()) text += " (" + complaint.context + ")";
  return text;
}

ConfigError ConfigError::at(std::string origin, std::string pointer) const {
  Complaint placed = complaint_;
  if (has_place()) placed = {.kind = complaint_.kind, .problem = what()};
  placed.origin = std::move(origin);
  placed.pointer = std::move(pointer);
  return ConfigError(std::move(placed));
}

ConfigError ConfigError::with_context(std::string context) const {
  Complaint complaint = complaint_;
  complaint.context = complaint.context.empty() ? std::move(context)
                                                : complaint.context + ") (" + std::move(context);
  return ConfigError(std::move(complaint));
}

}  // namespace headroom
