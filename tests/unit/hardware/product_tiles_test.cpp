#include "hardware/cost/product_tiles.hpp"

#include <catch2/catch.hpp>

#include <cmath>

#include "hardware/catalog.hpp"
#include "hardware/cost/roofline.hpp"

namespace headroom {
namespace {

TEST_CASE("without constants of their own, batches cost as their tokens do") {
  const ProductTiles none(spec_calibration(EngineMode::sync));
  for (const double tokens : {0.0, 1.0, 7.0, 33.0, 2048.0}) {
    CHECK(none.tokens_worked(tokens) == tokens);
    CHECK(none.experts_read(tokens, 0.4, 8, 128) == (tokens == 0 ? 0 : 0.4));
  }
  CHECK_FALSE(none.has_experts());
}

TEST_CASE("few tokens take kernels for vectors, more take whole tiles") {
  Calibration row = spec_calibration(EngineMode::sync);
  row.compute_share = 0.6;
  row.vector_tokens = 8;
  row.vector_compute_share = 0.2;
  row.tile_tokens = 32;
  row.tile_extra_tokens = 10;
  const ProductTiles tiles(row);
  CHECK(tiles.tokens_worked(1) == Approx(3));
  CHECK(tiles.tokens_worked(8) == Approx(24));
  CHECK(tiles.tokens_worked(9) == Approx(32 + 10));
  CHECK(tiles.tokens_worked(32) == Approx(32 + 10));
  CHECK(tiles.tokens_worked(33) == Approx(64 + 10));
}

TEST_CASE("an expert that few tokens reach takes a whole tile") {
  Calibration row = spec_calibration(EngineMode::sync);
  row.expert_tile_tokens = 128;
  const ProductTiles tiles(row);
  // 4 of 32 experts. 64 tokens: all are reached, each takes 32 columns, 4 times its tokens.
  CHECK(tiles.expert_tokens_worked(64, 1, 4, 32) == Approx(32 * 32 / 4));
  // 256 tokens: 32 of an expert in a tile of 128.
  CHECK(tiles.expert_tokens_worked(256, 1, 4, 32) == Approx(128 * 32 / 4));
  // 4096: 512 of an expert, in 4 tiles and a half on average.
  CHECK(tiles.expert_tokens_worked(4096, 1, 4, 32) == Approx(4.5 * 128 * 32 / 4));
  // Of few tokens the tile has 8 columns; a third of the experts is reached.
  CHECK(tiles.expert_tokens_worked(3, 0.33, 4, 32) == Approx(0.33 * 8 * 32 / 4));
  CHECK(tiles.experts_read(3, 0.33, 4, 32) == Approx(0.33));
}

TEST_CASE("tokens of a small batch may read their experts each for itself") {
  Calibration row = spec_calibration(EngineMode::sync);
  row.experts_apart_tokens = 31;
  row.vector_compute_share = 0.5;
  const ProductTiles tiles(row);
  CHECK(tiles.has_experts());
  CHECK(tiles.experts_read(31, 0.8, 8, 128) == Approx(31 * 8.0 / 128));
  CHECK(tiles.experts_read(32, 0.8, 8, 128) == Approx(0.8));
  CHECK(tiles.expert_tokens_worked(31, 0.8, 8, 128) == Approx(62));
  CHECK(tiles.expert_tokens_worked(32, 0.8, 8, 128) == Approx(32));
}

TEST_CASE("a step pays for the tiles of its experts") {
  // Qwen3-30B-A3B at 128 tokens on an RTX 3090: 128 experts have 8 tokens each, and take 32: 4
  // times the products. 48 layers of 3 x 2048 x 768.
  const Catalog catalog = Catalog::embedded();
  Calibration row = spec_calibration(EngineMode::sync);
  row.shape = RooflineShape::sum;
  StepShape shape;
  shape.chunk_rows = shape.sampled_rows = 1;
  shape.chunk_tokens = shape.chunk_context = 128;
  const DeviceSpec& device = catalog.device("rtx3090");
  const auto ms = [&] {
    StepPrice price;
    RooflineCost(catalog.model("qwen3-30b-a3b"), device, row, {}).price(shape, price);
    return static_cast<double>(price.base) / 1048576e6;
  };
  const double plain = ms();
  row.expert_tile_tokens = 128;
  const double of_one_token = 48.0 * 8 * 3 * 2048 * 768 * 2 / device.fp16_flops * 1e3;
  const double reached = 1 - std::exp(128 * std::log(1 - 8.0 / 128));
  CHECK(ms() - plain == Approx(128 * of_one_token * (4 * reached - 1)).epsilon(1e-3));
}

TEST_CASE("latent queries of a decode are vectors") {
  // DeepSeek-V3 on one H200: 61 layers, 128 heads of 576 + 512 elements for each context token.
  const Catalog catalog = Catalog::embedded();
  Calibration row = spec_calibration(EngineMode::sync);
  row.vector_compute_share = 0.01;  // so that the products alone count
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = 1;
  shape.decode_context = 1000;
  StepPrice price;
  const DeviceSpec& device = catalog.device("h200-sxm");
  RooflineCost(catalog.model("deepseek-v3"), device, row, {}).price(shape, price);
  CHECK(static_cast<double>(price.base_terms[CostTerm::attention_decode]) / 1048576e6 ==
        Approx(1000 * 61 * 2.0 * 1088 * 128 / (0.01 * device.fp16_flops) * 1e3).epsilon(1e-2));
}

}  // namespace
}  // namespace headroom
