#include "hardware/llm/dtype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/lower_case.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

struct DtypeRow {
  std::string_view name;
  std::int32_t bits;
  std::int32_t group;
  std::int32_t group_bits;
};

// Group layouts of llama.cpp's types: ggml-common.h (bytes per block of 32 or 256). The mixtures
// are averages of whole files of Llama-3.1-8B, from the table in llama.cpp's tools/quantize README,
// in 1/10000 bit.
constexpr std::array<DtypeRow, 21> kRows{{
    {"fp32", 32, 0, 0},         {"fp16", 16, 0, 0},         {"bf16", 16, 0, 0},
    {"fp8", 8, 0, 0},           {"int8", 8, 0, 0},          {"int4", 4, 128, 20},
    {"nvfp4", 4, 16, 8},        {"mxfp4", 4, 32, 8},        {"nf4", 4, 64, 32},
    {"q8_0", 8, 32, 16},        {"q5_1", 5, 32, 32},        {"q5_0", 5, 32, 16},
    {"q4_1", 4, 32, 32},        {"q4_0", 4, 32, 16},        {"iq4_nl", 4, 32, 16},
    {"q2_k", 3, 10000, 1593},   {"q3_k_m", 4, 10000, 29},   {"q4_k_s", 4, 10000, 6672},
    {"q4_k_m", 4, 10000, 8944}, {"q5_k_m", 5, 10000, 7036}, {"q6_k", 6, 10000, 5633},
}};

constexpr std::array<std::pair<std::string_view, Dtype>, 16> kOtherNames{{
    {"float32", Dtype::fp32},
    {"float", Dtype::fp32},
    {"f32", Dtype::fp32},
    {"float16", Dtype::fp16},
    {"half", Dtype::fp16},
    {"f16", Dtype::fp16},
    {"bfloat16", Dtype::bf16},
    {"fp8_e4m3", Dtype::fp8},
    {"fp8_e5m2", Dtype::fp8},
    {"float8", Dtype::fp8},
    {"float8_e4m3fn", Dtype::fp8},
    {"w8a8", Dtype::int8},
    {"awq", Dtype::int4},
    {"gptq", Dtype::int4},
    {"bitsandbytes", Dtype::nf4},
    {"fp4", Dtype::nvfp4},
}};

const DtypeRow& row_of(Dtype dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view name_of(Dtype dtype) { return row_of(dtype).name; }

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  names.reserve(kRows.size());
  for (const DtypeRow& row : kRows) names.emplace_back(row.name);
  return names;
}

Dtype parse_dtype(std::string_view name) {
  std::string lower = lower_case(std::string(name));
  if (lower.starts_with("torch.")) lower.erase(0, 6);
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == lower) return static_cast<Dtype>(i);
  }
  const auto other =
      std::ranges::find(kOtherNames, lower, [](const auto& row) { return row.first; });
  if (other != kOtherNames.end()) return other->second;
  const std::vector<std::string> names = dtype_names();
  throw ConfigError(
      Complaint{.kind = ErrorKind::unknown,
                .problem = fmt::format("data type '{}': one of {}", name, comma_list(names)),
                .nearest = nearest_name(lower, names)});
}

bool is_quantised(Dtype dtype) { return dtype > Dtype::bf16; }

bool is_gguf(Dtype dtype) { return dtype >= Dtype::q8_0; }

bool is_gguf_mixture(Dtype dtype) { return dtype >= Dtype::q2_k; }

WeightFormat format_of(Dtype dtype) {
  const DtypeRow& row = row_of(dtype);
  return {dtype, row.group, row.group_bits};
}

ByteCount stored_bytes(WeightFormat format, std::int64_t elements) {
  // Whole groups and the rest apart, so that the product stays below 2^63 for 10^13 elements.
  std::int64_t bits = elements * row_of(format.dtype).bits;
  if (format.group > 0) {
    const std::int64_t groups = elements / format.group;
    bits += groups * format.group_bits;
    bits += (elements % format.group) * format.group_bits / format.group;
  }
  return (bits + 7) / 8;
}

ByteCount stored_bytes(Dtype dtype, std::int64_t elements) {
  return stored_bytes(format_of(dtype), elements);
}

std::int64_t activation_bytes(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

}  // namespace headroom
