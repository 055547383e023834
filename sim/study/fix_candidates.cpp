#include "sim/study/fix_candidates.hpp"

#include <algorithm>
#include <array>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

using S = FixSearch;
using C = FixCost;
using N = FixCounts;

constexpr std::string_view kLonger = "requests longer than {} tokens are rejected";
constexpr std::string_view kFewer = "at most {} requests at a time; more wait";
constexpr std::string_view kMore = "up to {} requests at a time: smaller shares of the step each";
constexpr std::string_view kLength = "accepts requests of {} tokens; fewer of them fit together";
constexpr std::string_view kSteps = "steps of {} tokens: long prompts take more of them";
constexpr std::string_view kKv8 = "KV in 8 bit: check quality";
constexpr std::string_view kGraphs = "no CUDA graphs: slower decode steps";
constexpr std::string_view kWeights = "weights in {}: check quality";
constexpr std::string_view kDevices = "{} devices instead of {old}";
constexpr std::string_view kMachines =
    "{} pipeline stages instead of {old}: more devices, one request is no faster";
constexpr std::string_view kSpare = "less memory is left to spare";
constexpr std::string_view kAsks = "asks for less than the rest of the machine takes";
constexpr std::string_view kCells = "{} cells of KV are allocated at start instead of {old}";

constexpr FixCandidate kCandidates[] = {
    // What the host took.
    {"/environment/page_cache_gib", "", S::ladder, C::none,
     "drop the page cache right before the start", "0.0"},
    {"/environment/checkpoint_cache_share", "", S::ladder, C::none,
     "read the checkpoint past the page cache (direct reads)", "0.0"},
    {"/environment/tmpfs_gib", "", S::ladder, C::none, "empty tmpfs and /dev/shm before the start",
     "0.0"},
    {"/environment/processes_gib", "", S::ladder, C::none, "stop the other processes", "0.0"},
    {"/environment/shm_size_gib", "", S::ladder, C::none, "a limit, not a reservation",
     "0.5|1.0|2.0|4.0|8.0|16.0|64.0"},
    {"/environment/memory_limit_gib", "", S::ladder, C::none,
     "a limit of the container, not a reservation",
     "2.0|4.0|8.0|16.0|32.0|64.0|128.0|256.0|512.0|1024.0"},

    // Shares of memory.
    {"/engine/gpu_memory_utilization", "vllm|static", S::share_up, C::none, kSpare},
    {"/engine/gpu_memory_utilization", "vllm|static", S::share_down, C::none, kAsks},
    {"/engine/kv_cache_memory_bytes",
     "vllm|orca|static",
     S::count_down,
     C::none,
     "a smaller pool: {} bytes",
     {},
     N::other,
     1,
     std::int64_t{64} << 20},
    {"/engine/kv_cache_memory_bytes",
     "vllm|orca|static",
     S::count_up,
     C::none,
     "a larger pool: {} bytes",
     {},
     N::other,
     1,
     std::int64_t{64} << 20},
    {"/engine/num_gpu_blocks_override",
     "vllm|orca|static",
     S::count_down,
     C::none,
     "a smaller pool: {} blocks",
     {},
     N::other,
     2},
    {"/engine/num_gpu_blocks_override", "vllm|orca|static", S::count_up, C::none,
     "a larger pool: {} blocks"},
    {"/engine/free_gpu_memory_fraction", "trtllm", S::share_up, C::none, kSpare},
    {"/engine/free_gpu_memory_fraction", "trtllm", S::share_down, C::none, kAsks},
    {"/engine/mem_fraction_static", "sglang", S::share_up, C::none,
     "less memory is left for activations and graphs"},
    {"/engine/mem_fraction_static", "sglang", S::share_down, C::none,
     "more memory is left for activations and graphs"},
    {"/engine/cuda_memory_fraction", "tgi", S::share_up, C::none, kSpare},
    {"/engine/attn_implementation", "hf", S::ladder, C::none, "no score matrix is kept",
     "sdpa|flash_attention_2"},
    {"/engine/flash_attn", "llamacpp|ollama", S::ladder, C::none, "no score buffer", "on"},

    // Limits of requests.
    {"/engine/max_model_len", "vllm|orca|static", S::count_down, C::limits, kLonger, {}, N::tokens},
    {"/engine/max_model_len", "vllm|orca|static", S::count_up, C::none, kLength, {}, N::tokens},
    {"/engine/max_num_seqs", "vllm|orca|static", S::count_down, C::limits, kFewer, {}, N::requests},
    {"/engine/max_num_seqs", "vllm|orca|static", S::count_up, C::none, kMore, {}, N::requests},
    {"/engine/max_seq_len", "trtllm", S::count_down, C::limits, kLonger, {}, N::tokens},
    {"/engine/max_seq_len", "trtllm", S::count_up, C::none, kLength, {}, N::tokens},
    {"/engine/max_batch_size",
     "trtllm|hf|fastertransformer",
     S::count_down,
     C::limits,
     kFewer,
     {},
     N::requests},
    {"/engine/max_batch_size",
     "trtllm|hf|fastertransformer",
     S::count_up,
     C::none,
     kMore,
     {},
     N::requests},
    {"/engine/context_length", "sglang", S::count_down, C::limits, kLonger, {}, N::tokens},
    {"/engine/context_length", "sglang", S::count_up, C::none, kLength, {}, N::tokens},
    {"/engine/max_running_requests", "sglang", S::count_up, C::none, kMore, {}, N::requests},
    {"/engine/max_total_tokens", "tgi", S::count_down, C::limits, kLonger, {}, N::tokens},
    {"/engine/max_total_tokens", "tgi", S::count_up, C::none, kLength, {}, N::tokens},
    {"/engine/max_input_tokens", "tgi|hf|fastertransformer", S::count_down, C::limits,
     "prompts longer than {} tokens are rejected"},
    {"/engine/max_input_tokens",
     "hf|fastertransformer",
     S::count_up,
     C::none,
     "prompts of up to {} tokens",
     {},
     N::tokens},
    {"/engine/max_new_tokens", "hf|fastertransformer", S::count_down, C::limits,
     "outputs end after {} tokens"},
    {"/engine/ctx_size", "llamacpp|ollama", S::count_down, C::limits, kCells, {}, N::tokens},
    {"/engine/ctx_size", "llamacpp|ollama", S::count_up, C::none, kCells, {}, N::cells},
    {"/engine/parallel", "llamacpp|ollama", S::count_down, C::limits, kFewer, {}, N::requests},
    {"/engine/parallel", "llamacpp|ollama", S::count_up, C::none, kMore, {}, N::requests},

    // Speed.
    {"/engine/max_num_batched_tokens", "vllm", S::count_down, C::speed, kSteps, {}, N::other, 128},
    {"/engine/enforce_eager", "vllm", S::ladder, C::speed, kGraphs, "true"},
    {"/engine/max_num_tokens", "trtllm", S::count_down, C::speed, kSteps, {}, N::other, 128},
    {"/engine/chunked_prefill_size", "sglang", S::count_down, C::speed, kSteps, {}, N::other, 128},
    {"/engine/cuda_graph_max_bs", "sglang", S::count_down, C::speed,
     "no CUDA graphs for batches above {}"},
    {"/engine/max_batch_prefill_tokens", "tgi", S::count_down, C::speed, kSteps, {}, N::other, 128},
    {"/engine/ubatch_size", "llamacpp|ollama", S::count_down, C::speed, kSteps, {}, N::other, 32},
    {"/engine/n_gpu_layers",
     "llamacpp|ollama",
     S::count_down,
     C::speed,
     "{} layers on the device, the others on the host: much slower",
     {},
     N::other,
     0},

    // Quality.
    {"/engine/kv_cache_dtype", "vllm|trtllm|sglang", S::ladder, C::quality, kKv8, "fp8"},
    {"/engine/cache_type_k", "llamacpp|ollama", S::ladder, C::quality, "keys in {}: check quality",
     "q8_0"},
    {"/engine/cache_type_v", "llamacpp|ollama", S::ladder, C::quality,
     "values in {}, with flash attention: check quality", "q8_0"},
    {"/engine/beam_width", "fastertransformer", S::ladder, C::quality, "greedy search", "1"},
    {"/engine/quantization", "vllm|trtllm|sglang|tgi", S::ladder, C::quality, kWeights, "fp8|int4"},
    {"/engine/quantization", "llamacpp|ollama", S::ladder, C::quality, kWeights, "q8_0|q4_k_m"},
    {"/engine/quantization", "hf", S::ladder, C::quality, kWeights, "int8|bitsandbytes"},

    // Hardware.
    {"/engine/tensor_parallel_size", "vllm|trtllm|sglang|tgi|fastertransformer|orca|static",
     S::ladder, C::hardware, kDevices, "2|3|4|5|6|7|8|16|32|64"},
    {"/engine/pipeline_parallel_size", "vllm|trtllm|llamacpp", S::ladder, C::hardware, kMachines,
     "2|3|4|6|8|16"},
};

bool is_of(const FixCandidate& candidate, std::string_view engine) {
  std::string_view rest = candidate.engines;
  if (rest.empty()) return true;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, end) == engine) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace

std::vector<FixCandidate> fix_candidates(std::string_view engine) {
  std::vector<FixCandidate> own;
  for (const FixCandidate& candidate : kCandidates) {
    if (is_of(candidate, engine)) own.push_back(candidate);
  }
  return own;
}

std::string filled(std::string_view text, std::string_view value, std::string_view old) {
  std::string out(text);
  const auto replace = [&out](std::string_view mark, std::string_view with) {
    const std::size_t at = out.find(mark);
    if (at != std::string::npos) out.replace(at, mark.size(), with);
  };
  replace("{old}", old);
  replace("{}", value);
  return out;
}

}  // namespace headroom
