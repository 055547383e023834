#pragma once
// Versions of engines, compared by release and not by patch.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

struct EngineVersion {
  std::int32_t major = 0;
  std::int32_t minor = 0;
  friend constexpr auto operator<=>(const EngineVersion&, const EngineVersion&) = default;
};

// "0.19", "v0.19.0", "0.10.1.1+cu128"; ConfigError on anything else, and on "0.0.0+local", which
// builds without a tag call themselves.
[[nodiscard]] EngineVersion parse_engine_version(std::string_view text);
[[nodiscard]] std::string to_string(EngineVersion version);
// The third number of a release ("0.5.12.post1": 12), for rules that came with a patch. A candidate
// or development build has the rules of the patch before ("0.20.1rc1.dev16": 0); at a patch of 0
// the branch of the release may be younger than it, so it counts as that release.
[[nodiscard]] std::optional<std::int32_t> patch_of(std::string_view text);

}  // namespace headroom
