#pragma once
// What weights, activations and KV entries are stored as, and how many bytes that takes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

// The last group are llama.cpp's: types of single tensors (also of its KV cache), then the mixtures
// that a GGUF file is named after, with the average of a whole file.
enum class Dtype : std::uint8_t {
  fp32,
  fp16,
  bf16,
  fp8,
  int8,
  int4,
  nvfp4,
  mxfp4,
  nf4,
  q8_0,
  q5_1,
  q5_0,
  q4_1,
  q4_0,
  iq4_nl,
  q2_k,
  q3_k_m,
  q4_k_s,
  q4_k_m,
  q5_k_m,
  q6_k
};

[[nodiscard]] std::string_view name_of(Dtype dtype);
// Also PyTorch's, Hugging Face's and the engines' spellings (bfloat16, fp8_e4m3, F16, Q4_K_M).
// ConfigError with the nearest name.
[[nodiscard]] Dtype parse_dtype(std::string_view name);
[[nodiscard]] std::vector<std::string> dtype_names();
[[nodiscard]] bool is_quantised(Dtype dtype);     // everything but fp32, fp16 and bf16
[[nodiscard]] bool is_gguf(Dtype dtype);          // q8_0 and after: of GGUF files alone
[[nodiscard]] bool is_gguf_mixture(Dtype dtype);  // q2_k and after: of whole files

// `bits` per element and `group_bits` more per `group` elements (scales, zero points).
struct WeightFormat {
  Dtype dtype = Dtype::bf16;
  std::int32_t group = 0;  // 0: no groups
  std::int32_t group_bits = 0;

  friend bool operator==(const WeightFormat&, const WeightFormat&) = default;
};

// Blocks of 128 x 128 elements with a scale each (DeepSeek's and Qwen's checkpoints in 8 bits).
inline constexpr std::int64_t kBlockSide = 128;
inline constexpr std::int64_t kFp8Block = kBlockSide * kBlockSide;
// The usual layout of the type: int4 in groups of 128 with a 16-bit scale and a 4-bit zero point,
// nvfp4 one scale byte per 16, mxfp4 one per 32, nf4 a 32-bit scale per 64.
[[nodiscard]] WeightFormat format_of(Dtype dtype);
// Bytes of `elements`, rounded up to whole bytes.
[[nodiscard]] ByteCount stored_bytes(WeightFormat format, std::int64_t elements);
[[nodiscard]] ByteCount stored_bytes(Dtype dtype, std::int64_t elements);
// Of activations: 4 for fp32, else 2.
[[nodiscard]] std::int64_t activation_bytes(Dtype dtype);

}  // namespace headroom
