#include "hardware/cost/drafter.hpp"

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "hardware/cost/affine.hpp"
#include "hardware/cost/roofline.hpp"

namespace headroom::drafter_test {
namespace {

std::unique_ptr<StepCost> affine() {
  return std::make_unique<AffineCost>(AffineCoefficients{.per_step = 1'000'000,
                                                         .per_prefill_token = 100,
                                                         .per_decode_row = 3'000,
                                                         .per_context_token = 10,
                                                         .capture_sizes = {}});
}

// 4 rows, 3 drafts each, 400 tokens of context with them.
StepShape verification() {
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = 4;
  shape.draft_tokens = 12;
  shape.decode_context = 400;
  return shape;
}

}  // namespace

TEST_CASE("an affine step prices a draft like a prompt token") {
  StepPrice price;
  affine()->price(verification(), price);
  CHECK(price.base == 1'000'000 + 4 * 3'000 + 12 * 100 + 400 * 10);
}

// Layers of the step: 12000 + 1200 + 4000; of a pass over the 4 rows: 12000 + 4000. With a tenth of
// that: the first pass 1720, two further ones 1600 each. No pass has the constant of a step.
TEST_CASE("a drafter passes over the step once and over its rows for each further draft") {
  const DrafterCost cost(affine(), {.forwards = 3, .share_ppm = 100'000});
  StepPrice price;
  cost.price(verification(), price);
  CHECK(price.base == 1'017'200 + 1'720 + 2 * 1'600);
  CHECK(price.base_terms.sum() == price.base);
  CHECK(price.valid_steps == 1);
}

// The same passes where the drafts are made ahead of the step, one level less of them; with two
// branches each over 8 tokens: 12000 + 400 + 4000. A prompt of 50 tokens passes through it: 5000.
TEST_CASE("a drafter that works ahead of the step drafts for no prompt") {
  DrafterOptions options{.forwards = 3, .share_ppm = 100'000, .drafts_behind_prompts = false};
  StepPrice price;
  DrafterCost(affine(), options).price(verification(), price);
  CHECK(price.base == 1'017'200 + 1'720 + 2 * 1'600);
  options.branches = 2;
  DrafterCost(affine(), options).price(verification(), price);
  CHECK(price.base == 1'017'200 + 1'720 + 2 * 1'640);
  StepShape prompt;
  prompt.add_chunk(0, 50);
  DrafterCost(affine(), options).price(prompt, price);
  CHECK(price.base == 1'005'000 + 500);
}

TEST_CASE("an n-gram drafter costs host time only") {
  const DrafterCost cost(affine(), {.host_ticks = 77});
  StepPrice price;
  cost.price(verification(), price);
  CHECK(price.base == 1'017'200 + 77);
  CHECK(price.base_terms[CostTerm::host] == 77);
}

// Products, logits and element-wise work go by tokens: as a batch of 16 rows. Attention goes by
// rows and by what they read.
TEST_CASE("a roofline verifies drafts as tokens and reads each sequence once") {
  const Catalog catalog = Catalog::embedded();
  const RooflineCost cost(catalog.model("llama-3.1-8b"), catalog.device("h100-sxm"),
                          spec_calibration(EngineMode::async), {});
  StepShape rows;
  rows.decode_rows = rows.sampled_rows = 16;
  rows.decode_context = 400;
  StepPrice verified;
  StepPrice plain;
  cost.price(verification(), verified);
  cost.price(rows, plain);
  for (const CostTerm term :
       {CostTerm::linear_memory, CostTerm::linear_compute, CostTerm::elementwise, CostTerm::head}) {
    CHECK(verified.base_terms[term] == plain.base_terms[term]);
  }
  CHECK(verified.base_terms[CostTerm::attention_decode] ==
        plain.base_terms[CostTerm::attention_decode]);  // the data sheet has no time per row
  CHECK(verified.base_terms.sum() == verified.base);
}

}  // namespace headroom::drafter_test
