#include "sim/resolve/platform.hpp"

#include <fmt/format.h>

#include "sim/engines/back_ends.hpp"

namespace headroom {

std::optional<PlatformGap> platform_gap(const Resolved& resolved) {
  const std::string& vendor = resolved.device.vendor;
  if (resolved.environment.container && vendor == "apple") {
    return PlatformGap{
        "containers on macOS see no GPU: the engine would use the CPU, which is not modelled"};
  }
  const MissingBackEnd* missing = missing_back_end(*resolved.engine, vendor);
  if (missing == nullptr) return std::nullopt;
  return PlatformGap{fmt::format("{} {}", resolved.engine->name, missing->text),
                     missing->has_plug_in};
}

}  // namespace headroom
