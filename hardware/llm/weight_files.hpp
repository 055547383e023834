#pragma once
// The model that a folder or file describes, with the exact bytes of its weights where the files
// that state them are at hand.

#include <filesystem>

#include "hardware/llm/model_spec.hpp"

namespace headroom {

// `path` is a config.json, a folder that holds one, a GGUF file, or a folder with one GGUF model.
// Beside a config.json, weight bytes come from the headers of the safetensors files when these are
// there, else from the total of model.safetensors.index.json, else from the formats that the config
// declares. `overrides` is a file that is merged over config.json. ConfigError: as load_hf_config
// and load_gguf; an index that names files of which some are there and some are not; a header that
// is cut off or no header; several GGUF models in one folder.
[[nodiscard]] ModelSpec load_model_files(const std::filesystem::path& path,
                                         const std::filesystem::path& overrides = {});

// `model` with all its parts brought to a checkpoint of `total` bytes: the difference to what its
// formats give is shared out in proportion. ConfigError naming `file` for a total below a hundredth
// or above a hundred times of that.
[[nodiscard]] ModelSpec with_total_bytes(ModelSpec model, ByteCount total, const std::string& file);

}  // namespace headroom
