#pragma once
// What a checkpoint declares about its weights, before it is applied to layers.

#include <optional>
#include <vector>

#include "hardware/llm/hf_fields.hpp"
#include "hardware/llm/hf_patterns.hpp"
#include "hardware/llm/model_spec.hpp"

namespace headroom {

struct HfScheme {
  struct Rule {
    HfPatterns only;
    bool everything = false;             // every linear layer, whatever `only` says
    std::optional<WeightFormat> format;  // none: as the model's dtype
  };
  std::vector<Rule> rules;  // the first that matches decides
  HfPatterns ignored;
  bool experts_only = false;
  std::optional<WeightFormat> head;  // declared apart from the layers (GPTQ)
  std::optional<Dtype> kv;
  std::string method;  // one name for all spellings
};

// Of quantization_config, or of hf_quant_config.json (with or without its outer "quantization").
// ConfigError with the known methods when it is another one.
[[nodiscard]] HfScheme read_hf_scheme(const HfFields& declared);

}  // namespace headroom
