#pragma once
// Placement over single cells (docs/semantics.md 10): one bool per token. Holes and free buddy
// blocks are read off the cells each time, so that neighbours merge by themselves.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/serving/types.hpp"

namespace headroom::oracle {

enum class Fit : std::uint8_t { first, best, next, buddy };

class AddressSpace {
 public:
  explicit AddressSpace(TokenCount total, Fit fit = Fit::first, bool compaction = false)
      : fit_(fit), compaction_(compaction), taken_(static_cast<std::size_t>(total), false) {}

  [[nodiscard]] TokenCount used_tokens() const {
    TokenCount used = 0;
    for (const bool taken : taken_) used += taken ? 1 : 0;
    return used;
  }
  [[nodiscard]] TokenCount free_tokens() const { return total() - used_tokens(); }

  // Where `tokens` cells would go as things lie; none if they fit nowhere.
  [[nodiscard]] std::optional<TokenCount> find(TokenCount tokens) const {
    if (fit_ == Fit::buddy) return find_buddy(tokens);
    std::optional<Run> chosen;
    for (const Run& hole : holes_in_order_of_search()) {
      if (hole.cells < tokens) continue;
      if (!chosen || (fit_ == Fit::best && hole.cells < chosen->cells)) chosen = hole;
    }
    if (!chosen) return std::nullopt;
    return chosen->address;
  }

  // Whether a reservation of `tokens` succeeds now.
  [[nodiscard]] bool admits(TokenCount tokens) const {
    return find(tokens).has_value() || (compaction_ && tokens <= free_tokens());
  }

  // Reserves `tokens` > 0 for a request that holds nothing; on false nothing moved.
  [[nodiscard]] bool reserve(std::uint64_t request, TokenCount tokens) {
    HEADROOM_CHECK(tokens > 0 && !held_.contains(request), "one reservation per request");
    std::optional<TokenCount> address = find(tokens);
    if (!address) {
      if (!compaction_ || tokens > free_tokens()) return false;
      compact();
      address = find(tokens);
    }
    held_[request] = {address.value(), fit_ == Fit::buddy ? block_for(tokens) : tokens};
    fill(held_[request], true);
    last_end_ = *address + tokens;
    return true;
  }

  [[nodiscard]] std::optional<TokenCount> address_of(std::uint64_t request) const {
    const auto it = held_.find(request);
    if (it == held_.end()) return std::nullopt;
    return it->second.address;
  }

  void release(std::uint64_t request) {
    const auto it = held_.find(request);
    HEADROOM_CHECK(it != held_.end(), "released without a reservation");
    fill(it->second, false);
    held_.erase(it);
  }

  // Cells whose content compaction has copied so far.
  [[nodiscard]] TokenCount moved_tokens() const { return moved_; }

 private:
  struct Run {
    TokenCount address = 0;
    TokenCount cells = 0;
  };

  [[nodiscard]] TokenCount total() const { return static_cast<TokenCount>(taken_.size()); }
  [[nodiscard]] bool is_taken(TokenCount cell) const {
    return taken_[static_cast<std::size_t>(cell)];
  }

  [[nodiscard]] std::vector<Run> holes() const {
    std::vector<Run> found;
    for (TokenCount cell = 0; cell < total(); ++cell) {
      if (is_taken(cell)) continue;
      if (cell == 0 || is_taken(cell - 1)) found.push_back({cell, 0});
      ++found.back().cells;
    }
    return found;
  }

  // By address; next fit: those with a cell at or above the end of the last range come first.
  [[nodiscard]] std::vector<Run> holes_in_order_of_search() const {
    std::vector<Run> all = holes();
    if (fit_ != Fit::next) return all;
    std::vector<Run> order;
    for (const Run& hole : all) {
      if (hole.address + hole.cells - 1 >= last_end_) order.push_back(hole);
    }
    for (const Run& hole : all) {
      if (hole.address + hole.cells - 1 < last_end_) order.push_back(hole);
    }
    return order;
  }

  [[nodiscard]] static TokenCount block_for(TokenCount tokens) {
    TokenCount block = 1;
    while (block < tokens) block *= 2;
    return block;
  }

  // The powers of two that the pool is the sum of, largest first.
  [[nodiscard]] std::vector<Run> initial_blocks() const {
    std::vector<Run> blocks;
    TokenCount address = 0;
    while (address < total()) {
      TokenCount block = 1;
      while (block * 2 <= total() - address) block *= 2;
      blocks.push_back({address, block});
      address += block;
    }
    return blocks;
  }

  [[nodiscard]] bool all_free(Run run) const {
    for (TokenCount cell = run.address; cell < run.address + run.cells; ++cell) {
      if (is_taken(cell)) return false;
    }
    return true;
  }

  // A free block is one of free cells alone whose double is not.
  [[nodiscard]] bool is_free_block(Run initial, Run block) const {
    if (!all_free(block)) return false;
    if (block.cells == initial.cells) return true;
    const TokenCount within = (block.address - initial.address) / (2 * block.cells);
    return !all_free({initial.address + within * 2 * block.cells, 2 * block.cells});
  }

  [[nodiscard]] std::optional<TokenCount> find_buddy(TokenCount tokens) const {
    for (TokenCount cells = block_for(tokens); cells <= total(); cells *= 2) {
      for (const Run& initial : initial_blocks()) {
        for (TokenCount at = 0; at + cells <= initial.cells; at += cells) {
          const Run block{initial.address + at, cells};
          if (is_free_block(initial, block)) return block.address;
        }
      }
    }
    return std::nullopt;
  }

  // Each taken cell goes to the lowest free one below it.
  void compact() {
    std::map<TokenCount, TokenCount> new_address;
    TokenCount to = 0;
    for (TokenCount cell = 0; cell < total(); ++cell) {
      if (!is_taken(cell)) continue;
      new_address[cell] = to;
      moved_ += cell != to ? 1 : 0;
      ++to;
    }
    for (TokenCount cell = 0; cell < total(); ++cell) {
      taken_[static_cast<std::size_t>(cell)] = cell < to;
    }
    for (auto& [request, range] : held_) range.address = new_address.at(range.address);
  }

  void fill(Run range, bool value) {
    for (TokenCount cell = range.address; cell < range.address + range.cells; ++cell) {
      HEADROOM_CHECK(is_taken(cell) != value, "cell changed twice");
      taken_[static_cast<std::size_t>(cell)] = value;
    }
  }

  Fit fit_;
  bool compaction_;
  std::vector<bool> taken_;
  std::map<std::uint64_t, Run> held_;
  TokenCount last_end_ = 0;
  TokenCount moved_ = 0;
};

}  // namespace headroom::oracle
