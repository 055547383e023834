#pragma once
// From the settings of a command to a scenario.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/engines/launch.hpp"
#include "sim/engines/launch_draft.hpp"
#include "sim/intake/from.hpp"

namespace headroom {

using Draft = LaunchDraft;

// Engines whose commands are read.
[[nodiscard]] std::span<const Engine* const> launched_engines();

// Devices of CUDA_VISIBLE_DEVICES ("0,1", "GPU-..."), of docker --gpus ("2", "device=0,1"), and the
// like; nothing for "all".
[[nodiscard]] std::optional<std::int64_t> device_count(std::string_view text);

// "v0.19.0-x86", "0.5.4", "1.2.0rc4" -> "0.19.0", "0.5.4", "1.2.0"; empty for latest, b4719 ...
[[nodiscard]] std::string version_of_tag(std::string_view tag);

// Rules that need all flags, then the result with its keys in the order of a scenario file.
// `release`: the user's, instead of what an image says; empty: none.
[[nodiscard]] FromResult finished(Draft draft, std::string_view release = {});

}  // namespace headroom
