#pragma once
// First fit over single cells (docs/semantics.md 10): one bool per token, so that neighbours merge
// by themselves.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/serving/types.hpp"

namespace headroom::oracle {

class AddressSpace {
 public:
  explicit AddressSpace(TokenCount total) : taken_(static_cast<std::size_t>(total), false) {}

  [[nodiscard]] TokenCount used_tokens() const {
    TokenCount used = 0;
    for (const bool taken : taken_) used += taken ? 1 : 0;
    return used;
  }
  [[nodiscard]] TokenCount free_tokens() const {
    return static_cast<TokenCount>(taken_.size()) - used_tokens();
  }

  // Address of the lowest hole of at least `tokens` cells.
  [[nodiscard]] std::optional<TokenCount> find(TokenCount tokens) const {
    TokenCount run = 0;
    for (std::size_t cell = 0; cell < taken_.size(); ++cell) {
      run = taken_[cell] ? 0 : run + 1;
      if (run == tokens) return static_cast<TokenCount>(cell) + 1 - tokens;
    }
    return std::nullopt;
  }

  // Reserves `tokens` > 0 for a request that holds nothing; on false nothing moved.
  [[nodiscard]] bool reserve(std::uint64_t request, TokenCount tokens) {
    HEADROOM_CHECK(tokens > 0 && !held_.contains(request), "one reservation per request");
    const std::optional<TokenCount> address = find(tokens);
    if (!address) return false;
    held_[request] = {*address, tokens};
    fill(*address, tokens, true);
    return true;
  }

  [[nodiscard]] std::optional<TokenCount> address_of(std::uint64_t request) const {
    const auto it = held_.find(request);
    if (it == held_.end()) return std::nullopt;
    return it->second.first;
  }

  void release(std::uint64_t request) {
    const auto it = held_.find(request);
    HEADROOM_CHECK(it != held_.end(), "released without a reservation");
    fill(it->second.first, it->second.second, false);
    held_.erase(it);
  }

 private:
  void fill(TokenCount address, TokenCount tokens, bool value) {
    for (TokenCount cell = address; cell < address + tokens; ++cell) {
      HEADROOM_CHECK(taken_[static_cast<std::size_t>(cell)] != value, "cell changed twice");
      taken_[static_cast<std::size_t>(cell)] = value;
    }
  }

  std::vector<bool> taken_;
  std::map<std::uint64_t, std::pair<TokenCount, TokenCount>> held_;  // request -> address, length
};

}  // namespace headroom::oracle
