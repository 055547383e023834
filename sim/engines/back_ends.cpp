#include "sim/engines/back_ends.hpp"

#include <array>

#include "sim/engines/engine.hpp"
#include "sim/engines/fastertransformer/engine.hpp"
#include "sim/engines/sglang/engine.hpp"
#include "sim/engines/tgi/engine.hpp"
#include "sim/engines/trtllm/engine.hpp"
#include "sim/engines/vllm/engine.hpp"

namespace headroom {
namespace {

struct MissingBackEnd {
  const Engine* engine;
  std::string_view vendor;
  std::string_view text;
};

// The projects' own lists of platforms: docs/getting_started/installation (vLLM 0.31), docs/
// hardware-platforms/apple_metal (SGLang 0.5), the installation pages of the others.
std::array<MissingBackEnd, 7> missing_back_ends() {
  constexpr std::string_view kCudaOnly = "runs on NVIDIA devices only";
  return {{{&vllm_engine(), "apple",
            "runs on Metal only with a plug-in, whose memory rule is not modelled"},
           {&sglang_engine(), "apple",
            "runs on Metal only if built from source with MLX, whose memory rule is not modelled"},
           {&tgi_engine(), "apple", "has no Metal back end"},
           {&trtllm_engine(), "apple", kCudaOnly},
           {&trtllm_engine(), "amd", kCudaOnly},
           {&fastertransformer_engine(), "apple", kCudaOnly},
           {&fastertransformer_engine(), "amd", kCudaOnly}}};
}

}  // namespace

std::string_view missing_back_end(const Engine& engine, std::string_view vendor) {
  for (const MissingBackEnd& missing : missing_back_ends()) {
    if (missing.engine == &engine && missing.vendor == vendor) return missing.text;
  }
  return "";
}

}  // namespace headroom
