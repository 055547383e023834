#include "hardware/cost/prefill_grid.hpp"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/kernel/random.hpp"

namespace headroom::prefill_grid_test {
namespace {

LayerKernels kernels_of(const char* model) {
  const Catalog catalog = Catalog::embedded();
  ParallelOptions parallel;
  parallel.sharding.tensor = 4;
  return {catalog.model(model),
          parallel,
          Dtype::bf16,
          {},
          catalog.kernel_library(catalog.device("h100-sxm"), KernelEngine::vllm)};
}

Ticks of_library(const LayerKernels& kernels, double chunks, double tokens, double prefix) {
  return static_cast<Ticks>(kernels.prefill(chunks, tokens, prefix).us * 1e3 *
                            static_cast<double>(kTicksPerNs));
}

}  // namespace

TEST_CASE("at its points the grid of prompts is the library, between them close to it") {
  const LayerKernels kernels = kernels_of("llama-3.1-70b");
  const PrefillGrid grid(256, 8192, 32'768);
  for (const double chunks : {1.0, 4.0, 64.0}) {
    for (const double tokens : {16.0, 1280.0, 8192.0}) {
      const Ticks exact = of_library(kernels, chunks, tokens, 0);
      CHECK(std::abs(grid.at(kernels, chunks, tokens, 0) - exact) <= 2);
    }
  }
  RandomStream random(3, "test/prefill");
  double sum = 0;
  constexpr int kSteps = 400;
  for (int i = 0; i < kSteps; ++i) {
    const auto chunks = static_cast<double>(random.uniform_int(1, 12));
    const auto tokens = static_cast<double>(random.uniform_int(64, 4096));
    const auto prefix =
        static_cast<double>(random.uniform_int(0, 1) * random.uniform_int(1, 16'000));
    const auto exact = static_cast<double>(of_library(kernels, chunks, tokens, prefix));
    const double error = static_cast<double>(grid.at(kernels, chunks, tokens, prefix)) / exact - 1;
    CAPTURE(chunks, tokens, prefix);
    CHECK(std::abs(error) < 0.25);
    sum += std::abs(error);
  }
  CHECK(sum / kSteps < 0.03);
}

TEST_CASE("several threads that fill one grid get what one alone gets") {
  const LayerKernels kernels = kernels_of("gpt-oss-120b");
  const auto total = [&](const PrefillGrid& grid) {
    Ticks sum = 0;
    for (int tokens = 1; tokens < 4096; tokens += 37) {
      sum += grid.at(kernels, 1 + tokens % 5, tokens, tokens % 3 * 500);
    }
    return sum;
  };
  const PrefillGrid alone(64, 8192, 8192);
  const Ticks expected = total(alone);
  const PrefillGrid shared(64, 8192, 8192);
  std::vector<Ticks> sums(4);
  std::vector<std::thread> threads;
  for (Ticks& sum : sums) threads.emplace_back([&] { sum = total(shared); });
  for (std::thread& thread : threads) thread.join();
  for (const Ticks sum : sums) CHECK(sum == expected);
}

}  // namespace headroom::prefill_grid_test
