#pragma once
// A scenario that is being put together from a command, and what is known of where it runs.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/setup/from/flag_table.hpp"
#include "sim/setup/from/from.hpp"
#include "sim/setup/from/shell_words.hpp"

namespace headroom {

struct Draft {
  explicit Draft(std::string name) : shown_as(std::move(name)) {}

  std::string shown_as;
  const EngineFlags* engine = nullptr;
  FromResult result;
  Variables variables;                      // environment of the engine's process
  std::optional<std::int64_t> devices;      // that the process may use
  std::string devices_by;                   // who says so
  std::set<std::string> refused;            // options whose value is not modelled
  std::optional<std::string> kv_connector;  // attached to vLLM; empty: under a name not read

  void set(std::string_view pointer, Json value);
  void unset(std::string_view pointer);
  [[nodiscard]] const Json* find(std::string_view pointer) const;
  // Each text once, in order.
  void note(std::string text);
  void unknown(std::string flag);
  void ignored(std::string flag);
};

// Devices of CUDA_VISIBLE_DEVICES ("0,1", "GPU-..."), of docker --gpus ("2", "device=0,1"), and the
// like; nothing for "all".
[[nodiscard]] std::optional<std::int64_t> device_count(std::string_view text);

// "v0.19.0-x86", "0.5.4", "1.2.0rc4" -> "0.19.0", "0.5.4", "1.2.0"; empty for latest, b4719 ...
[[nodiscard]] std::string version_of_tag(std::string_view tag);

// Rules that need all flags, then the result with its keys in the order of a scenario file.
// `release`: the user's, instead of what an image says; empty: none.
[[nodiscard]] FromResult finished(Draft draft, std::string_view release = {});

}  // namespace headroom
