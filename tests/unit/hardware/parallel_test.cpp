#include "hardware/cost/parallel.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "hardware/catalog.hpp"
#include "hardware/cost/affine.hpp"
#include "hardware/cost/factory.hpp"
#include "sim/kernel/random.hpp"

namespace headroom::parallel_test {
namespace {

// Through all stages: 60 of overhead, 500 per decoding row, 10 per token of its context, 3 per
// prompt token.
std::unique_ptr<StepCost> chain() {
  return std::make_unique<AffineCost>(AffineCoefficients{.per_step = 60,
                                                         .per_prefill_token = 3,
                                                         .per_decode_row = 500,
                                                         .per_context_token = 10,
                                                         .capture_sizes = {}});
}

StepShape decodes(std::int64_t rows, TokenCount context) {
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = rows;
  shape.decode_context = context;
  return shape;
}

PipelineOptions four_stages() {
  PipelineOptions options;
  options.layers = {4, 4, 4, 4};
  return options;
}

StepPrice priced(const StepCost& cost, const StepShape& shape) {
  StepPrice price;
  cost.price(shape, price);
  CHECK(price.base_terms.sum() == price.base);
  CHECK(price.slope_terms.sum() == price.slope);
  return price;
}

}  // namespace

TEST_CASE("the largest part of a step grows by a token per row, as the whole does") {
  const StepShape now = largest_part(decodes(10, 1007), 4, 1);
  CHECK(now.decode_rows == 3);                        // of 3, 3, 2, 2
  CHECK(now.decode_context == 100 * 3 + 7 * 3 / 10);  // each row 100, and its share of 7
  CHECK(largest_part(decodes(10, 1017), 4, 1).decode_context == now.decode_context + 3);
}

TEST_CASE("chunks are dealt out to the parts that hold prompts") {
  StepShape shape = decodes(4, 40);
  shape.chunk_rows = 1;
  shape.chunk_tokens = 250;
  shape.chunk_context = 350;  // 100 cached
  shape.chunk_pairs_twice = 250 * (200 + 250);
  shape.sampled_rows = 5;
  const StepShape part = largest_part(shape, 4, 3);
  CHECK(part.chunk_rows == 1);
  CHECK(part.chunk_tokens == 84);    // 250 / 3
  CHECK(part.chunk_context == 350);  // the last piece reads all before it
  CHECK(part.chunk_pairs_twice == 37'500);
  CHECK(part.sampled_rows == 2);
}

TEST_CASE("the price of a pipeline is that of all stages, one behind the other") {
  PipelineOptions options = four_stages();
  options.hand_over = {7, 2};
  const StepPrice price = priced(PipelineCost(chain(), options), decodes(1, 100));
  CHECK(price.base == 60 + 500 + 1000 + 7 + 2);
  CHECK(price.slope == 10);
  CHECK(price.base_terms[CostTerm::communication] == 9);
}

TEST_CASE("a price is split by the layers of the stages, and host time is beside it") {
  PipelineOptions options = four_stages();
  options.layers = {8, 3, 3, 2};
  options.hand_over = {7, 2};
  options.host_step = 900;
  options.host_row = 50;
  const PipelineCost cost(chain(), options);
  const StepShape shape = decodes(8, 803);  // layers: 8 x 500 + 803 x 10 = 12,030
  const StepPrice price = priced(cost, shape);
  StageTimes times;
  REQUIRE(cost.split(shape, price, times));
  CHECK(times.busy == std::vector<Ticks>{6015, 2255, 2256, 1504});
  CHECK(times.prepare == 60);
  CHECK(times.hand_over_in_all == 7 + 8 * 2);
  CHECK(times.host == 900 + 8 * 50);
  Ticks sum = times.prepare + times.hand_over_in_all;
  for (const Ticks busy : times.busy) sum += busy;
  CHECK(sum == price.base);
}

TEST_CASE("an engine's step is that of a rank with an equal share, a rank's step its own") {
  struct Asked final : StepCost {
    void price(const StepShape& shape, StepPrice& price) const override {
      asked = shape;
      price.base = 1;
    }
    mutable StepShape asked;
  };
  auto rank = std::make_unique<Asked>();
  const Asked& seen = *rank;
  const DataParallelCost cost(std::move(rank), 4);
  StepShape shape = decodes(9, 900);
  shape.chunk_rows = 2;
  shape.chunk_tokens = shape.chunk_context = 64;
  StepPrice price;
  cost.price(shape, price);
  CHECK(seen.asked.decode_rows == 3);
  CHECK(seen.asked.chunk_rows == 1);  // a prompt is on one rank
  CHECK(seen.asked.chunk_tokens == 32);
  CHECK(seen.asked.all_rank_tokens == 9 + 64);
  StepShape own = decodes(5, 500);
  own.all_rank_tokens = 17;
  cost.price(own, price);
  CHECK(seen.asked.decode_rows == 5);
  CHECK(seen.asked.decode_context == 500);
  CHECK(seen.asked.all_rank_tokens == 17);
}

TEST_CASE("prices of stages and ranks may be cut at any step") {
  const Catalog catalog = Catalog::embedded();
  for (const bool data : {false, true}) {
    for (const char* model : {"gpt-oss-120b", "qwen3-30b-a3b", "llama-3.1-70b"}) {
      const bool dense = model == std::string("llama-3.1-70b");
      if (data && dense) continue;
      RooflineOptions options;
      options.parallel.sharding.pipeline = data ? 1 : 3;
      options.parallel.sharding.data = data ? 4 : 1;
      options.parallel.sharding.expert_parallel = data;
      const auto cost = make_roofline_cost(catalog.model(model), catalog.device("h100-sxm"),
                                           catalog.calibration("h100-sxm-vllm-sync"), options);
      RandomStream random(7, "cuts");
      for (int i = 0; i < 300; ++i) {
        const auto rows = random.uniform_int(1, 200);
        StepShape shape = decodes(rows, rows + random.uniform_int(0, 300'000));
        const StepPrice first = priced(*cost, shape);
        const StepCount steps = std::min<StepCount>(first.valid_steps - 1, 200);
        if (steps < 1) continue;
        const StepCount cut = random.uniform_int(1, steps);
        shape.decode_context += rows * cut;
        CAPTURE(model, rows, cut);
        CHECK(priced(*cost, shape).base == first.base + cut * first.slope);
      }
    }
  }
}

}  // namespace headroom::parallel_test
