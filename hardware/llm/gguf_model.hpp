#pragma once
// A model from the header of its GGUF file: geometry from metadata and shapes, bytes of every layer
// and part exactly as the tensors have them, whatever mixture of types that is.

#include <filesystem>

#include "hardware/llm/model_spec.hpp"

namespace headroom {

// One file, or any part of a split model. What no rule covers is an error that names the file and
// the tensor or key; what is simplified is a note. ConfigError.
[[nodiscard]] ModelSpec load_gguf(const std::filesystem::path& path);

}  // namespace headroom
