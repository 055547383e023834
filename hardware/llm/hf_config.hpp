#pragma once
// A model from the files that a user has: Hugging Face config.json, with hf_quant_config.json where
// the checkpoint brings one. What no rule covers is an error that names the missing fields and
// shows how to override them; what is simplified is a note of the ModelSpec, carried into every
// result.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/llm/model_spec.hpp"

namespace headroom {

struct HfText {
  std::string_view json;
  std::string shown_as;  // what errors call it
};

// `overrides` is merged over `config` (RFC 7386: objects are merged, null removes). Either may be
// empty text. ConfigError with file, JSON pointer, value and what is allowed.
[[nodiscard]] ModelSpec read_hf_config(const HfText& config, const HfText& quantization = {},
                                       const HfText& overrides = {});

// A config.json, or a folder that holds one. hf_quant_config.json is found beside it (for
// NAME_config.json also NAME_hf_quant_config.json). The id is the folder's or the file's name.
[[nodiscard]] ModelSpec load_hf_config(const std::filesystem::path& path,
                                       const std::filesystem::path& overrides = {});

// The values of `architectures` that are read, in alphabetical order.
[[nodiscard]] std::vector<std::string> known_architectures();

}  // namespace headroom
