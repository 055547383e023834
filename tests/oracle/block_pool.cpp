#include "tests/oracle/block_pool.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom::oracle {
namespace {

BlockCount ceil_div(TokenCount tokens, TokenCount size) { return (tokens + size - 1) / size; }

}  // namespace

BlockPool::BlockPool(BlockCount total, TokenCount block_size, bool prefix_caching)
    : block_size_(block_size),
      prefix_caching_(prefix_caching),
      blocks_(static_cast<std::size_t>(total)) {
  for (BlockId id = 0; id < total; ++id) free_.push_back(id);
}

BlockCount BlockPool::total_blocks() const { return static_cast<BlockCount>(blocks_.size()); }

BlockCount BlockPool::free_blocks() const { return static_cast<BlockCount>(free_.size()); }

BlockCount BlockPool::cached_blocks() const {
  return std::count_if(free_.begin(), free_.end(),
                       [this](BlockId id) { return blocks_[static_cast<std::size_t>(id)].hashed; });
}

std::vector<BlockId> BlockPool::blocks_of(std::uint64_t request) const {
  const auto it = held_.find(request);
  return it == held_.end() ? std::vector<BlockId>{} : it->second;
}

std::vector<BlockId> BlockPool::free_list() const { return {free_.begin(), free_.end()}; }

bool BlockPool::grow(std::uint64_t request, TokenCount tokens) {
  const auto have = static_cast<BlockCount>(blocks_of(request).size());
  const BlockCount need = ceil_div(tokens, block_size_) - have;
  if (need > free_blocks()) return false;
  for (BlockCount i = 0; i < need; ++i) {
    const BlockId id = free_.front();
    free_.pop_front();
    forget(id);
    held_[request].push_back(id);
  }
  check();
  return true;
}

TokenCount BlockPool::cached_prefix(std::uint64_t request, TokenCount known) const {
  HEADROOM_CHECK(blocks_of(request).empty(), "a waiting request holds no block");
  const auto mine = identity_.find(request);
  if (!prefix_caching_ || mine == identity_.end()) return 0;
  const BlockCount most = (known - 1) / block_size_;
  BlockCount run = 0;
  while (run < most) {
    const auto block = mine->second.find(run);
    if (block == mine->second.end()) break;
    if (std::find(free_.begin(), free_.end(), block->second) == free_.end()) break;
    ++run;
  }
  return run * block_size_;
}

void BlockPool::touch(std::uint64_t request, TokenCount tokens) {
  HEADROOM_CHECK(blocks_of(request).empty(), "cached blocks come first");
  HEADROOM_CHECK(tokens % block_size_ == 0, "only full blocks are cached");
  for (std::int64_t number = 0; number < tokens / block_size_; ++number) {
    const BlockId id = identity_.at(request).at(number);
    const auto where = std::find(free_.begin(), free_.end(), id);
    HEADROOM_CHECK(where != free_.end(), "touched a block that is not free");
    free_.erase(where);
    held_[request].push_back(id);
  }
  check();
}

void BlockPool::release(std::uint64_t request, TokenCount held_tokens, bool keep_identity) {
  const std::vector<BlockId> mine = blocks_of(request);
  const std::int64_t full = prefix_caching_ ? held_tokens / block_size_ : 0;
  HEADROOM_CHECK(full <= static_cast<std::int64_t>(mine.size()), "more tokens than blocks");
  for (std::int64_t number = static_cast<std::int64_t>(mine.size()) - 1; number >= 0; --number) {
    const BlockId id = mine[static_cast<std::size_t>(number)];
    forget(id);
    if (number < full) {
      blocks_[static_cast<std::size_t>(id)] = {true, true, request, number};
      identity_[request][number] = id;  // the newest copy is the one that is found
      free_.push_back(id);
    } else {
      free_.push_front(id);
    }
  }
  held_.erase(request);
  if (!keep_identity) forget_request(request);
  check();
}

void BlockPool::forget_request(std::uint64_t request) {
  identity_.erase(request);
  for (Block& block : blocks_) {
    if (block.request == request) block.findable = false;
  }
}

void BlockPool::forget(BlockId id) {
  Block& block = blocks_[static_cast<std::size_t>(id)];
  if (block.findable) {
    Identity& identity = identity_.at(block.request);
    const auto entry = identity.find(block.number);
    // An older copy of content that has been released again since is no longer the one found.
    if (entry != identity.end() && entry->second == id) identity.erase(entry);
  }
  block = {};
}

void BlockPool::check() const {
  std::vector<int> owners(blocks_.size(), 0);
  for (const BlockId id : free_) ++owners[static_cast<std::size_t>(id)];
  for (const auto& entry : held_) {
    for (const BlockId id : entry.second) ++owners[static_cast<std::size_t>(id)];
  }
  const bool once = std::all_of(owners.begin(), owners.end(), [](int n) { return n == 1; });
  HEADROOM_CHECK(once, "every block is free or held by one request");
}

}  // namespace headroom::oracle
