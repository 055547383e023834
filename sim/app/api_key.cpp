#include "sim/app/api_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {

std::string api_key_from(const std::string& variable) {
  if (variable.empty()) return {};
  const auto refuse = [](ErrorKind kind, std::string problem) {
    throw ConfigError(
        Complaint{.kind = kind, .origin = "--api-key-env", .problem = std::move(problem)});
  };
  const char* key = std::getenv(variable.c_str());
  if (key == nullptr || *key == '\0') {
    refuse(ErrorKind::missing,
           fmt::format("no variable {} in the environment, or an empty one", variable));
  }
  std::string text = key;
  if (std::ranges::any_of(text, [](char c) { return c < ' ' || c > '~'; })) {
    refuse(ErrorKind::value, fmt::format("{} holds characters that no key has", variable));
  }
  return text;
}

}  // namespace headroom
