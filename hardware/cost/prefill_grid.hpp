#pragma once
// Attention of the prompts in a step, linear between the points of a grid: chunks, tokens of each
// and tokens cached before each. A point is asked of the library when a step first needs it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "hardware/cost/layer_kernels.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {

class PrefillGrid {
 public:
  // Up to so many chunks, tokens of one and tokens before it; beyond them the last line goes on.
  PrefillGrid(std::int64_t most_chunks, std::int64_t most_tokens, std::int64_t most_prefix);

  // Of `chunks` equal ones. Amounts above 0, `prefix` 0 or more. May be called by several threads.
  [[nodiscard]] Ticks at(const LayerKernels& kernels, double chunks, double tokens,
                         double prefix) const;

 private:
  struct Place {
    std::size_t low = 0;
    double share = 0;  // of the way to the next point; above 1 beyond the last
  };
  [[nodiscard]] static Place place(const std::vector<double>& axis, double at);
  [[nodiscard]] double point(const LayerKernels& kernels, std::size_t chunks, std::size_t tokens,
                             std::size_t prefix) const;

  std::vector<double> chunks_;
  std::vector<double> tokens_;
  std::vector<double> prefix_;
  std::unique_ptr<std::atomic<Ticks>[]> known_;  // 1 more than the ticks; 0: not asked yet
};

}  // namespace headroom
