#pragma once
// Which kernels the layers of a model run on one rank, and what they take together by the library
// of measured kernel times (hardware/kernels/kernel_library.hpp). Times of all layers, in
// microseconds; what lies between kernels is the cost model's (kernel_cost.hpp).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/cost/backend_choice.hpp"
#include "hardware/cost/interconnect.hpp"
#include "hardware/kernels/kernel_library.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

// What an engine chooses beside the shapes.
struct KernelChoices {
  BackendChoice backends;
  bool fp8_prefill = false;  // attention of prompts in 8 bit where the cache is
};

// Why the kernels of a layer of `model` are in no table; empty: all are.
[[nodiscard]] std::string kernels_missing(const ModelSpec& model);

// What is timed as something that was measured; a warning of every result.
[[nodiscard]] std::vector<std::string> kernel_simplifications(const ModelSpec& model);

class LayerKernels {
 public:
  // `model` passes kernels_missing().
  LayerKernels(const ModelSpec& model, const ParallelOptions& parallel, Dtype kv,
               const KernelChoices& choices, KernelLibrary library);

  // Matrix products of layers without those of latent attention, at `tokens` of this rank.
  [[nodiscard]] KernelTime products(double tokens) const;
  // Routed experts at `tokens` of all ranks that share them; with data ranks the way there and
  // back.
  [[nodiscard]] KernelTime experts(double tokens) const;
  // All-reduces of `tokens` over the tensor ranks.
  [[nodiscard]] KernelTime reduces(double tokens) const;
  // Attention and recurrence of prompts of equal length, each `tokens` behind `prefix`.
  [[nodiscard]] KernelTime prefill(double sequences, double tokens, double prefix) const;
  [[nodiscard]] KernelTime decode(double rows, double context) const;
  // What hyper-connections add at `tokens`: reading, mixing and writing all residual streams.
  [[nodiscard]] KernelTime streams(double tokens) const;
  // The output head for `rows` sampled tokens.
  [[nodiscard]] KernelTime head(double rows) const;

  // Layers by what they launch.
  struct Counts {
    std::int64_t layers = 0;
    std::int64_t expert = 0;
    std::int64_t latent = 0;
    std::int64_t sparse = 0;      // of these, with an indexer
    std::int64_t compressed = 0;  // attention of DeepSeek-V4
    std::int64_t recurrent = 0;
    std::int64_t delta = 0;       // of them, networks with a delta rule
    std::int64_t fp8_block = 0;   // that quantise activations per group
    double reduce_doublings = 0;  // of all all-reduces: log2 of their ranks
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  // Context lengths at which attention over a window or over picked tokens stops to grow.
  [[nodiscard]] const std::vector<std::int64_t>& windows() const { return windows_; }

 private:
  struct Product {
    ProductFormat format = ProductFormat::bf16;
    std::int64_t n = 0;
    std::int64_t k = 0;
    double count = 0;  // in all layers
  };
  struct Experts {
    ExpertShape shape;
    double count = 0;
  };
  template <typename Shape>
  struct Counted {
    Shape shape;
    double count = 0;
  };

  [[nodiscard]] bool quantises(const LayerKind& kind) const;
  void add_product(WeightFormat format, std::int64_t n, std::int64_t k, double count);
  void add_mlp(std::int64_t ffn, bool gated, WeightFormat format, double count);
  void add_attention(const AttentionSpec& attention, double count);
  void add_latent(const AttentionSpec& attention, double count);
  void add_compressed(const AttentionSpec& attention, double count);
  void add_indexer(const AttentionSpec& attention, double count);
  void add_recurrent(const RecurrentSpec& recurrent, double count);
  void add_experts(const MoeSpec& moe, double count);

  KernelLibrary library_;
  KernelChoices choices_;
  Sharding sharding_;
  std::int64_t hidden_ = 0;
  CacheFormat kv_ = CacheFormat::bf16;
  std::vector<Product> products_;
  Product head_;
  std::vector<Experts> experts_;
  std::vector<Counted<AttentionShape>> attentions_;
  std::vector<Counted<LatentShape>> latents_;
  std::vector<Counted<SparseShape>> sparses_;
  std::vector<Counted<CompressedShape>> compressed_;
  std::vector<Counted<IndexShape>> indexers_;
  std::vector<Counted<RecurrentShape>> recurrents_;
  std::vector<Counted<std::int64_t>> streams_;
  double reduces_ = 0;       // all-reduces of a step
  double norm_reduces_ = 0;  // of norms over all heads
  double all_to_alls_ = 0;
  Counts counts_;
  std::vector<std::int64_t> windows_;
};

}  // namespace headroom
