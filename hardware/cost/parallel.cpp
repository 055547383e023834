#include "hardware/cost/parallel.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

std::int64_t part(std::int64_t whole, std::int64_t parts) { return (whole + parts - 1) / parts; }

// Of all layers; the rest of a step is not divided by stages.
constexpr CostTerm kLayerTerms[] = {CostTerm::linear_memory,    CostTerm::linear_compute,
                                    CostTerm::elementwise,      CostTerm::attention_prefill,
                                    CostTerm::attention_decode, CostTerm::communication};

}  // namespace

StepShape largest_part(const StepShape& shape, std::int64_t parts, std::int64_t chunk_parts) {
  StepShape largest;
  if (shape.decode_rows > 0) {
    const std::int64_t rows = part(shape.decode_rows, parts);
    largest.decode_rows = rows;
    // A step later each row has one token more, here as in the whole.
    largest.decode_context = shape.decode_context / shape.decode_rows * rows +
                             shape.decode_context % shape.decode_rows * rows / shape.decode_rows;
    largest.draft_tokens = part(shape.draft_tokens, parts);
  }
  if (shape.chunk_rows > 0) {
    largest.chunk_rows = part(shape.chunk_rows, chunk_parts);
    largest.chunk_tokens = part(shape.chunk_tokens, chunk_parts);
    largest.chunk_pairs_twice = part(shape.chunk_pairs_twice, chunk_parts);
    // Pieces of one chunk each read all before them.
    largest.chunk_context = part(shape.chunk_context * largest.chunk_rows, shape.chunk_rows);
  }
  largest.sampled_rows = std::min(shape.sampled_rows, largest.decode_rows + largest.chunk_rows);
  return largest;
}

PipelineCost::PipelineCost(std::unique_ptr<StepCost> chain, PipelineOptions options)
    : chain_(std::move(chain)), options_(std::move(options)) {
  for (const std::int64_t layers : options_.layers) all_layers_ += layers;
  HEADROOM_CHECK(options_.layers.size() > 1 && all_layers_ > 0, "a pipeline of one stage");
}

Ticks PipelineCost::hand_over(const StepShape& shape) const {
  const TokenCount tokens = shape.decode_tokens() + shape.chunk_tokens;
  return options_.hand_over.step + options_.hand_over.token * tokens;
}

void PipelineCost::price(const StepShape& shape, StepPrice& price) const {
  chain_->price(shape, price);
  const Ticks sent = hand_over(shape);
  price.base_terms[CostTerm::communication] += sent;
  price.base += sent;
}

bool PipelineCost::split(const StepShape& shape, const StepPrice& price, StageTimes& times) const {
  times.prepare = price.base_terms[CostTerm::step_overhead];
  times.hand_over_in_all = hand_over(shape);
  times.host = options_.host_step + options_.host_row * (shape.decode_rows + shape.chunk_rows);
  TickSum whole = -times.hand_over_in_all;
  for (const CostTerm term : kLayerTerms) whole += price.base_terms[term];
  times.busy.resize(options_.layers.size());
  // Rounded so that the stages together take what all layers take.
  std::int64_t layers = 0;
  TickSum before = 0;
  for (std::size_t stage = 0; stage < times.busy.size(); ++stage) {
    layers += options_.layers[stage];
    const TickSum until = whole * layers / all_layers_;
    times.busy[stage] = static_cast<Ticks>(until - before);
    before = until;
  }
  times.busy.back() += price.base_terms[CostTerm::head];
  return true;
}

DataParallelCost::DataParallelCost(std::unique_ptr<StepCost> rank, std::int64_t ranks)
    : rank_(std::move(rank)), ranks_(ranks) {
  HEADROOM_CHECK(ranks > 1, "data parallelism of one rank");
}

void DataParallelCost::price(const StepShape& shape, StepPrice& price) const {
  if (shape.all_rank_tokens > 0) return rank_->price(shape, price);
  const std::int64_t with_prompts = std::clamp<std::int64_t>(shape.chunk_rows, 1, ranks_);
  StepShape rank = largest_part(shape, ranks_, with_prompts);
  rank.all_rank_tokens = shape.decode_tokens() + shape.chunk_tokens;
  rank_->price(rank, price);
}

}  // namespace headroom
