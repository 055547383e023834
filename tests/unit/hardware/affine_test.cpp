#include "hardware/cost/affine.hpp"

#include <catch2/catch.hpp>

#include "hardware/cost/capture_sizes.hpp"
#include "sim/engines/vllm/capture_sizes.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::affine_test {

TEST_CASE("an affine step is a + c prompt tokens + b rows + kappa context tokens") {
  const AffineCost cost({.per_step = 1000,
                         .per_prefill_token = 7,
                         .per_decode_row = 30,
                         .per_context_token = 2,
                         .capture_sizes = {}});
  StepShape shape;
  shape.decode_rows = 5;
  shape.decode_context = 400;
  shape.chunk_rows = 1;
  shape.chunk_tokens = 11;
  StepPrice price;
  cost.price(shape, price);
  CHECK(price.base == 1000 + 7 * 11 + 30 * 5 + 2 * 400);
  CHECK(price.slope == 2 * 5);
  CHECK(price.base_terms.sum() == price.base);
  CHECK(price.slope_terms.sum() == price.slope);
  CHECK(price.valid_steps == kManySteps);
}

TEST_CASE("affine padding applies to decode-only steps") {
  const AffineCost cost({.per_step = 1,
                         .per_prefill_token = 0,
                         .per_decode_row = 10,
                         .per_context_token = 0,
                         .capture_sizes = {1, 2, 4, 8}});
  StepShape shape;
  shape.decode_rows = 5;
  StepPrice price;
  cost.price(shape, price);
  CHECK(price.base == 1 + 80);
  shape.chunk_rows = 1;
  cost.price(shape, price);
  CHECK(price.base == 1 + 50);
}

TEST_CASE("a step that costs nothing or less is refused") {
  CHECK_THROWS_AS(AffineCost({.per_step = 0,
                              .per_prefill_token = 0,
                              .per_decode_row = 1,
                              .per_context_token = 0,
                              .capture_sizes = {}}),
                  ConfigError);
  CHECK_THROWS_AS(AffineCost({.per_step = 5,
                              .per_prefill_token = -1,
                              .per_decode_row = 1,
                              .per_context_token = 0,
                              .capture_sizes = {}}),
                  ConfigError);
}

TEST_CASE("vLLM captures 51 sizes up to 512 and pads to the next one") {
  const std::vector<std::int32_t> sizes = vllm_capture_sizes(256, 2048);
  CHECK(sizes.size() == 51);
  CHECK(padded_rows(17, sizes) == 24);
  CHECK(padded_rows(130, sizes) == 136);
  CHECK(padded_rows(257, sizes) == 272);
  CHECK(padded_rows(512, sizes) == 512);
  CHECK(padded_rows(513, sizes) == 513);  // no graph, no padding
  CHECK(vllm_capture_sizes(128, 2048).back() == 256);
  CHECK(vllm_capture_sizes(256, 100).back() == 96);
}

}  // namespace headroom::affine_test
