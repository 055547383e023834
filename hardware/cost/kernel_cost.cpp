#include "hardware/cost/kernel_cost.hpp"

#include <algorithm>
#include <utility>

#include "hardware/cost/count_grid.hpp"
#include "hardware/cost/overheads.hpp"
#include "hardware/cost/ticks.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/likely.hpp"

namespace headroom {
namespace {

// Of a delta rule over chunks of a prompt (chunk_gated_delta_rule): convolution, gates, sums, the
// inverse of a triangle, states, outputs. Neither vLLM nor SGLang nor TensorRT-LLM captures them:
// the operation splits their graphs (splitting_ops, register_split_op, dynamic operations of
// AutoDeploy). Counted in a profile of vLLM 0.24 (catalog/measured/h200).
constexpr double kRuleLaunches = 16;

// Between two points, rounded down.
Ticks between(Ticks low, Ticks high, std::int64_t part, std::int64_t whole) {
  constexpr Ticks kShort = Ticks{1} << 40;  // a second
  constexpr std::int64_t kFew = std::int64_t{1} << 22;
  const Ticks rise = high - low;
  if (mostly(rise > -kShort && rise < kShort && part < kFew)) return low + rise * part / whole;
  return low + static_cast<Ticks>(static_cast<TickSum>(high - low) * part / whole);
}

Ticks ticks_of(const KernelTime& time) { return ticks_from_ns(time.us * 1e3); }

// Every sequence decodes, and prompts as long as they may be fill the step.
StepShape largest_step(const CostLimits& limits) {
  StepShape step;
  step.decode_rows = step.sampled_rows = limits.max_num_seqs;
  step.decode_context = limits.max_num_seqs * limits.max_model_len;
  if (limits.max_context_tokens > 0) {
    step.decode_context = std::min(step.decode_context, limits.max_context_tokens);
  }
  const TokenCount chunk = std::min<TokenCount>(limits.max_step_tokens, limits.max_model_len);
  const std::int64_t chunks = (limits.max_step_tokens + chunk - 1) / chunk;
  TokenCount prefix = limits.max_model_len - chunk;
  if (limits.max_context_tokens > 0) {
    prefix = std::clamp<TokenCount>(limits.max_context_tokens / chunks - chunk, 0, prefix);
  }
  step.add_chunk(prefix, chunk);
  step.chunk_rows *= chunks;
  step.chunk_tokens *= chunks;
  step.chunk_context *= chunks;
  step.chunk_pairs_twice *= chunks;
  return step;
}

}  // namespace

void KernelCost::Curve::add(std::int64_t at, Ticks ticks) {
  at_.push_back(at);
  ticks_.push_back(ticks);
}

Ticks KernelCost::Curve::at(std::int64_t count) const {
  if (count <= 0 || at_.empty()) return 0;
  if (at_.size() == 1 || count <= at_.front()) return ticks_.front();
  const auto above = std::ranges::lower_bound(at_, count);
  auto i = static_cast<std::size_t>(above - at_.begin());
  i = std::min(i, at_.size() - 1);
  return between(ticks_[i - 1], ticks_[i], count - at_[i - 1], at_[i] - at_[i - 1]);
}

KernelCost::KernelCost(LayerKernels kernels, const BetweenKernels& b, CapturedSteps captured,
                       HostTime host, std::int64_t hidden, const CostLimits& limits)
    : kernels_(std::move(kernels)),
      captured_(std::move(captured)),
      host_(host),
      prefill_(limits.max_num_seqs, limits.max_step_tokens, limits.max_model_len) {
  const LayerKernels::Counts& counts = kernels_.counts();
  const double plain = real(counts.layers) - (1 - b.latent_layer_share) * real(counts.latent);
  const double quantising = real(counts.fp8_block);
  layers_ = ticks_from_ns(b.layer_ns * plain + b.sparse_ns * real(counts.sparse) +
                          b.recurrent_ns * real(counts.recurrent) + b.quantise_ns * quantising);
  elementwise_ = ticks_from_ns(
      (b.elementwise_ns * real(counts.layers) + b.quantise_token_ns * quantising) * real(hidden));
  reduce_waits_ = ticks_from_ns(b.reduce_ns * counts.reduce_doublings);
  sequence_ = ticks_from_ns(b.sequence_ns);
  launches_ =
      ticks_from_ns(b.launch_ns * (b.layer_launches * real(counts.layers) +
                                   b.expert_launches * real(counts.expert) +
                                   b.latent_launches * real(counts.latent + counts.compressed) +
                                   b.quantise_launches * quantising));
  const double rules = b.launch_ns * real(counts.delta);
  recurrence_launches_ = ticks_from_ns(rules * b.recurrent_launches);
  rule_launches_ = ticks_from_ns(rules * std::min(b.recurrent_launches, kRuleLaunches));
  fill_tokens(limits);
  fill_decodes(limits);
  // All terms of the largest step together can be counted.
  StepPrice price;
  this->price(largest_step(limits), price);
}

void KernelCost::fill_tokens(const CostLimits& limits) {
  constexpr std::int64_t kParts = 4;  // points from a power of two to the next
  const std::int64_t tokens = std::max(limits.max_step_tokens, limits.max_num_seqs);
  for (const std::int64_t count : grid_to(std::max<std::int64_t>(2, tokens), kParts)) {
    const double m = real(count);
    products_.add(count, ticks_of(kernels_.products(m)));
    experts_.add(count, ticks_of(kernels_.experts(m)));
    reduces_.add(count, ticks_of(kernels_.reduces(m)));
    streams_.add(count, ticks_of(kernels_.streams(m)));
  }
  constexpr std::int64_t kUsual = 16'384;
  by_tokens_.reserve(static_cast<std::size_t>(std::min(tokens, kUsual)) + 1);
  for (std::int64_t count = 0; count <= std::min(tokens, kUsual); ++count) {
    by_tokens_.push_back(on_curves(count));
  }
  for (const std::int64_t rows : grid_to(std::max<std::int64_t>(2, limits.max_num_seqs), kParts)) {
    head_.add(rows, ticks_of(kernels_.head(real(rows))));
  }
}

KernelCost::TokenTerms KernelCost::on_curves(std::int64_t tokens) const {
  return {products_.at(tokens), experts_.at(tokens), reduces_.at(tokens), streams_.at(tokens)};
}

KernelCost::TokenTerms KernelCost::by_tokens(std::int64_t tokens) const {
  const auto at = static_cast<std::size_t>(tokens);
  return mostly(at < by_tokens_.size()) ? by_tokens_[at] : on_curves(tokens);
}

void KernelCost::fill_decodes(const CostLimits& limits) {
  rows_ = grid_to(std::max<std::int64_t>(2, limits.max_num_seqs), 2);
  contexts_ = grid_to(std::max<std::int64_t>(128, limits.max_model_len), 2);
  std::erase_if(contexts_, [](std::int64_t c) { return c > 1 && c < 64; });
  contexts_.insert(contexts_.end(), kernels_.windows().begin(), kernels_.windows().end());
  std::ranges::sort(contexts_);
  contexts_.erase(std::unique(contexts_.begin(), contexts_.end()), contexts_.end());
  decode_ticks_.reserve(rows_.size() * contexts_.size());
  for (const std::int64_t rows : rows_) {
    Ticks longest = 0;
    for (const std::int64_t context : contexts_) {
      // A longer context is never priced below a shorter one: such a dip is noise.
      longest = std::max(longest, ticks_of(kernels_.decode(real(rows), real(context))));
      decode_ticks_.push_back(longest);
    }
  }
}

// At a point of context, between two points of rows.
Ticks KernelCost::decode_point(std::size_t row, std::int64_t rows, std::size_t context) const {
  const std::size_t width = contexts_.size();
  const Ticks low = decode_ticks_[row * width + context];
  const Ticks high = decode_ticks_[(row + 1) * width + context];
  return std::max<Ticks>(0, between(low, high, rows - rows_[row], rows_[row + 1] - rows_[row]));
}

KernelCost::DecodeLine KernelCost::decode_line(std::int64_t rows, TokenCount context) const {
  const auto upper = std::ranges::lower_bound(rows_, rows);
  const auto row = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(upper - rows_.begin() - 1, 0, std::ssize(rows_) - 2));
  // The first point of context whose sum over all rows is not below `context`.
  const std::int64_t each = (context + rows - 1) / rows;
  const auto reached = std::lower_bound(contexts_.begin() + 1, contexts_.end() - 1, each);
  const auto cell = static_cast<std::size_t>(reached - contexts_.begin());
  const TokenCount first = contexts_[cell - 1] * rows;
  const TokenCount last = contexts_[cell] * rows;
  const Ticks low = decode_point(row, rows, cell - 1);
  const Ticks rise = std::max<Ticks>(0, decode_point(row, rows, cell) - low);
  DecodeLine line;
  line.slope = rise / (contexts_[cell] - contexts_[cell - 1]);
  // Per token of all rows together, so that the sum of contexts may lie anywhere in the cell.
  const Ticks per_token = line.slope / rows;
  line.slope = per_token * rows;
  line.ticks = low + per_token * std::max<TokenCount>(0, context - first);
  if (cell + 1 < contexts_.size()) line.valid_steps = (last - context) / rows + 1;
  return line;
}

// Padded to a captured size; 0: the step runs outside of graphs.
std::int64_t KernelCost::captured_tokens(const StepShape& shape) const {
  const std::int64_t tokens = shape.decode_tokens() + shape.chunk_tokens;
  if (shape.chunk_rows > 0 && tokens > captured_.largest_mixed) return 0;
  const auto& sizes = captured_.decode_sizes;
  if (shape.chunk_rows == 0 && (sizes.empty() || tokens > sizes.back())) return 0;
  return padded_rows(tokens, sizes);
}

void KernelCost::price_prefill(const StepShape& shape, StepPrice& price) const {
  const double rows = real(shape.chunk_rows);
  double tokens = real(shape.chunk_tokens) / rows;
  double prefix = real(shape.chunk_context - shape.chunk_tokens) / rows;
  // As many chunks of one length, stretched until they have the query-key pairs of all.
  const double pairs = tokens * (2 * prefix + tokens) * rows;
  const double stretch = det::sqrt(real(shape.chunk_pairs_twice) / pairs);
  tokens *= stretch;
  prefix *= stretch;
  price.base_terms[CostTerm::attention_prefill] = prefill_.at(kernels_, rows, tokens, prefix);
  price.base_terms[CostTerm::elementwise] +=
      elementwise_ * (shape.chunk_tokens + shape.decode_tokens());
}

void KernelCost::price_decode(const StepShape& shape, StepPrice& price) const {
  const DecodeLine line = decode_line(shape.decode_rows, shape.decode_context);
  price.base_terms[CostTerm::attention_decode] = line.ticks;
  price.slope = price.slope_terms.attention_decode = line.slope;
  price.valid_steps = line.valid_steps;
  price.base_terms[CostTerm::step_overhead] = sequence_ * shape.decode_rows;
}

void KernelCost::price(const StepShape& shape, StepPrice& price) const {
  price = StepPrice{};
  const std::int64_t tokens = shape.decode_tokens() + shape.chunk_tokens;
  const std::int64_t captured = captured_tokens(shape);
  const std::int64_t padded = captured > 0 ? captured : tokens;
  CostTerms& terms = price.base_terms;
  const TokenTerms own = by_tokens(padded);
  const bool shares = shape.all_rank_tokens > padded;
  terms[CostTerm::linear_memory] =
      own.products + (shares ? by_tokens(shape.all_rank_tokens).experts : own.experts);
  terms[CostTerm::communication] = own.reduces + reduce_waits_;
  terms[CostTerm::elementwise] = layers_ + own.streams;
  terms[CostTerm::head] = head_.at(shape.sampled_rows + shape.draft_tokens);
  if (shape.chunk_rows > 0) price_prefill(shape, price);
  if (shape.decode_rows > 0) price_decode(shape, price);
  if (shape.chunk_rows > 0) {
    // A step with prompts is planned once: it has no next one to be cheaper or dearer.
    price.slope = 0;
    price.slope_terms = {};
    price.valid_steps = 1;
  }
  double sum = 0;
  for (const Ticks term : terms.ticks) sum += real(term);
  if (!(sum < real(kMaxStepTicks))) {
    throw StepCostError("a step would take longer than 73 minutes");
  }
  price.base = terms.sum();
  // The host issues one launch after the other; what the device does not cover is waiting for it.
  // Over one token a delta rule is a single kernel. Mamba's scan over a prompt is six at most
  // (mamba_chunk_scan_combined), which the launches of any layer cover.
  const bool has_prompts = shape.chunk_rows > 0;
  Ticks launches = captured == 0 ? launches_ : 0;
  if (has_prompts) launches += captured == 0 ? recurrence_launches_ : rule_launches_;
  if (launches > 0) take_at_least(launches, price);
  const Ticks host = host_.step + host_.row * (shape.decode_rows + shape.chunk_rows);
  price.base_terms[CostTerm::host] += host;
  price.base += host;
}

}  // namespace headroom
