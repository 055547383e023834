#pragma once
// What safetensors files and their index say about the weights, without reading these. Format:
// 8 bytes with the length of a JSON object, the object {name: {dtype, shape, data_offsets}}, the
// weights (huggingface/safetensors, README "Format").

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

struct SafetensorsIndex {
  std::optional<ByteCount> total;  // metadata.total_size: bytes of all tensors
  std::vector<std::string> files;  // that weight_map names, in order
};

// model.safetensors.index.json. ConfigError with file, JSON pointer and value.
[[nodiscard]] SafetensorsIndex read_safetensors_index(const std::filesystem::path& path);

// Bytes of each tensor, from the header alone. ConfigError with file, byte offset and value: no
// header, one that is cut off, offsets that cannot be.
[[nodiscard]] std::map<std::string, ByteCount> read_safetensors_header(
    const std::filesystem::path& path);

}  // namespace headroom
