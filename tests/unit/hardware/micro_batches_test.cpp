// A step in several forwards.
#include "hardware/cost/micro_batches.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

namespace headroom::micro_batches_test {
namespace {

// Keeps the shapes that it prices.
class Shapes final : public StepCost {
 public:
  explicit Shapes(std::vector<StepShape>& seen) : seen_(seen) {}
  void price(const StepShape& shape, StepPrice& price) const override {
    seen_.push_back(shape);
    price = StepPrice{};
    price.base = price.base_terms[CostTerm::linear_memory] = 1000;
    price.slope = price.slope_terms.attention_decode = shape.decode_rows;
  }

 private:
  std::vector<StepShape>& seen_;
};

StepShape step(std::int64_t decodes, TokenCount cached, TokenCount prompt) {
  StepShape shape;
  shape.decode_rows = decodes;
  shape.decode_context = 100 * decodes;
  if (prompt > 0) shape.add_chunk(cached, prompt);
  shape.sampled_rows = decodes + shape.chunk_rows;
  return shape;
}

}  // namespace

TEST_CASE("the micro batches of a step are its tokens, contexts and pairs") {
  std::vector<StepShape> seen;
  const MicroBatchCost cost(std::make_unique<Shapes>(seen), 512);
  StepPrice price;
  const StepShape whole = step(12, 300, 1400);
  cost.price(whole, price);
  REQUIRE(seen.size() == 3);
  CHECK(price.base == 3000);
  CHECK(price.base_terms.sum() == price.base);
  CHECK(price.slope == 12);
  CHECK(price.slope_terms.sum() == price.slope);
  CHECK(seen[0].decode_rows == 12);
  CHECK(seen[0].chunk_tokens == 500);
  CHECK(seen[0].chunk_context == 800);
  CHECK(seen[0].sampled_rows == 12);
  CHECK(seen[1].decode_rows == 0);
  CHECK(seen[1].chunk_tokens == 512);
  CHECK(seen[1].chunk_context == 1312);
  CHECK(seen[1].sampled_rows == 0);
  CHECK(seen[2].chunk_tokens == 388);
  CHECK(seen[2].chunk_context == whole.chunk_context);
  CHECK(seen[2].sampled_rows == 1);
  std::int64_t pairs = 0;
  for (const StepShape& one : seen) pairs += one.chunk_pairs_twice;
  CHECK(pairs == whole.chunk_pairs_twice);
}

TEST_CASE("prompts of several requests share the micro batches") {
  std::vector<StepShape> seen;
  const MicroBatchCost cost(std::make_unique<Shapes>(seen), 512);
  StepShape whole = step(0, 0, 400);
  for (int i = 0; i < 3; ++i) whole.add_chunk(0, 400);
  whole.sampled_rows = 4;
  StepPrice price;
  cost.price(whole, price);
  REQUIRE(seen.size() == 4);
  TokenCount tokens = 0;
  for (const StepShape& one : seen) {
    tokens += one.chunk_tokens;
    CHECK(one.chunk_rows == 1);
  }
  CHECK(tokens == whole.chunk_tokens);
  CHECK(seen.back().sampled_rows == 4);
}

TEST_CASE("what fits into one micro batch costs what it costs") {
  std::vector<StepShape> seen;
  const MicroBatchCost cost(std::make_unique<Shapes>(seen), 512);
  StepPrice price;
  cost.price(step(512, 0, 0), price);
  cost.price(step(12, 9000, 500), price);
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].chunk_tokens == 500);
}

}  // namespace headroom::micro_batches_test
