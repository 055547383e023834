#include "sim/engines/back_ends.hpp"

#include <algorithm>
#include <array>

#include "sim/engines/engine.hpp"
#include "sim/engines/fastertransformer/engine.hpp"
#include "sim/engines/sglang/engine.hpp"
#include "sim/engines/tgi/engine.hpp"
#include "sim/engines/trtllm/engine.hpp"
#include "sim/engines/vllm/engine.hpp"

namespace headroom {
namespace {

constexpr std::string_view kCudaOnly = "runs on NVIDIA devices only";

// The projects' own lists of platforms: docs/getting_started/installation (vLLM 0.31), docs/
// hardware-platforms/apple_metal (SGLang 0.5), the installation pages of the others.
const std::array<MissingBackEnd, 7>& missing_back_ends() {
  static const std::array<MissingBackEnd, 7> kMissing{
      {{&vllm_engine(), "apple",
        "runs on Metal only with a plug-in, whose memory rule is not modelled", true},
       {&sglang_engine(), "apple",
        "runs on Metal only if built from source with MLX, whose memory rule is not modelled",
        true},
       {&tgi_engine(), "apple", "has no Metal back end", false},
       {&trtllm_engine(), "apple", kCudaOnly, false},
       {&trtllm_engine(), "amd", kCudaOnly, false},
       {&fastertransformer_engine(), "apple", kCudaOnly, false},
       {&fastertransformer_engine(), "amd", kCudaOnly, false}}};
  return kMissing;
}

}  // namespace

const MissingBackEnd* missing_back_end(const Engine& engine, std::string_view vendor) {
  const auto& all = missing_back_ends();
  const auto found = std::ranges::find_if(all, [&](const MissingBackEnd& missing) {
    return missing.engine == &engine && missing.vendor == vendor;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace headroom
