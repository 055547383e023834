#pragma once
// Port: which of an engine's slots each request has, where requests have one (llama.cpp).

#include <cstdint>

#include "sim/serving/types.hpp"

namespace headroom {

class SlotAssignment {
 public:
  virtual ~SlotAssignment() = default;
  // From 0; negative if `id` has none.
  [[nodiscard]] virtual std::int32_t slot_of(RequestId id) const = 0;
  [[nodiscard]] virtual std::int32_t slots() const = 0;
  // Cells that a step can take, once idle slots have given up what they keep.
  [[nodiscard]] virtual TokenCount room() const = 0;
  // Tokens that `id`, which has a slot, can hold if nothing else takes cells.
  [[nodiscard]] virtual TokenCount longest(RequestId id) const = 0;
};

}  // namespace headroom
