#include "hardware/cost/parallel.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

std::int64_t part(std::int64_t whole, std::int64_t parts) { return (whole + parts - 1) / parts; }

// What a step costs while the batch stays the same: base + i * slope.
struct Line {
  Ticks base = 0;
  Ticks slope = 0;
};

// The larger one; `valid_steps` ends where the other one overtakes it.
Line larger(const Line& a, const Line& b, StepCount& valid_steps) {
  const bool first = a.base > b.base || (a.base == b.base && a.slope >= b.slope);
  const Line& high = first ? a : b;
  const Line& low = first ? b : a;
  if (low.slope > high.slope) {
    const StepCount until = (high.base - low.base) / (low.slope - high.slope) + 1;
    valid_steps = std::min(valid_steps, until);
  }
  return high;
}

// Where the layers' time of a batch is split by stages, in the same way at every step of a run:
// first what does not grow, then what each further token of all sequences adds.
class LayerTime {
 public:
  LayerTime(const StepPrice& price, const StepShape& batch, std::int64_t layers) : layers_(layers) {
    const CostTerms& terms = price.base_terms;
    const Ticks whole = terms[CostTerm::linear_memory] + terms[CostTerm::linear_compute] +
                        terms[CostTerm::elementwise] + terms[CostTerm::attention_prefill] +
                        terms[CostTerm::attention_decode] + terms[CostTerm::communication];
    growing_ = price.slope_terms.attention_decode;
    grown_ = batch.decode_rows > 0 ? batch.decode_context / batch.decode_rows : 0;
    still_ = whole - growing_ * grown_;
  }

  [[nodiscard]] Line of(std::int64_t layers) const {
    const Ticks slope = share(growing_, layers);
    return {share(still_, layers) + slope * grown_, slope};
  }

 private:
  [[nodiscard]] Ticks share(Ticks ticks, std::int64_t layers) const {
    return static_cast<Ticks>(static_cast<TickSum>(ticks) * layers / layers_);
  }

  std::int64_t layers_;
  Ticks growing_ = 0;
  Ticks still_ = 0;
  TokenCount grown_ = 0;
};

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

PipelineCost::PipelineCost(std::unique_ptr<StepCost> chain, const PipelineOptions& options)
    : chain_(std::move(chain)), options_(options) {
  HEADROOM_CHECK(options.stages > 1 && options.micro_batch_tokens > 0 &&
                     options.most_layers < options.layers && options.last_layers < options.layers,
                 "a pipeline of one stage, or without layers or tokens");
}

void PipelineCost::price(const StepShape& shape, StepPrice& price) const {
  const std::int64_t with_prompts =
      std::min(options_.stages, part(shape.chunk_tokens, options_.micro_batch_tokens));
  const std::int64_t parts =
      std::clamp<std::int64_t>(shape.decode_rows + with_prompts, 1, options_.stages);
  const StepShape batch = largest_part(shape, parts, std::max<std::int64_t>(1, with_prompts));
  chain_->price(batch, price);

  const TokenCount tokens = batch.decode_tokens() + batch.chunk_tokens;
  const Ticks sent = options_.hand_over.step + options_.hand_over.token * tokens;
  const LayerTime layers(price, batch, options_.layers);
  const Ticks overhead = price.base_terms[CostTerm::step_overhead];
  price.base_terms[CostTerm::communication] += sent;
  price.base += sent;

  Line before_last = layers.of(options_.most_layers);
  before_last.base += overhead;
  Line last = layers.of(options_.last_layers);
  last.base += overhead + price.base_terms[CostTerm::head];
  Line stage = larger(before_last, last, price.valid_steps);
  stage = {stage.base * parts, stage.slope * parts};
  const Ticks host =
      options_.host_step + options_.host_row * (batch.decode_rows + batch.chunk_rows);
  const Line busy = larger(stage, {host * parts, 0}, price.valid_steps);
  const Line through{price.base, price.slope};
  const Line round = larger(through, busy, price.valid_steps);

  const bool by_host = host > 0 && busy.slope == 0 && busy.base == host * parts;
  const CostTerm waits = by_host ? CostTerm::host : CostTerm::pipeline;
  price.base_terms[waits] += round.base - through.base;
  SlopeTerms& slopes = price.slope_terms;
  (by_host ? slopes.host : slopes.pipeline) += round.slope - through.slope;
  price.base = round.base;
  price.slope = round.slope;
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
