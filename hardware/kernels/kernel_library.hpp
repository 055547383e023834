#pragma once
// Kernel times measured on eight NVIDIA devices in vLLM, SGLang and TensorRT-LLM, reduced to
// surfaces that are part of the program (hardware/catalog/kernels, with the source and its licence
// in NOTICE; made by scripts/kernel_surfaces.py). docs/kernels.md says how well they reproduce the
// measurements.
//
// Every query returns microseconds of one kernel (or block) of one layer on one device, in a step
// that is not held up by launches: what engines add per launch is the cost model's.
//
// Between measured points the time per unit of ideal time (bytes over bandwidth plus operations
// over peak rate plus a constant) is interpolated in the logarithm of every axis. Outside of them
// that ratio stays what it is at the edge, so times go on with bytes and operations. The same
// ratio carries a time to a shape, a number format or a device that was not measured.
//
// Queries are const and may run on several threads. A class of kernels is parsed by the first
// query for it, in 3 to 20 ms; after that a query takes 0.3 us, or 3 us for a shape that was not
// measured.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/device.hpp"
#include "hardware/kernels/kernel_shapes.hpp"
#include "sim/kernel/embedded_file.hpp"

namespace headroom {

// Where a time comes from, from best to worst.
enum class Fit : std::uint8_t {
  measured,              // a point of the table
  interpolated,          // between points
  scaled_from_relative,  // the device has no tables: those of the nearest one, by ideal time
  extrapolated           // beyond the table, or from another shape or format of it
};
[[nodiscard]] std::string_view name_of(Fit fit);

struct KernelTime {
  double us = 0;
  Fit fit = Fit::measured;

  // Sum; as bad as the worse of the two.
  KernelTime& operator+=(const KernelTime& other);
  [[nodiscard]] KernelTime times(double count) const { return {us * count, fit}; }
};

// The files of hardware/catalog/kernels: "<device id>.txt" each.
[[nodiscard]] std::span<const EmbeddedFile> kernel_files();

class KernelLibrary {
 public:
  // Tables of `device`, of the one that its row names (DeviceSpec::kernels_of), or of its nearest
  // relative: same architecture, then the closest compute capability, then the closest bandwidth.
  // ConfigError, listing the systems that are present: none of them has any. DataError with
  // file:line from the constructor or from the first query of a class: damaged text.
  KernelLibrary(const DeviceSpec& device, KernelEngine engine,
                std::span<const EmbeddedFile> files = kernel_files());
  // Copies share what has been parsed.

  // Catalog ids of the devices with tables, sorted.
  [[nodiscard]] static std::vector<std::string> systems(
      std::span<const EmbeddedFile> files = kernel_files());
  // Whether the constructor finds tables, of this device or another.
  [[nodiscard]] static bool has_any_for(const DeviceSpec& device,
                                        std::span<const EmbeddedFile> files = kernel_files());
  // Whether this device has tables, names whose to take, or has memory of its own and a relative of
  // its generation (8.x, 9.x, ... of compute capability): what is scaled from farther away tells
  // less than constants of any device (docs/kernels.md).
  [[nodiscard]] static bool is_near(const DeviceSpec& device,
                                    std::span<const EmbeddedFile> files = kernel_files());
  // Catalog id of the device whose tables are used, and whether it is another one.
  [[nodiscard]] const std::string& system() const;
  [[nodiscard]] bool is_relative() const;

  // Whether sparse attention was measured on this device, in any engine; the queries for it are
  // ConfigErrors otherwise. The other classes always were, but for recurrent layers.
  [[nodiscard]] bool has_sparse() const;
  // Catalog id of the device whose recurrent layers over prompts are used: that of system(), or the
  // nearest one of any architecture where they were measured. "": nowhere, and the queries are
  // ConfigErrors.
  [[nodiscard]] std::string recurrent_system() const;

  // All queries below. Sizes of a shape: 1 or more. Tokens, rows, sequences: above 0; they may be
  // means, so they need not be whole. Anything else is a caller's bug (InternalError).
  // ConfigError: nothing of the class was measured on the device (sparse attention on A100, L40S
  // and RTX PRO 6000).

  // Product of m x k activations with k x n weights. The fastest release of all engines: some of
  // the tables hold host launches instead of the kernel. Weights that the device's units cannot
  // multiply (int4; fp8 before Ada, nvfp4 before Blackwell) run in vLLM and SGLang as fast as
  // Marlin's experts do.
  [[nodiscard]] KernelTime linear(ProductFormat format, double m, std::int64_t n, std::int64_t k,
                                  ProductKernel kernel = ProductKernel::fastest) const;
  // Whether linear() of such weights with `kernel` is Marlin's.
  [[nodiscard]] bool runs_marlin(ProductFormat format, ProductKernel kernel) const;

  // Causal attention of `sequences` prompts, `tokens` new ones each behind `prefix` cached ones
  // (0 or more): the time of the whole less the time of the prefix.
  [[nodiscard]] KernelTime prefill_attention(const AttentionShape& shape, double sequences,
                                             double tokens, double prefix = 0) const;
  // One new token for each of `rows` sequences with `context` tokens each, the new one included.
  // More than 8 KV heads were hardly measured: extrapolated from 8.
  [[nodiscard]] KernelTime decode_attention(const AttentionShape& shape, double rows,
                                            double context) const;

  // Routed experts of one layer for `tokens` tokens of all devices that share the experts. The
  // fastest of the tables that hold the shape: engines take over each other's kernels. A shape that
  // is not in it is scaled by ideal time from the one whose work per expert is closest. Marlin with
  // mxfp4 weights: rate of the int4 rows at the same tokens per expert.
  [[nodiscard]] KernelTime experts(const ExpertShape& shape, double tokens) const;

  // Latent attention: the whole block with its matrix products (SGLang: composed of kernel and
  // products). `prefix` as in prefill_attention.
  [[nodiscard]] KernelTime latent_prefill(const LatentShape& shape, double sequences, double tokens,
                                          double prefix = 0) const;
  [[nodiscard]] KernelTime latent_decode(const LatentShape& shape, double rows,
                                         double context) const;

  // The same with an indexer in front: whole block.
  [[nodiscard]] KernelTime sparse_prefill(const SparseShape& shape, double sequences, double tokens,
                                          double prefix = 0) const;
  [[nodiscard]] KernelTime sparse_decode(const SparseShape& shape, double rows,
                                         double context) const;

  // Indexers and attention over compressed entries without their products, which no table has: as
  // far above ideal time as the block of sparse attention is with as many heads, tokens and prefix.
  [[nodiscard]] KernelTime index_prefill(const IndexShape& shape, double sequences, double tokens,
                                         double prefix = 0) const;
  [[nodiscard]] KernelTime index_decode(const IndexShape& shape, double rows, double context) const;
  [[nodiscard]] KernelTime compressed_prefill(const CompressedShape& shape, double sequences,
                                              double tokens, double prefix = 0) const;
  [[nodiscard]] KernelTime compressed_decode(const CompressedShape& shape, double rows,
                                             double context) const;

  // What `streams` residual streams of width `hidden` in one layer take more than one.
  [[nodiscard]] KernelTime hyper_connections(std::int64_t streams, std::int64_t hidden,
                                             double tokens) const;

  // Recurrent layers. kimi_delta was not measured: extrapolated from gated_delta.
  [[nodiscard]] KernelTime recurrent_prefill(const RecurrentShape& shape, double sequences,
                                             double tokens) const;
  [[nodiscard]] KernelTime recurrent_decode(const RecurrentShape& shape, double rows) const;

  // All-reduce of `elements` bf16 numbers over `gpus` devices of one node; 1 GPU takes 0. Captured:
  // inside a graph, without its launch. Above 256k elements the smaller of the engine's own kernel
  // and NCCL. More devices than measured: by the traffic of a ring.
  [[nodiscard]] KernelTime all_reduce(std::int64_t gpus, double elements, bool captured) const;
  // NCCL; `elements` is the larger side (all_gather: the result; reduce_scatter: the input).
  [[nodiscard]] KernelTime nccl(Collective operation, std::int64_t gpus, double elements) const;

  // One sentence per class: engine, release and number of points, for reports.
  [[nodiscard]] std::vector<std::string> sources() const;

 private:
  struct Tables;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace headroom
