// Decodes by fitted constants, steps with prompts by measured kernels.
#include "hardware/cost/prompt_kernels.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "hardware/catalog.hpp"
#include "hardware/cost/affine.hpp"
#include "hardware/cost/factory.hpp"

namespace headroom::prompt_kernels_test {
namespace {

std::unique_ptr<StepCost> affine(Ticks step, Ticks token, Ticks row) {
  return std::make_unique<AffineCost>(AffineCoefficients{
      .per_step = step, .per_prefill_token = token, .per_decode_row = row, .capture_sizes = {}});
}

StepPrice price(const StepCost& cost, std::int64_t decodes, TokenCount prompt) {
  StepShape shape;
  shape.decode_rows = decodes;
  shape.decode_context = 100 * decodes;
  if (prompt > 0) shape.add_chunk(0, prompt);
  shape.sampled_rows = decodes + shape.chunk_rows;
  StepPrice shown;
  cost.price(shape, shown);
  CHECK(shown.base_terms.sum() == shown.base);
  CHECK(shown.slope_terms.sum() == shown.slope);
  return shown;
}

CostChoice choice_of(const std::string& model, const std::string& device, std::int64_t tensor = 1) {
  const Catalog catalog = Catalog::embedded();
  CostRequest request;
  request.engine = "vllm";
  request.kernels = KernelEngine::vllm;
  request.roofline.parallel.sharding.tensor = tensor;
  return make_step_cost(catalog, catalog.model(model), catalog.device(device), request);
}

}  // namespace

TEST_CASE("decodes cost what they cost, prompts what their kernels take and the step beside them") {
  const PromptKernelsCost cost(affine(1000, 1, 50), affine(400, 7, 20));
  CHECK(price(cost, 8, 0).base == 1400);
  // Kernels 400 + 700; a lone decode takes 1,050 where its kernels take 420.
  CHECK(price(cost, 0, 100).base == 1100 + 630);
  // Eight take 1,400, their kernels 560.
  CHECK(price(cost, 8, 100).base == 1260 + 840);
}

TEST_CASE("a step with prompts never takes less than its kernels") {
  const PromptKernelsCost cost(affine(100, 1, 10), affine(400, 7, 20));
  CHECK(price(cost, 8, 0).base == 180);
  CHECK(price(cost, 8, 100).base == 1260);
}

TEST_CASE("constants of decodes alone take prompts from measured kernels, where there are any") {
  const auto prompts_by_kernels = [](const CostChoice& choice) {
    return choice.source.find("steps with prompts: kernel times of rtxpro6000-server") !=
           std::string::npos;
  };
  const CostChoice spark = choice_of("qwen3-8b", "gb10");
  CHECK(spark.calibration == "gb10-vllm-async");
  CHECK(prompts_by_kernels(spark));
  CHECK(prompts_by_kernels(choice_of("qwen3-8b", "gb10-2025")));
  // Attention in MXFP4 was not measured; two devices are two machines.
  CHECK_FALSE(prompts_by_kernels(choice_of("gpt-oss-120b-mxfp4-dense", "gb10")));
  CHECK_FALSE(prompts_by_kernels(choice_of("qwen3-8b", "gb10", 2)));
}

}  // namespace headroom::prompt_kernels_test
