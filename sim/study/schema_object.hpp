#pragma once
// A piece of the JSON Schemas of study and plan files.

#include <utility>

#include "sim/scenario/json_document.hpp"

namespace headroom {

// An object of these members and no others. `required`: a list of names.
[[nodiscard]] inline Json schema_object(Json properties, Json required) {
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties", std::move(properties)},
          {"required", std::move(required)}};
}

}  // namespace headroom
