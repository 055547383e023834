#pragma once
// Names of quantization as engines take them: a data type that weights are brought to, or a method
// with which the checkpoint itself was quantised (vLLM's --quantization).

#include <string_view>

#include "hardware/llm/model_spec.hpp"

namespace headroom {

// A method that only a checkpoint can have: nothing is quantised when it is loaded.
[[nodiscard]] bool is_checkpoint_method(std::string_view name);

// Whether the checkpoint of `model` declares another method than `name`, which a user named for it:
// then it is not the user's checkpoint. False where `name` is a data type, too.
[[nodiscard]] bool contradicts_method(const ModelSpec& model, std::string_view name);

// The model as an engine loads it that was told `name`: as its checkpoint declares where that is
// the method of this name, else quantised() by the data type. ConfigError when the checkpoint
// contradicts.
[[nodiscard]] ModelSpec loaded_as(ModelSpec model, std::string_view name);

}  // namespace headroom
