#include "sim/engines/said_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hardware/device_names.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {

SaidEngine said_engine(std::string_view text, std::string_view flag) {
  const std::size_t at = std::min(text.find('@'), text.size());
  const std::string_view said = text.substr(0, at);
  const std::string plain = plain_letters(said);
  std::vector<std::string> known;
  for (const Engine* engine : engines()) {
    const bool titled = engine->launch != nullptr && plain_letters(engine->launch->title) == plain;
    if (titled || plain_letters(engine->name) == plain) {
      if (at + 1 == text.size()) {
        throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                    .origin = std::string(flag),
                                    .value = std::string(text),
                                    .problem = "expected a release behind the @"});
      }
      return {.name = std::string(engine->name),
              .version = std::string(at < text.size() ? text.substr(at + 1) : "")};
    }
    known.emplace_back(engine->name);
  }
  throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                              .origin = std::string(flag),
                              .value = std::string(said),
                              .problem = fmt::format("expected one of {}", comma_list(known)),
                              .nearest = nearest_name(said, known)});
}

}  // namespace headroom
