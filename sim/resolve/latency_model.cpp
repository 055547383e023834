#include "sim/resolve/latency_model.hpp"

#include <algorithm>

namespace headroom {
namespace {

constexpr std::int64_t kSequences = 64;
constexpr TokenCount kContext = 1024;
constexpr TokenCount kPrompt = 2048;

double step_ns(const StepCost& cost, const StepShape& shape) {
  StepPrice price;
  cost.price(shape, price);
  return static_cast<double>(price.base) * 0x1p-20;
}

double decode_ns(const StepCost& cost, std::int64_t sequences, TokenCount context) {
  StepShape shape;
  shape.decode_rows = shape.sampled_rows = sequences;
  shape.decode_context = sequences * context;
  return step_ns(cost, shape);
}

}  // namespace

LatencyModel latency_model(const StepCost& cost) {
  const double one = decode_ns(cost, 1, 1);
  const double many = decode_ns(cost, kSequences, 1);
  const double far = decode_ns(cost, kSequences, kContext);
  StepShape prompt;
  prompt.chunk_rows = prompt.sampled_rows = 1;
  prompt.chunk_tokens = prompt.chunk_context = kPrompt;
  prompt.chunk_pairs_twice = kPrompt * kPrompt;
  // Each sequence also reads one token.
  LatencyModel model;
  model.kv_token_ns = std::max(0.0, far - many) / static_cast<double>(kSequences * (kContext - 1));
  const double more = std::max(0.0, many - one) / static_cast<double>(kSequences - 1);
  model.sequence_ns = std::max(0.0, more - model.kv_token_ns);
  model.step_ns = std::max(0.0, one - model.sequence_ns - model.kv_token_ns);
  model.prompt_token_ns = step_ns(cost, prompt) / static_cast<double>(kPrompt);
  return model;
}

}  // namespace headroom
