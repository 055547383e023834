#include "sim/options/origins.hpp"

#include <fmt/format.h>

namespace headroom {

std::string Origins::given_below(std::string_view pointer) const {
  const std::string inside = fmt::format("{}/", pointer);
  if (std::string exact(pointer); given.contains(exact)) return exact;
  const auto found = given.lower_bound(inside);
  const bool is_below = found != given.end() && found->first.starts_with(inside);
  return is_below ? found->first : std::string();
}

const std::string& Origins::origin(const std::string& pointer) const {
  const auto found = given.find(given_below(pointer));
  return found == given.end() ? file : found->second;
}

void Origins::refuse(const std::string& pointer, std::string_view why, ErrorKind kind) const {
  throw ConfigError(Complaint{
      .kind = kind, .origin = origin(pointer), .pointer = pointer, .problem = std::string(why)});
}

void Origins::refuse_value(const std::string& pointer, std::string value, std::string_view allowed,
                           ErrorKind kind) const {
  throw ConfigError(Complaint{.kind = kind,
                              .origin = origin(pointer),
                              .pointer = pointer,
                              .value = std::move(value),
                              .problem = std::string(allowed)});
}

void Origins::refuse_unused(const std::string& pointer, std::string_view why) const {
  refuse(pointer, fmt::format("has no effect{}", why), ErrorKind::no_effect);
}

void Origins::refuse_missing(const std::string& pointer, std::string_view wanted) const {
  throw ConfigError(Complaint{.kind = ErrorKind::missing,
                              .origin = file,
                              .pointer = pointer,
                              .problem = fmt::format("missing: expected {}", wanted)});
}

}  // namespace headroom
