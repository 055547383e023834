#pragma once
// Which engines run on which vendor's devices.

#include <string_view>

namespace headroom {

struct Engine;

// What an engine lacks on devices of a vendor ("nvidia", "amd", "apple").
struct MissingBackEnd {
  const Engine* engine;
  std::string_view vendor;
  std::string_view text;  // the rest of a sentence that begins with the engine's name
  bool has_plug_in;       // runs there all the same, by a rule that is not modelled
};

// nullptr: nothing is missing.
[[nodiscard]] const MissingBackEnd* missing_back_end(const Engine& engine, std::string_view vendor);

}  // namespace headroom
