// The peak of the profiling pass: layers, sampler and vision tower.
#include <algorithm>

#include "hardware/budget/activations.hpp"
#include "sim/engines/vllm/budget.hpp"
#include "sim/engines/vllm/compressed_layout.hpp"

namespace headroom {
namespace {

// Per sampled row and vocabulary entry, with 16-bit logits: fitted with the constants of
// budget.cpp.
struct SamplerBytes {
  EngineVersion since;
  double bytes;
};
constexpr SamplerBytes kSampler[] = {{{0, 0}, 36.0}, {{0, 8}, 38.7}, {{0, 17}, 14.9}};

// The second runner profiles greedy requests: the logits and their copy in fp32
// (v1/worker/gpu/sample/sampler.py, apply_sampling_params). From 0.33 on it adds a pass with every
// sampling parameter (v1/worker/gpu/model_runner.py, _dummy_sampler_run), as the first one has.
constexpr double kGreedyBytes = 2 + 4;
constexpr EngineVersion kProfilesAllParameters{0, 33};

// FlashInfer's sampler (v1/sample/ops/topk_topp_sampler.py): the logits, their copy in fp32, the
// masked ones and the probabilities. From 0.17 on the engine's own kernel takes about as much.
constexpr double kFlashInferBytes = 2 + 4 + 4 + 4;
constexpr EngineVersion kSortsNoLonger{0, 17};

double sampler_bytes(EngineVersion version, bool second_runner, bool flashinfer) {
  if (second_runner && version < kProfilesAllParameters) return kGreedyBytes;
  if (flashinfer && version < kSortsNoLonger) return kFlashInferBytes;
  double bytes = 0;
  for (const SamplerBytes& release : kSampler) {
    if (release.since <= version) bytes = release.bytes;
  }
  return bytes;
}

// The workspace of routed experts is kept between passes (v1/worker/workspace.py) at the latest in
// 0.17; in 0.12 it was not: an estimate between the two.
constexpr EngineVersion kKeepsWorkspace{0, 13};
// V1 alone sizes its encoder budget by the images (v1/core/encoder_cache_manager.py).
constexpr EngineVersion kBudgetsEncoder{0, 8};

struct Widths {
  std::int64_t mlp = 0;      // widest dense product of a token
  std::int64_t routed = 0;   // copies of a token in its experts
  std::int64_t streams = 1;  // residuals of a token (hyper-connections)
};

// Elements per token that the widest layer of a rank keeps alive. Routed experts hold their own
// copies of each token: top_k of gate, up, their product and the output (ENGINES.md 8).
Widths widths_of(const ModelSpec& model, const Sharding& sharding) {
  const std::int64_t tp = sharding.tensor;
  Widths widths;
  for (const LayerKind& kind : model.kinds) {
    widths.streams = std::max(widths.streams, kind.residual_streams);
    if (kind.mlp) widths.mlp = std::max(widths.mlp, 3 * kind.mlp->ffn / tp);
    if (!kind.moe) continue;
    const MoeSpec& moe = *kind.moe;
    const std::int64_t ffn = moe.ffn / sharding.expert_cuts();
    const std::int64_t width = moe.latent > 0 ? moe.latent : model.hidden;
    // Where each expert is cut, the tokens of all data ranks come to it.
    const std::int64_t gathered = sharding.expert_parallel ? 1 : sharding.data;
    widths.routed = std::max(widths.routed, gathered * moe.top_k * (3 * ffn + width));
    widths.mlp = std::max(widths.mlp, 3 * moe.shared_ffn / tp);
  }
  return widths;
}

const IndexerSpec* indexer_of(const ModelSpec& model) {
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention && kind.attention->indexer) return &*kind.attention->indexer;
  }
  return nullptr;
}

// The towers of Qwen2-VL and Qwen2.5-VL, whose patches have 14 pixels to a side.
bool is_older_qwen(const VisionSpec& vision) { return vision.patch == 14; }

// Tokens of the largest item (model_executor/models/qwen2_vl.py, get_mm_max_tokens_per_item). An
// image is largest: 16.8 M pixels of 32 x 32 to a token (preprocessor_config.json), or 12.8 M of 28
// x 28. A video of Qwen2-VL or Qwen2.5-VL has as many of them as max_model_len holds, two frames
// each, of _MAX_FRAMES_PER_VIDEO (16 in 0.10.1.1, 14 in 0.11.0 to 0.23.0). Later processors give a
// whole video fewer tokens than an image.
std::int64_t largest_item_tokens(const ModelSpec& model, const VllmBudgetOptions& options) {
  constexpr std::int64_t kImageTokens = 16384;
  constexpr EngineVersion kFourteenFrames{0, 11};
  if (!is_older_qwen(*model.vision)) return kImageTokens;
  const std::int64_t length =
      options.max_model_len > 0 ? options.max_model_len : model.max_position;
  const std::int64_t most = options.version < kFourteenFrames ? 8 : 7;
  return kImageTokens * std::clamp<std::int64_t>(length / kImageTokens, 1, most);
}

// Elements of a patch that one block keeps alive: residual and normed copy; query, key and value;
// of query and key, which rotary embedding takes in fp32, the cast, the turned halves and the
// result; the pixels of two frames. Qwen2-VL and Qwen2.5-VL turn them as they are since 0.12
// (qwen2_vl.py, apply_rotary_pos_emb_vision; ApplyRotaryEmb later): query and key, both turned, and
// the attention's output. There the MLP keeps more: its input, output and inner products beside
// residuals before and after attention (qwen2_5_vl.py, Qwen2_5_VisionBlock.forward).
std::int64_t block_elements(const VisionSpec& vision, std::int64_t tp, EngineVersion version) {
  constexpr EngineVersion kTurnsIn16Bits{0, 12};
  const std::int64_t width = vision.hidden;
  const std::int64_t patch = is_older_qwen(vision) ? vision.patch : 16;
  const std::int64_t pixels = 3 * patch * patch * 2;
  const std::int64_t in_fp32 = 2 * width + 15 * width / tp;
  if (!is_older_qwen(vision) || version < kTurnsIn16Bits) return in_fp32 + pixels;
  const std::int64_t attention = 2 * width + 8 * width / tp;
  const std::int64_t states = vision.gated ? 5 : 3;
  const std::int64_t mlp = states * width + (vision.gated ? 3 : 2) * vision.ffn / tp;
  return std::max(attention, mlp) + pixels;
}

// What the pass allocates in place of the indexer's logits: VLLM_SPARSE_INDEXER_MAX_LOGITS_MB
// (model_executor/layers/sparse_attn_indexer.py; not in 0.17.0, in 0.19.1 to 0.26.0).
ByteCount indexer_logits_bytes(const ModelSpec& model, const VllmBudgetOptions& options) {
  constexpr EngineVersion kReservesLogits{0, 19};
  const bool reserves = options.version >= kReservesLogits && indexer_of(model) != nullptr;
  return reserves ? 512 * kMib : 0;
}

}  // namespace

// model_executor/layers/sparse_attn_indexer.py gathers the keys of 40 longest sequences
// (v1/attention/backends/mla/indexer.py, get_max_prefill_buffer_size, 0.13.0 to 0.29.0), each with
// an fp32 scale; DeepSeek V4 keeps one for four tokens, and gathers the entries of four sequences
// in 16 bits (models/deepseek_v4/nvidia/flashmla.py, _forward_prefill).
ByteCount vllm_sparse_workspace_bytes(const ModelSpec& model, const VllmBudgetOptions& options) {
  constexpr std::int64_t kSequences = 40;
  constexpr std::int64_t kScaleBytes = 4;
  constexpr std::int64_t kFine = 4;  // tokens of an entry
  constexpr std::int64_t kGathered = 4;
  const IndexerSpec* indexer = indexer_of(model);
  if (indexer == nullptr || options.version < kKeepsWorkspace) return 0;
  const std::int64_t length =
      options.max_model_len > 0 ? options.max_model_len : model.max_position;
  const bool compressed = keeps_compressed(model);
  const std::int64_t keys = length * kSequences / (compressed ? kFine : 1);
  const ByteCount searched = keys * (indexer->head_dim + kScaleBytes);
  if (!compressed) return searched;
  std::int64_t width = 0;
  std::int64_t window = 0;
  for (const LayerKind& kind : model.kinds) {
    if (!kind.attention) continue;
    width = std::max(width, kind.attention->head_dim);
    window = std::max(window, kind.attention->window_tokens);
  }
  const std::int64_t entries = length / kFine + window + options.max_num_batched_tokens;
  return std::max(searched, kGathered * entries * width * activation_bytes(model.dtype));
}

ByteCount vllm_activation_bytes(const ModelSpec& model, const Sharding& sharding,
                                const VllmBudgetOptions& options, bool second_runner,
                                std::int64_t drafted_states) {
  const std::int64_t element = activation_bytes(model.dtype);
  const std::int64_t tokens = options.max_num_batched_tokens;
  // v1/worker/gpu_model_runner.py, profile_run: pooling models run their pooler instead, whose
  // vectors are small.
  const std::int64_t rows =
      options.pooling ? 0 : std::min(options.max_num_seqs, options.max_num_batched_tokens);
  const Widths widths = widths_of(model, sharding);
  // Encoder outputs and the merged embeddings of a vision-language model stay alive: 2 hidden
  // states per token reproduce Gemma-3, Granite-Vision and Mistral-Small-3.1 to 0.08 GiB.
  const ByteCount merged = model.vision ? 2 * tokens * model.hidden * element : 0;
  const ByteCount vision = std::max(merged, vllm_held_encoder_bytes(model, options));
  const double per_logit =
      sampler_bytes(options.version, second_runner, options.flashinfer_sampler) +
      static_cast<double>(element - 2);
  // The experts' workspace outlives the forward pass, so the sampler comes on top of it (Mixtral,
  // Kimi-VL and Qwen3-30B-A3B of 0.19 to 0.11 GiB).
  const std::int64_t kept = options.version >= kKeepsWorkspace ? widths.routed : 0;
  // Sparse attention shares that workspace, so the larger of the two counts.
  const ByteCount sparse = vllm_sparse_workspace_bytes(model, options);
  const ByteCount sampler =
      static_cast<ByteCount>(static_cast<double>(rows * model.vocab) * per_logit) +
      tokens * element * model.hidden + std::max(tokens * element * kept, sparse);
  // Peak over the layers: the MLP's wide products are alive together with a few copies of the
  // hidden state (4.25 reproduces CodeLlama-7b 0.77 and Granite-3.1-8b 0.85 GiB).
  const std::int64_t widest = std::max(widths.mlp, widths.routed);
  const ByteCount in_attention =
      std::max(tokens * element * kept, sparse) + indexer_logits_bytes(model, options);
  const ByteCount forward =
      std::max(tokens * element * widest, sparse > 0 ? in_attention : 0) +
      tokens * element * (widths.streams * model.hidden * 17 / 4 + drafted_states * model.hidden);
  // With empty compile caches the profiling pass also holds what the compiler tries out: 0.80 GiB
  // logged on an RTX 4090 (vLLM 0.27, same model 0.70 GiB less KV than with warm caches), and what
  // remains unexplained of the other logged start-up there. An estimate from two logs.
  const ByteCount compiling = options.compile_cache_empty ? bytes_from_gib(0.80) : 0;
  const ByteCount encoder = vllm_encoder_bytes(model, sharding, options);
  return std::max({sampler + vision, forward + vision, encoder, compiling});
}

std::int64_t vllm_drafted_states(const BudgetInputs& inputs, const VllmBudgetOptions& options) {
  constexpr std::int64_t kEagle3 = 3;  // of an early, a middle and a late layer
  if (!inputs.drafter) return 0;
  if (options.draft_method == "eagle3") return kEagle3;
  return options.draft_method == "dflash" ? inputs.drafter->layers() : 0;
}

// v1/worker/gpu_model_runner.py of 0.11.0 and 0.12.0, profile_run: outputs of fewer tokens than the
// largest item may take are copied into one of that many, and both live on in encoder_cache until
// the sampler has run, as do the pixels. The largest item of Qwen3-VL is one video: 25,165,824
// pixels of two frames each (video_preprocessor_config.json), 32 x 32 to a token, and 12.5 tokens
// for each with their time stamps (model_executor/models/qwen3_vl.py, get_max_video_tokens).
ByteCount vllm_held_encoder_bytes(const ModelSpec& model, const VllmBudgetOptions& options) {
  constexpr EngineVersion kFirst{0, 11};
  constexpr EngineVersion kLast{0, 12};
  constexpr std::int64_t kVideoTokens = 25'165'824 / 2 / (32 * 32);
  constexpr std::int64_t kLargestItem = kVideoTokens * 25 / 2;
  constexpr std::int64_t kPatchesPerToken = 4;
  constexpr std::int64_t kPixels = 3 * 16 * 16 * 2;  // of a patch in two frames
  const bool expands = options.version >= kFirst && options.version <= kLast;
  const bool profiles = options.profile_multimodal && !options.text_only;
  if (!expands || !profiles || !model.vision || model.vision->deepstack_levels == 0) return 0;
  const std::int64_t width = model.hidden * (1 + model.vision->deepstack_levels);
  const std::int64_t elements =
      (kLargestItem + kVideoTokens) * width + kVideoTokens * kPatchesPerToken * kPixels;
  return elements * activation_bytes(model.dtype);
}

// The largest images or videos that one step may encode, through one block of the tower.
ByteCount vllm_encoder_bytes(const ModelSpec& model, const Sharding& sharding,
                             const VllmBudgetOptions& options) {
  constexpr std::int64_t kPatchesPerToken = 4;
  const bool profiles = options.profile_multimodal && options.version >= kBudgetsEncoder;
  const bool any_size = model.vision && model.vision->family == VisionSpec::Family::qwen;
  if (!any_size || !profiles) return 0;
  const std::int64_t item = largest_item_tokens(model, options);
  const std::int64_t items = std::max<std::int64_t>(options.max_num_batched_tokens / item, 1);
  return items * item * kPatchesPerToken *
         block_elements(*model.vision, sharding.tensor, options.version) *
         activation_bytes(model.dtype);
}

}  // namespace headroom
