#include "tests/support/paired_lengths.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

constexpr std::size_t kBatch = 256;

}  // namespace

PairedLengths::PairedLengths(const LengthOptions& prompt, const LengthOptions& output,
                             double correlation, std::uint64_t seed)
    : prompts_(prompt, seed, "lengths/prompt"),
      outputs_(output, seed, "lengths/output"),
      copula_(correlation),
      independent_(correlation == 0.0) {}

void PairedLengths::fill(std::span<std::int32_t> prompts, std::span<std::int32_t> outputs) {
  HEADROOM_CHECK(prompts.size() == outputs.size(), "as many prompts as outputs");
  if (independent_) {
    prompts_.fill(prompts);
    outputs_.fill(outputs);
    return;
  }
  std::array<double, kBatch> draws{};
  for (std::size_t begin = 0; begin < prompts.size(); begin += kBatch) {
    const std::size_t count = std::min(kBatch, prompts.size() - begin);
    prompts_.fill(prompts.subspan(begin, count), std::span(draws).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      const double independent = outputs_.draw();
      outputs[begin + i] = outputs_.at(copula_(draws[i], independent));
    }
  }
}

}  // namespace headroom
