#include "hardware/cost/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "hardware/cost/capture_sizes.hpp"
#include "hardware/cost/expert_share.hpp"
#include "hardware/cost/ticks.hpp"
#include "sim/kernel/det_math.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kTableSize = 16384;  // tokens, rows; beyond it: computed when asked for

// How often a step runs a kernel of dense.csv.
enum class Often : std::uint8_t { step, layer, twice_a_layer, mlp_layer };

struct KnownKernel {
  std::string_view name;
  Often often;
  bool linear;
  bool always;  // every decoder has it
};
// Names of LLMServingSim's catalogs (profiler/models/*.yaml).
constexpr std::array kKernels{
    KnownKernel{"embedding", Often::step, false, true},
    KnownKernel{"layernorm", Often::twice_a_layer, false, true},
    KnownKernel{"qkv_proj", Often::layer, true, true},
    KnownKernel{"qk_norm", Often::layer, false, false},
    KnownKernel{"rotary_emb", Often::layer, false, true},
    KnownKernel{"o_proj", Often::layer, true, true},
    KnownKernel{"gate_up_proj", Often::mlp_layer, true, false},
    KnownKernel{"act_fn", Often::mlp_layer, false, false},
    KnownKernel{"down_proj", Often::mlp_layer, true, false},
    KnownKernel{"final_layernorm", Often::step, false, true},
};
constexpr std::array<std::string_view, 2> kHeadKernels{"lm_head", "sampler"};

// Query-key pairs of a chunk, twice.
double pairs_twice(double tokens, double cached) { return tokens * (2 * cached + tokens); }

// On the axis of chunk lengths by query-key pairs: between two measured chunks attention grows with
// those, not with tokens.
AxisPlace place_by_pairs(const std::vector<double>& axis, double tokens, double cached) {
  AxisPlace place = place_on(axis, tokens);
  if (place.share == 0) return place;
  const double low = pairs_twice(axis[place.low], cached);
  const double high = pairs_twice(axis[place.low + 1], cached);
  place.share = (pairs_twice(tokens, cached) - low) / (high - low);
  return place;
}

void refuse(const KernelTimes& times, const ModelSpec& model, const std::string& why) {
  throw ConfigError(
      Complaint{.origin = times.folder, .problem = fmt::format("{}: {}", model.id, why)});
}

void check_attention(const KernelTimes& times, const ModelSpec& model) {
  for (const LayerKind& kind : model.kinds) {
    if (kind.recurrent || !kind.attention || kind.attention->window_tokens > 0) {
      refuse(times, model,
             "kernel tables cover only models whose layers all attend to the whole context");
    }
  }
}

}  // namespace

KernelTableCost::KernelTableCost(const ModelSpec& model, const DeviceSpec& device,
                                 const Calibration& calibration, KernelTimes times,
                                 const RooflineOptions& options)
    : times_(std::move(times)), capture_sizes_(options.capture_sizes) {
  check_attention(times_, model);
  set_counts(model);
  overheads_ = overheads_of(model, device, calibration, options.parallel);
  check_largest_step(options.limits);
  fill_tables(options.limits);
}

void KernelTableCost::set_counts(const ModelSpec& model) {
  layers_ = real(model.layers());
  double mlp_layers = 0;
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    if (kind.mlp) mlp_layers += real(model.layers_of(k));
    if (!kind.moe) continue;
    expert_layers_ += real(model.layers_of(k));
    experts_ = real(kind.moe->experts);
    log_missed_ = det::log(1.0 - real(kind.moe->top_k) / experts_);
  }
  if (expert_layers_ > 0 && times_.experts.axes.empty()) {
    refuse(times_, model, "it has experts, but there is no moe.csv with rows for ep 1");
  }
  for (const auto& [name, curve] : times_.dense) {
    const auto* known = std::ranges::find(kKernels, name, &KnownKernel::name);
    if (known == kKernels.end()) {
      refuse(times_, model, fmt::format("dense.csv has an unknown layer '{}'", name));
    }
    const double count = known->often == Often::step        ? 1
                         : known->often == Often::layer     ? layers_
                         : known->often == Often::mlp_layer ? mlp_layers
                                                            : 2 * layers_;
    counted_.push_back({&curve, count, known->linear});
  }
  for (const KnownKernel& known : kKernels) {
    const bool wanted = known.always || (known.often == Often::mlp_layer && mlp_layers > 0);
    if (wanted && !times_.dense.contains(known.name)) {
      refuse(times_, model, fmt::format("dense.csv has no layer '{}'", known.name));
    }
  }
  for (const std::string_view name : kHeadKernels) {
    const auto found = times_.per_sequence.find(name);
    if (found == times_.per_sequence.end()) {
      refuse(times_, model, fmt::format("per_sequence.csv has no layer '{}'", name));
    }
    head_curves_.push_back(&found->second);
  }
}

void KernelTableCost::fill_tables(const CostLimits& limits) {
  const std::int64_t tokens = std::min(limits.max_step_tokens, kTableSize);
  token_table_.reserve(static_cast<std::size_t>(tokens) + 1);
  for (std::int64_t i = 0; i <= tokens; ++i) token_table_.push_back(compute_tokens(i));
  const std::int64_t rows = std::min(limits.max_num_seqs, kTableSize);
  head_table_.reserve(static_cast<std::size_t>(rows) + 1);
  for (std::int64_t i = 0; i <= rows; ++i) head_table_.push_back(compute_head(i));
}

void KernelTableCost::check_ticks(double ticks) const {
  if (!(ticks < real(kMaxStepTicks))) {
    throw ConfigError(
        Complaint{.origin = times_.folder, .problem = "a step would take longer than 73 minutes"});
  }
}

Ticks KernelTableCost::ticks_of(double us) const {
  check_ticks(us * 1e3 * real(kTicksPerNs));
  return ticks_from_ns(us * 1e3);
}

KernelTableCost::TokenTicks KernelTableCost::compute_tokens(std::int64_t tokens) const {
  if (tokens == 0) return {};
  double linear = 0;
  double elementwise = 0;
  for (const Counted& kernel : counted_) {
    (kernel.linear ? linear : elementwise) += kernel.count * kernel.curve->us(real(tokens));
  }
  if (expert_layers_ > 0) {
    const double reached = experts_ * share_of_experts(log_missed_, tokens, 1);
    const auto& axes = times_.experts.axes;
    linear += expert_layers_ * times_.experts.at(std::array{place_on(axes[0], real(tokens)),
                                                            place_on(axes[1], reached)});
  }
  return {ticks_of(linear), ticks_of(elementwise)};
}

KernelTableCost::TokenTicks KernelTableCost::by_tokens(std::int64_t tokens) const {
  const auto index = static_cast<std::uint64_t>(tokens);
  return index < token_table_.size() ? token_table_[index] : compute_tokens(tokens);
}

Ticks KernelTableCost::compute_head(std::int64_t rows) const {
  if (rows == 0) return 0;
  double us = 0;
  for (const TimeCurve* curve : head_curves_) us += curve->us(real(rows));
  return ticks_of(us);
}

Ticks KernelTableCost::head(std::int64_t rows) const {
  const auto index = static_cast<std::uint64_t>(rows);
  return index < head_table_.size() ? head_table_[index] : compute_head(rows);
}

Ticks KernelTableCost::attention_ticks(double us) const { return ticks_of(us * layers_); }

KernelTableCost::DecodeLine KernelTableCost::decode_line(std::int64_t rows,
                                                         TokenCount context) const {
  const std::vector<double>& lengths = times_.decode.axes[1];
  const AxisPlace by_rows = place_on(times_.decode.axes[0], real(rows));
  const auto at = [&](std::size_t cell, double share) {
    return attention_ticks(times_.decode.at(std::array{by_rows, AxisPlace{cell, share}}));
  };
  // The cell of a sum of contexts is the first whose end it does not pass; the last has none.
  const auto sum_at = [&](std::size_t point) {
    return static_cast<TokenCount>(lengths[point]) * rows;
  };
  if (context <= sum_at(0)) return {at(0, 0), 0, 0, sum_at(0)};
  std::size_t cell = 0;
  while (cell + 2 < lengths.size() && context > sum_at(cell + 1)) ++cell;
  DecodeLine line;
  line.low = at(cell, 0);
  line.first = sum_at(cell);
  // Within a cell, and beyond the last one, a longer context is never priced below a shorter one:
  // such a dip is noise of the measurement.
  const Ticks rise = std::max<Ticks>(at(cell, 1) - line.low, 0);
  line.slope = rise / (sum_at(cell + 1) - line.first);
  line.last = cell + 2 < lengths.size() ? sum_at(cell + 1) : kManySteps;
  return line;
}

double KernelTableCost::prefill_us(const Chunk& chunk) const {
  const auto& axes = times_.prefill.axes;
  return times_.prefill.at(std::array{place_by_pairs(axes[0], chunk.tokens, chunk.cached),
                                      place_on(axes[1], chunk.cached)});
}

double KernelTableCost::mixed_us(const Chunk& chunk, double rows, double context) const {
  const auto& axes = times_.mixed.axes;
  return times_.mixed.at(std::array{place_by_pairs(axes[0], chunk.tokens, chunk.cached),
                                    place_on(axes[1], chunk.cached), place_on(axes[2], rows),
                                    place_on(axes[3], context)});
}

void KernelTableCost::price_attention(const StepShape& shape, StepPrice& price) const {
  if (shape.chunk_rows == 0) {
    const DecodeLine line = decode_line(shape.decode_rows, shape.decode_context);
    const TokenCount further = shape.decode_context - line.first;
    check_ticks(real(line.low) + real(line.slope) * real(further));
    price.base_terms[CostTerm::attention_decode] = line.low + line.slope * further;
    price.slope = line.slope * shape.decode_rows;
    price.slope_terms.attention_decode = price.slope;
    price.valid_steps = (line.last - shape.decode_context) / shape.decode_rows + 1;
    return;
  }
  // All chunks as one: of their mean length and cached tokens, both stretched until it has the
  // query-key pairs of all.
  const double rows = real(shape.chunk_rows);
  Chunk chunk{real(shape.chunk_tokens) / rows,
              real(shape.chunk_context - shape.chunk_tokens) / rows};
  const double stretch =
      det::sqrt(real(shape.chunk_pairs_twice) / pairs_twice(chunk.tokens, chunk.cached));
  chunk.tokens *= stretch;
  chunk.cached *= stretch;
  const double alone = prefill_us(chunk);
  price.base_terms[CostTerm::attention_prefill] = attention_ticks(alone);
  price.valid_steps = 1;
  if (shape.decode_rows == 0) return;
  const double decodes = real(shape.decode_rows);
  const double both = mixed_us(chunk, decodes, real(shape.decode_context) / decodes);
  price.base_terms[CostTerm::attention_decode] = attention_ticks(std::max(both - alone, 0.0));
}

void KernelTableCost::price(const StepShape& shape, StepPrice& price) const {
  price = StepPrice{};
  const std::int64_t tokens = shape.decode_tokens() + shape.chunk_tokens;
  // Only a decode's matrix products run on the padded batch (FIDELITY.md 1: Tpad).
  const bool padded = shape.chunk_rows == 0;
  CostTerms& terms = price.base_terms;
  terms[CostTerm::linear_memory] =
      by_tokens(padded ? padded_rows(tokens, capture_sizes_) : tokens).linear;
  terms[CostTerm::elementwise] = by_tokens(tokens).elementwise;
  terms[CostTerm::head] = head(shape.sampled_rows + shape.draft_tokens);
  terms[CostTerm::communication] = overheads_.communication(tokens, shape.all_rank_tokens);
  terms[CostTerm::step_overhead] = overheads_.step;
  price_attention(shape, price);
  double ticks = 0;
  for (const Ticks term : terms.ticks) ticks += real(term);
  check_ticks(ticks);
  price.base = terms.sum();
  overheads_.add_host(shape, price);
}

void KernelTableCost::check_largest_step(const CostLimits& limits) const {
  const double tokens = real(limits.max_step_tokens);
  const double rows = real(limits.max_num_seqs);
  const double length = real(limits.max_model_len);
  const Chunk chunk{tokens, length};
  const TokenTicks products = compute_tokens(limits.max_step_tokens);
  const double attention_us = prefill_us(chunk) + mixed_us(chunk, rows, length);
  const TokenCount context = limits.max_num_seqs * limits.max_model_len;
  const DecodeLine decodes = decode_line(limits.max_num_seqs, context);
  const double ticks =
      real(products.linear) + real(products.elementwise) + real(head(limits.max_num_seqs)) +
      overheads_.sum(rows, tokens) +
      std::max(attention_us * layers_ * 1e3 * real(kTicksPerNs),
               real(decodes.low) + real(decodes.slope) * real(context - decodes.first));
  if (!(ticks < static_cast<double>(kMaxStepTicks))) {
    throw ConfigError(Complaint{
        .origin = times_.folder,
        .problem = fmt::format("the largest step ({} sequences, {} tokens, contexts up to {}) "
                               "would take longer than 73 minutes",
                               limits.max_num_seqs, limits.max_step_tokens, limits.max_model_len)});
  }
}

}  // namespace headroom
