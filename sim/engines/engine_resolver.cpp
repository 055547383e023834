#include "sim/engines/engine_resolver.hpp"

namespace headroom {
namespace {

// One token of prompt and one of output.
constexpr std::int64_t kShortestLength = 2;

}  // namespace

void EngineResolver::note_rule(const std::string& pointer, std::string_view rule) {
  const std::string version = options.version.value_or("");
  system.rules[pointer] =
      fmt::format("{}{}{}: {}", system.engine->name, version.empty() ? "" : " ", version, rule);
}

void EngineResolver::fill_length(const std::string& pointer, std::optional<std::int64_t>& option,
                                 bool strict, std::string_view automatic) {
  const ModelSpec& model = system.model;
  const std::int64_t trained = model.max_position;  // engine.rope_scaling_factor included
  const bool was_given = option.has_value();
  fill(pointer, option, trained, "the model's context length");
  if (*option < kShortestLength) {
    given.refuse_value(
        pointer, fmt::format("{}{}", *option, was_given ? "" : " (the model's context length)"),
        fmt::format("expected at least {} tokens{}", kShortestLength, automatic));
  }
  if (trained == 0 || *option <= trained) return;
  const std::string beyond =
      fmt::format("{} was trained for {} tokens", model.id, model.max_position);
  if (strict && !options.allow_long_max_model_len) {
    given.refuse_value(pointer, fmt::to_string(*option),
                       beyond +
                           "; scale its rope (engine.rope_scaling_factor) or set "
                           "engine.allow_long_max_model_len");
  }
  warn(fmt::format("{}: value {}: {}", pointer.substr(1), *option, beyond));
}

void EngineResolver::set_sizes(std::int64_t length, std::int64_t sequences,
                               std::int64_t step_tokens, std::int64_t block) {
  system.max_model_len = static_cast<std::int32_t>(length);
  system.max_num_seqs = static_cast<std::int32_t>(sequences);
  system.max_num_batched_tokens = static_cast<std::int32_t>(step_tokens);
  system.block_size = static_cast<std::int32_t>(block);
}

}  // namespace headroom
