#include <algorithm>

#include "hardware/kernels/kernel_library_parts.hpp"

namespace headroom {

std::string_view name_of(Fit fit) {
  switch (fit) {
    case Fit::measured: return "measured";
    case Fit::interpolated: return "interpolated";
    case Fit::scaled_from_relative: return "scaled from a relative";
    case Fit::extrapolated: return "extrapolated";
  }
  return "";
}

KernelTime& KernelTime::operator+=(const KernelTime& other) {
  us += other.us;
  fit = std::max(fit, other.fit);
  return *this;
}

KernelTime behind_prefix(const KernelTime& whole, const KernelTime& prefix,
                         const KernelTime& alone) {
  return {std::max(whole.us - prefix.us, alone.us),
          std::max({whole.fit, prefix.fit, Fit::interpolated})};
}

std::array<KernelEngine, 3> engines_from(KernelEngine own) {
  switch (own) {
    case KernelEngine::vllm:
      return {KernelEngine::vllm, KernelEngine::sglang, KernelEngine::trtllm};
    case KernelEngine::sglang:
      return {KernelEngine::sglang, KernelEngine::vllm, KernelEngine::trtllm};
    case KernelEngine::trtllm:
      return {KernelEngine::trtllm, KernelEngine::sglang, KernelEngine::vllm};
  }
  return {};
}

KernelFormat kernel_format(ProductFormat format) {
  switch (format) {
    case ProductFormat::bf16: return KernelFormat::bf16;
    case ProductFormat::fp8: return KernelFormat::fp8;
    case ProductFormat::fp8_block: return KernelFormat::fp8_block;
    case ProductFormat::nvfp4: return KernelFormat::nvfp4;
    case ProductFormat::int8: return KernelFormat::int8;
    case ProductFormat::int8_weights: return KernelFormat::int8_weights;
    case ProductFormat::int4_weights: return KernelFormat::int4_weights;
  }
  return KernelFormat::bf16;
}

KernelFormat kernel_format(ExpertFormat format) {
  switch (format) {
    case ExpertFormat::bf16: return KernelFormat::bf16;
    case ExpertFormat::fp8: return KernelFormat::fp8;
    case ExpertFormat::fp8_block: return KernelFormat::fp8_block;
    case ExpertFormat::nvfp4: return KernelFormat::nvfp4;
    case ExpertFormat::int4_weights: return KernelFormat::int4_weights;
    case ExpertFormat::mxfp4_weights: return KernelFormat::mxfp4_weights;
    case ExpertFormat::mxfp4_mxfp8: return KernelFormat::mxfp4_mxfp8;
  }
  return KernelFormat::bf16;
}

KernelFormat unpacked(KernelFormat format) {
  switch (format) {
    case KernelFormat::fp8:
    case KernelFormat::fp8_block:
    case KernelFormat::int8: return KernelFormat::int8_weights;
    case KernelFormat::nvfp4:
    case KernelFormat::mxfp4_mxfp8: return KernelFormat::mxfp4_weights;
    default: return format;
  }
}

KernelFormat kernel_format(CacheFormat format) {
  return format == CacheFormat::fp8 ? KernelFormat::fp8 : KernelFormat::bf16;
}

}  // namespace headroom
