#pragma once
// Measured times of the kernels of one layer of a model, by what drives each: a folder as
// LLMServingSim's profiler writes it (github.com/casys-kaist/LLMServingSim, profiler/README.md).
//   dense.csv         layer,tokens,time_us         matrices, norms, activations
//   attention.csv     prefill_chunk,kv_prefill,n_decode,kv_decode,time_us
//   per_sequence.csv  layer,sequences,time_us      output head and sampler
//   moe.csv           ep,tokens,activated_experts,time_us   of layers with experts, if any
// One more GPU per layer changes shapes, not the files: each tensor-parallel size has a folder.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Time over one quantity, linear between the measured points. Below the first it stays at the
// first. Beyond the last it grows as from half of that quantity to the last, and never falls:
// neighbours are too close to tell growth from noise and from the steps of whole tiles.
class TimeCurve {
 public:
  // `at` above that of the point before. DataError is the reader's.
  void add(double at, double us);
  [[nodiscard]] double us(double at) const;

 private:
  std::vector<double> at_;
  std::vector<double> us_;
};

// Where `at` lies on an ascending axis: between points `low` and `low + 1`, or on the only one.
struct AxisPlace {
  std::size_t low = 0;
  double share = 0;  // of the way to the next; above 1 beyond the axis, never below 0
};
[[nodiscard]] AxisPlace place_on(const std::vector<double>& axis, double at);

// Times on a full grid; the last axis varies fastest.
struct TimeGrid {
  std::vector<std::vector<double>> axes;
  std::vector<double> us;

  // Multilinear between the points that enclose `places` (one per axis). Beyond an axis the same
  // function continues, but never below its value at the edge of the grid, so it is always above 0.
  [[nodiscard]] double at(std::span<const AxisPlace> places) const;
};

struct KernelTimes {
  std::string folder;
  std::map<std::string, TimeCurve, std::less<>> dense;         // by tokens of the step
  std::map<std::string, TimeCurve, std::less<>> per_sequence;  // by sequences that sample
  TimeGrid decode;   // decoding sequences, tokens of context of each
  TimeGrid prefill;  // tokens of a chunk, tokens cached before it
  TimeGrid mixed;    // both: chunk, cached, sequences, context
  TimeGrid experts;  // tokens, distinct experts; no axes: not measured
};

// What the profiler recorded beside the times, from meta.yaml.
struct KernelTimesMeta {
  std::string model;  // repository name
  std::string gpu;
};

// ConfigError: no such folder or file. DataError with file:line: a bad file, a grid with gaps.
[[nodiscard]] KernelTimes read_kernel_times(const std::filesystem::path& folder);
// From the meta.yaml in `folder` or, if there is none, above it. ConfigError: there is neither, or
// it does not name the model and the GPU, without which the times mean nothing.
[[nodiscard]] KernelTimesMeta read_kernel_times_meta(const std::filesystem::path& folder);
// `root` itself, or its tp<N> for `tensor_parallel_size` where it has such folders.
[[nodiscard]] std::filesystem::path kernel_times_folder(const std::filesystem::path& root,
                                                        std::int64_t tensor_parallel_size);

}  // namespace headroom
