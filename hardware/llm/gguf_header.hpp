#pragma once
// The header of a GGUF file: its metadata and the list of its tensors with their exact sizes. The
// weights themselves are not read. Format: ggml's docs/gguf.md, versions 2 and 3; sizes of tensor
// types: ggml-common.h.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/llm/dtype.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {

struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // 1 to 4 sizes, the fastest first
  WeightFormat format;              // the exact layout; its dtype is the nearest that is known
  std::int64_t elements = 0;
  ByteCount bytes = 0;

  [[nodiscard]] std::int64_t size(std::size_t dimension) const {
    return dimension < shape.size() ? shape[dimension] : 1;
  }
};

class GgufHeader {
 public:
  // All parts of a model that is split ("NAME-00001-of-00003.gguf", whichever is named).
  // ConfigError with file, byte offset, value and what is allowed: not a GGUF file, cut off,
  // another version, counts or sizes that cannot be, missing parts.
  [[nodiscard]] static GgufHeader read(const std::filesystem::path& path);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] const std::vector<GgufTensor>& tensors() const { return tensors_; }
  // Whether the file ends behind the list of tensors: a header that was fetched without weights.
  [[nodiscard]] bool header_only() const { return header_only_; }

  // Metadata under the architecture's prefix ("block_count"). A list is read at `index`.
  // ConfigError outside of 0 to 2^31.
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view key,
                                                         std::size_t index = 0) const;
  // From 1 to 2^31. ConfigError where it is missing or beyond.
  [[nodiscard]] std::int64_t integer(std::string_view key, std::size_t index = 0) const;
  [[nodiscard]] bool is_list(std::string_view key) const;
  [[nodiscard]] ConfigError error(std::string_view key, std::string_view problem) const;

 private:
  [[nodiscard]] std::optional<std::int64_t> value_of(std::string_view key, std::size_t index,
                                                     std::int64_t least) const;
  friend class GgufReader;
  std::string file_;
  std::string architecture_;
  bool header_only_ = false;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> integers_;  // booleans: 0, 1
  std::map<std::string, std::string, std::less<>> texts_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace headroom
