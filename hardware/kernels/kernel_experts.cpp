// Routed experts: the choice of table and shape.

#include <algorithm>
#include <optional>
#include <vector>

#include "hardware/kernels/kernel_library_parts.hpp"
#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// Parts of a key (kernel_tables.cpp).
constexpr std::size_t kFormat = 0;
constexpr std::size_t kKernel = 1;
constexpr std::size_t kTopK = 5;
constexpr std::size_t kExperts = 6;
using ExpertKey = KeyParts<7>;

struct Choice {
  const KernelSurface* surface = nullptr;
  ExpertKey key{};  // of a shape in it
};

ExpertKey key_of(const ExpertShape& shape) {
  return {code_of(kernel_format(shape.format)),
          shape.kernel == ProductKernel::marlin ? 1 : 0,
          shape.load == ExpertLoad::balanced ? 1 : 0,
          shape.hidden,
          shape.intermediate,
          shape.top_k,
          shape.experts};
}

ExpertKey nearest(const KernelSurface& surface, const ExpertKey& key) {
  ExpertKey found{};
  const KernelKey near = surface.nearest(key);
  std::copy(near.begin(), near.end(), found.begin());
  return found;
}

// The tables that have the shape at this split; without one those with the format and kernel, each
// with its nearest shape; else the nearest shape of the first table. A kernel that a command
// chooses is the first table's alone: the engine's own, if it has it.
std::vector<Choice> choices(const KernelTables& file, KernelEngine engine, const ExpertKey& key,
                            KernelPoint split) {
  std::vector<Choice> exact;
  std::vector<Choice> alike;
  Choice any;
  for (const KernelEngine candidate : engines_from(engine)) {
    const KernelSurface* surface = file.surface(KernelClass::experts, candidate);
    if (surface == nullptr) continue;
    if (surface->has_line(key, split)) exact.push_back({surface, key});
    const Choice near{surface, nearest(*surface, key)};
    if (any.surface == nullptr) any = near;
    if (near.key[kFormat] == key[kFormat] && near.key[kKernel] == key[kKernel]) {
      alike.push_back(near);
    }
  }
  std::vector<Choice> found = !exact.empty() ? exact : alike;
  if (found.empty()) found.push_back(any);
  if (key[kKernel] != 0) found.resize(1);
  return found;
}

double tokens_per_expert(const ExpertKey& key) {
  return static_cast<double>(key[kTopK]) / static_cast<double>(key[kExperts]);
}

}  // namespace

// vLLM (choose_mp_linear_kernel, quantization/utils/marlin_utils*.py) has a kernel of its own for
// int4 on Hopper, Machete, which no table has: priced as a product in 16 bits there.
bool KernelLibrary::Tables::unpacks(KernelFormat format) const {
  constexpr std::int32_t kHopper = 90;
  if (engine == KernelEngine::trtllm) return false;
  switch (format) {
    case KernelFormat::fp8:
    case KernelFormat::fp8_block: return peaks.flops_fp8 <= peaks.flops_16_bit;
    case KernelFormat::nvfp4: return peaks.flops_fp4 <= peaks.flops_16_bit;
    case KernelFormat::int8_weights:
    case KernelFormat::int4_weights: return engine == KernelEngine::sglang || file.sm() != kHopper;
    default: return false;
  }
}

std::optional<LogRatio> KernelLibrary::Tables::marlin_ratio(double m, std::int64_t n,
                                                            std::int64_t k) const {
  const ExpertKey wanted{code_of(KernelFormat::int4_weights), 1, 1, k, n, 1, 1};
  for (const KernelEngine candidate : engines_from(engine)) {
    const KernelSurface* surface = file.surface(KernelClass::experts, candidate);
    if (surface == nullptr) continue;
    const ExpertKey key = nearest(*surface, wanted);
    if (key[kFormat] != wanted[kFormat] || key[kKernel] != wanted[kKernel]) continue;
    LogRatio ratio = surface->at(key, PointParts<3>{1, 1, m / tokens_per_expert(key)});
    ratio.fit = Fit::extrapolated;
    return ratio;
  }
  return std::nullopt;
}

KernelTime KernelLibrary::experts(const ExpertShape& asked, double tokens) const {
  ExpertShape shape = asked;
  const KernelFormat format = kernel_format(shape.format);
  // Weights in int4 have rows of their own, which are Marlin's where it is the only kernel.
  if (format != KernelFormat::int4_weights && tables_->unpacks(format)) {
    shape.kernel = ProductKernel::marlin;
  }
  if (format == KernelFormat::bf16) shape.kernel = ProductKernel::fastest;
  HEADROOM_CHECK(shape.hidden >= 1 && shape.intermediate >= 1 && shape.top_k >= 1 &&
                     shape.experts >= shape.top_k && shape.tensor_parallel >= 1 &&
                     shape.expert_parallel >= 1 && tokens > 0,
                 "shape of experts");
  const auto tensor_parallel = static_cast<double>(shape.tensor_parallel);
  const auto expert_parallel = static_cast<double>(shape.expert_parallel);
  const PointParts<2> split{tensor_parallel, expert_parallel};
  const bool marlin = shape.kernel == ProductKernel::marlin;
  ExpertKey key = key_of(shape);
  if (marlin) key[kFormat] = code_of(unpacked(format));
  std::vector<Choice> found = choices(tables_->file, tables_->engine, key, split);
  // Marlin unpacks 4-bit weights alike: where a shape was not measured, int4 was with more shapes.
  if (marlin && found.front().key != key) {
    ExpertKey int4 = key;
    int4[kFormat] = code_of(KernelFormat::int4_weights);
    found = choices(tables_->file, tables_->engine, int4, split);
  }
  HEADROOM_CHECK(found.front().surface != nullptr, "no kernel times of experts");
  // With expert parallelism Marlin was timed on all tokens' routes, not on this device's share.
  const bool is_4_bit = key[kFormat] == code_of(format);
  const double ranks = marlin && !is_4_bit ? 1 : expert_parallel;
  // Engines take over each other's kernels: the fastest that was measured. But SGLang's rows are of
  // the runner that it takes for a model (Triton for MiniMax-M2, where vLLM has TensorRT-LLM's
  // kernels): they count unless another's are three times as fast, as where Triton was not tuned.
  constexpr double kUntuned = 3;
  const bool own =
      tables_->engine == KernelEngine::sglang && found.front().key == key &&
      found.front().surface == tables_->file.surface(KernelClass::experts, KernelEngine::sglang);
  KernelTime first;
  KernelTime fastest;
  for (const Choice& choice : found) {
    const double alike = tokens * tokens_per_expert(key) / tokens_per_expert(choice.key);
    LogRatio ratio = choice.surface->at(choice.key, PointParts<3>{tensor_parallel, ranks, alike});
    if (choice.key != key) ratio.fit = Fit::extrapolated;
    const KernelTime time = tables_->marked(choice.surface->time(
        tables_->peaks, key, PointParts<3>{tensor_parallel, expert_parallel, tokens}, ratio));
    if (first.us == 0) first = time;
    if (fastest.us == 0 || time.us < fastest.us) fastest = time;
  }
  KernelTime time = own && first.us <= kUntuned * fastest.us ? first : fastest;
  time.us *= tables_->tuned(DeviceSpec::KernelsOf::Tuned::Kernels::experts, format, tokens);
  return time;
}

}  // namespace headroom
