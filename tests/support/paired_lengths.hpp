#pragma once
// Prompt and output lengths that depend on each other, made of two samplers and a copula: what
// workloads/length_pair.hpp is compared with. Both keep their laws, and the prompts are the same at
// every correlation.

#include <cstdint>
#include <span>

#include "workloads/gaussian_copula.hpp"
#include "workloads/lengths.hpp"

namespace headroom {

class PairedLengths {
 public:
  // `correlation` of the Gaussian copula, -1 .. 1; 0 draws exactly what two samplers with the
  // streams "lengths/prompt" and "lengths/output" draw. ConfigError.
  PairedLengths(const LengthOptions& prompt, const LengthOptions& output, double correlation,
                std::uint64_t seed);

  // The next pairs, one draw of each stream for a pair. As many of both.
  void fill(std::span<std::int32_t> prompts, std::span<std::int32_t> outputs);

 private:
  LengthSampler prompts_;
  LengthSampler outputs_;
  GaussianCopula copula_;
  bool independent_;
};

}  // namespace headroom
