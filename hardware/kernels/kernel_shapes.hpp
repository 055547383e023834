#pragma once
// What a kernel of one layer computes on one device, as the kernel library (kernel_library.hpp)
// is asked for it. Heads, widths and experts are those of ONE device: after tensor parallelism.

#include <cstdint>

namespace headroom {

// Whose kernels: engines choose different attention and expert kernels.
enum class KernelEngine : std::uint8_t { vllm, sglang, trtllm };

// How weights and activations of a matrix product are stored.
enum class ProductFormat : std::uint8_t {
  bf16,
  fp8,        // one scale per tensor or channel
  fp8_block,  // 128 x 128 blocks of weights, groups of 128 activations
  nvfp4,
  int8,          // weights and activations (SmoothQuant)
  int8_weights,  // activations in 16 bit
  int4_weights
};

enum class ProductKernel : std::uint8_t {
  fastest,  // of the engine's release, at every number of tokens
  marlin    // unpacks weights to 16 bits; servers choose it by command: --linear-backend marlin
};

// Of the KV cache, and of the query where attention itself runs in 8 bit.
enum class CacheFormat : std::uint8_t { bf16, fp8 };

// Grouped-query attention without its matrix products.
struct AttentionShape {
  std::int64_t heads = 0;     // query heads, 1 or more
  std::int64_t kv_heads = 0;  // 1 to heads
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  // tokens that a query sees; 0: all
  CacheFormat kv = CacheFormat::bf16;
  // fp8 attention needs an fp8 cache: prefill of SGLang and TensorRT-LLM has it. Else ignored.
  CacheFormat query = CacheFormat::bf16;
  bool bidirectional = false;  // tables are of causal attention: the caller asks for as many pairs
};

enum class ExpertFormat : std::uint8_t {
  bf16,
  fp8,
  fp8_block,
  nvfp4,
  int4_weights,
  mxfp4_weights,  // activations in bf16 (w4a16)
  mxfp4_mxfp8     // activations in mxfp8 (w4a8)
};

// How tokens spread over the experts while the kernel was timed.
enum class ExpertLoad : std::uint8_t { skewed, balanced };

// All routed experts of one layer. `intermediate` and `experts` are the model's, not the device's:
// a device holds experts / expert_parallel of them, intermediate / tensor_parallel wide.
struct ExpertShape {
  ExpertFormat format = ExpertFormat::bf16;
  ProductKernel kernel = ProductKernel::fastest;
  ExpertLoad load = ExpertLoad::skewed;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t top_k = 0;
  std::int64_t experts = 0;
  std::int64_t tensor_parallel = 1;
  std::int64_t expert_parallel = 1;
};

// Multi-head latent attention. The defaults are those of DeepSeek-V3, which was measured.
struct LatentShape {
  std::int64_t heads = 0;
  std::int64_t hidden = 7168;
  std::int64_t query_rank = 1536;  // 0: queries straight from the hidden state
  std::int64_t kv_rank = 512;
  std::int64_t rope_dim = 64;
  std::int64_t nope_dim = 128;
  std::int64_t value_dim = 128;
  ProductFormat products = ProductFormat::bf16;
  CacheFormat kv = CacheFormat::bf16;
  CacheFormat query = CacheFormat::bf16;  // prefill in 8 bit, needs an fp8 cache
};

// Latent attention over the tokens that an indexer picks (DeepSeek-V3.2, GLM-5).
struct SparseShape {
  LatentShape latent;
  std::int64_t picked = 2048;  // tokens that a query attends to
  bool runs_indexer = true;    // GLM-5.2 has layers that take over the choice of an earlier one
};

// Scores of an indexer, without its matrix products: every query against the keys of all tokens, or
// of blocks of them.
struct IndexShape {
  std::int64_t heads = 0;
  std::int64_t width = 0;
  std::int64_t key_bytes = 0;       // of one key with its scales
  std::int64_t tokens_per_key = 1;  // 1 or more
};

// Attention of DeepSeek-V4: queries see the latest `window` tokens, and of those before one entry
// per `ratio` tokens, at most `picked` of these. All heads share one key, which is the value too.
// Without its matrix products and without the indexer.
struct CompressedShape {
  std::int64_t heads = 0;
  std::int64_t width = 0;   // of the key
  std::int64_t window = 0;  // tokens
  std::int64_t ratio = 0;   // 0: the window is all
  std::int64_t picked = 0;  // entries; 0: all
  CacheFormat kv = CacheFormat::bf16;
};

enum class RecurrentKind : std::uint8_t { gated_delta, mamba2, kimi_delta };

// Convolution and recurrence of one layer, without its matrix products.
struct RecurrentShape {
  RecurrentKind kind = RecurrentKind::gated_delta;
  std::int64_t key_heads = 0;    // mamba2: groups
  std::int64_t key_dim = 0;      // mamba2: size of the state
  std::int64_t value_heads = 0;  // mamba2: heads
  std::int64_t value_dim = 0;    // mamba2: head size
};

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };

}  // namespace headroom
