#include "scheduler/kv/placement_hole_fit.hpp"

namespace headroom {

HolePlacement::HolePlacement(TokenCount tokens) : total_(tokens) { pack(0); }

std::optional<TokenCount> HolePlacement::place(TokenCount length) {
  if (length > state_.largest_hole) return std::nullopt;
  const TokenCount address = holes_.take(choose(holes_, length), length);
  on_placed(address + length);
  state_.free_tokens -= length;
  state_.largest_hole = holes_.largest();
  return address;
}

void HolePlacement::free(TokenCount address, TokenCount length) {
  holes_.give({address, length});
  state_.free_tokens += length;
  state_.largest_hole = holes_.largest();
}

void HolePlacement::pack(TokenCount taken) {
  holes_.reset(taken, total_ - taken);
  state_.free_tokens = state_.largest_hole = total_ - taken;
}

}  // namespace headroom
