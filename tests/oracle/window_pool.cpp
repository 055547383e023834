#include "tests/oracle/window_pool.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom::oracle {

WindowPool::WindowPool(BlockCount total, TokenCount block_size, TokenCount step_tokens,
                       bool plain_to_front, std::vector<NaiveWindow> windows, bool keeps_every,
                       bool drops_last)
    : block_size_(block_size),
      step_tokens_(step_tokens),
      plain_to_front_(plain_to_front),
      windows_(std::move(windows)),
      keeps_every_(keeps_every),
      drops_last_(drops_last),
      ids_(static_cast<std::size_t>(total)) {
  for (BlockId id = 0; id < total; ++id) free_.push_back(id);
}

BlockCount WindowPool::cached_blocks() const {
  return std::count_if(free_.begin(), free_.end(),
                       [&](BlockId id) { return ids_[static_cast<std::size_t>(id)].hashed; });
}

BlockCount WindowPool::shared_blocks() const {
  BlockCount sum = 0;
  for (const Id& id : ids_) sum += std::max(0, id.holders - 1);
  return sum;
}

void WindowPool::introduce(std::uint64_t request, std::vector<Token> beginning) {
  Sequence& seq = sequences_[request];
  seq.beginning = std::move(beginning);
  seq.tables.resize(1 + windows_.size());
}

BlockCount WindowPool::blocks(TokenCount tokens) const {
  return (tokens + block_size_ - 1) / block_size_;
}

BlockCount WindowPool::most(const NaiveWindow& window) const {
  if (!window.chunked) return blocks(window.tokens - 1) + 1;
  BlockCount touched = 0;  // by any chunk of attention; they repeat after as many as a block has
  for (TokenCount chunk = 0; chunk < block_size_; ++chunk) {
    const TokenCount begin = chunk * window.tokens;
    touched = std::max(touched, blocks(begin + window.tokens) - begin / block_size_);
  }
  return touched;
}

// Of what the token behind `tokens` attends to.
BlockCount WindowPool::first_seen(const NaiveWindow& window, TokenCount tokens) const {
  const TokenCount skipped = window.chunked ? tokens / window.tokens * window.tokens
                                            : std::max<TokenCount>(0, tokens - window.tokens + 1);
  return skipped / block_size_;
}

BlockCount WindowPool::first_in_step(const NaiveWindow& window, TokenCount before,
                                     TokenCount after) const {
  return std::min(first_seen(window, before),
                  std::max<BlockCount>(0, blocks(after) - most(window)));
}

bool WindowPool::is_private(const Sequence& seq, BlockCount number) const {
  return (number + 1) * block_size_ > static_cast<TokenCount>(seq.beginning.size());
}

WindowPool::Key WindowPool::key(std::uint64_t request, std::size_t table, BlockCount number) const {
  const Sequence& seq = sequences_.at(request);
  Content content;
  for (TokenCount at = 0; at < (number + 1) * block_size_; ++at) {
    const bool told = at < static_cast<TokenCount>(seq.beginning.size());
    content.push_back(told ? seq.beginning[static_cast<std::size_t>(at)]
                           : Token{true, request, at});
  }
  return {static_cast<int>(table), content};
}

bool WindowPool::finds(std::uint64_t request, std::size_t table, BlockCount number) const {
  return found_.find(key(request, table, number)) != found_.end();
}

// Whether everything that a sequence attends to behind `hit` blocks can be found; and behind the
// block before, if the last one is dropped.
bool WindowPool::valid(std::uint64_t request, BlockCount hit) const {
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    const BlockCount seen = first_seen(windows_[w], hit * block_size_);
    for (BlockCount n = std::max<BlockCount>(0, seen - (drops_last_ ? 1 : 0)); n < hit; ++n) {
      if (!finds(request, w + 1, n)) return false;
    }
  }
  return true;
}

TokenCount WindowPool::full_prefix(std::uint64_t request, TokenCount known) const {
  BlockCount hit = 0;
  while (hit < (known - 1) / block_size_ && finds(request, 0, hit)) ++hit;
  return hit * block_size_;
}

TokenCount WindowPool::cached_prefix(std::uint64_t request, TokenCount known) const {
  const TokenCount longest = keeps_every_ ? full_prefix(request, known) : known - 1;
  BlockCount hit = longest / block_size_;
  while (!valid(request, hit)) --hit;
  return std::max<BlockCount>(0, hit - (drops_last_ ? 1 : 0)) * block_size_;
}

BlockCount WindowPool::needed_to_admit(std::uint64_t request, TokenCount cached, TokenCount hold,
                                       TokenCount known) const {
  const BlockCount hit = cached / block_size_;
  BlockCount chunk = 0;  // of the windows: new ids of the first chunk,
  BlockCount gate = 0;   //   and of the whole prompt
  BlockCount touched = 0;
  const auto touch = [&](std::size_t table, BlockCount number) {
    for (const BlockId id : found_.at(key(request, table, number)).front()) {
      if (ids_[static_cast<std::size_t>(id)].holders == 0) ++touched;
    }
  };
  for (BlockCount n = 0; keeps_every_ && n < hit; ++n) touch(0, n);
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    const NaiveWindow& window = windows_[w];
    const auto ids = static_cast<BlockCount>(window.ids);
    const BlockCount seen = first_seen(window, cached);
    for (BlockCount n = seen; n < hit; ++n) touch(w + 1, n);
    chunk += ids * (blocks(hold) - first_in_step(window, cached, hold) - (hit - seen));
    const TokenCount in_flight = window.tokens + step_tokens_ - (window.chunked ? 0 : 1);
    const BlockCount cap = blocks(in_flight) + (window.chunked ? 0 : 1);
    gate += ids * std::max<BlockCount>(0, std::min(blocks(known), cap) - hit);
  }
  const BlockCount every = std::max(blocks(hold), blocks(known)) - hit;
  return (keeps_every_ ? every : 0) + std::max(chunk, gate) + touched;
}

WindowPool::Block WindowPool::take(std::size_t count) {
  HEADROOM_CHECK(count <= free_.size(), "the need was computed before");
  Block block;
  for (std::size_t i = 0; i < count; ++i) {
    const BlockId id = free_.front();
    free_.pop_front();
    Id& taken = ids_[static_cast<std::size_t>(id)];
    if (taken.hashed) forget(id);
    taken = {};
    taken.holders = 1;
    block.push_back(id);
  }
  return block;
}

// The block that `id` is of; it is there unless another of its ids was taken before.
void WindowPool::forget(BlockId id) {
  const auto known = found_.find(ids_[static_cast<std::size_t>(id)].key);
  if (known == found_.end()) return;
  known->second.remove_if(
      [&](const Block& block) { return std::count(block.begin(), block.end(), id) > 0; });
  if (known->second.empty()) found_.erase(known);
}

void WindowPool::hold_found(std::uint64_t request, std::size_t table, BlockCount number) {
  const Block block = found_.at(key(request, table, number)).front();
  for (const BlockId id : block) {
    if (ids_[static_cast<std::size_t>(id)].holders++ == 0) free_.remove(id);
  }
  sequences_.at(request).tables[table][number] = block;
}

void WindowPool::admit(std::uint64_t request, TokenCount cached, TokenCount hold,
                       TokenCount known) {
  const BlockCount hit = cached / block_size_;
  Sequence& seq = sequences_.at(request);
  for (BlockCount n = 0; keeps_every_ && n < hit; ++n) hold_found(request, 0, n);
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    for (BlockCount n = first_seen(windows_[w], cached); n < hit; ++n) {
      hold_found(request, w + 1, n);
    }
  }
  seq.in_path = seq.named = hit;
  take_until(request, cached, hold);
  seq.known = std::min(hold, known) / block_size_;
  name(request, seq.known, false);
}

void WindowPool::take_until(std::uint64_t request, TokenCount before, TokenCount after) {
  Sequence& seq = sequences_.at(request);
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    drop_before(seq.tables[w + 1], first_in_step(windows_[w], before, after));
  }
  for (std::size_t t = keeps_every_ ? 0 : 1; t <= windows_.size(); ++t) {
    const BlockCount first = t == 0 ? 0 : first_in_step(windows_[t - 1], before, after);
    for (BlockCount n = first; n < blocks(after); ++n) {
      Table& table = seq.tables[t];
      if (table.count(n) == 0) table[n] = take(t == 0 ? 1 : windows_[t - 1].ids);
    }
  }
  seq.tokens = after;
  computing_.push_back(request);
}

bool WindowPool::compute(std::uint64_t request, TokenCount before, TokenCount hold,
                         TokenCount known) {
  Sequence& seq = sequences_.at(request);
  BlockCount need = keeps_every_ ? blocks(hold) - blocks(before) : 0;
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    const BlockCount first = first_in_step(windows_[w], before, hold);
    const Table& table = seq.tables[w + 1];
    const auto ids = static_cast<BlockCount>(windows_[w].ids);
    for (const auto& [number, block] : table) {
      const bool frees = ids_[static_cast<std::size_t>(block.front())].holders == 1;
      if (number < first && frees) need -= ids;
    }
    for (BlockCount n = first; n < blocks(hold); ++n) need += table.count(n) == 0 ? ids : 0;
  }
  if (need > free_blocks()) return false;
  take_until(request, before, hold);
  seq.known = std::max(seq.known, std::min(hold, known) / block_size_);
  name(request, seq.known, false);
  return true;
}

void WindowPool::begin_plan() {
  for (const std::uint64_t request : computing_) trim(request);
  computing_.clear();
}

// What only a step needed comes back, last block first.
void WindowPool::trim(std::uint64_t request) {
  Sequence& seq = sequences_.at(request);
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    const BlockCount first = std::max<BlockCount>(0, blocks(seq.tokens) - most(windows_[w]));
    drop_before(seq.tables[w + 1], first);
  }
}

void WindowPool::drop_before(Table& table, BlockCount first) {
  while (!table.empty() && table.begin()->first < first) {
    const auto last = std::prev(table.lower_bound(first));
    give_back(last->second, true);
    table.erase(last);
  }
}

BlockCount WindowPool::needed_to_decode(std::uint64_t request, TokenCount tokens) const {
  if (tokens % block_size_ != 0) return 0;
  BlockCount need = keeps_every_ ? 1 : 0;
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    const auto held = static_cast<BlockCount>(sequences_.at(request).tables[w + 1].size());
    if (held < most(windows_[w])) need += static_cast<BlockCount>(windows_[w].ids);
  }
  return need;
}

void WindowPool::move(std::uint64_t request, TokenCount tokens) {
  if (tokens % block_size_ != 0) return;
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    Table& table = sequences_.at(request).tables[w + 1];
    if (tokens / block_size_ < most(windows_[w])) continue;
    while (table.rbegin()->first < blocks(tokens + 1) - 1) {
      const Block first = table.begin()->second;
      const bool frees = ids_[static_cast<std::size_t>(first.front())].holders == 1;
      if (!frees && free_.size() < windows_[w].ids) break;
      give_back(first, true);
      table.erase(table.begin());
      const BlockCount next = table.empty() ? blocks(tokens + 1) - 1 : table.rbegin()->first + 1;
      table[next] = take(windows_[w].ids);
    }
  }
}

void WindowPool::decode(std::uint64_t request, TokenCount tokens) {
  if (tokens % block_size_ != 0) return;
  Sequence& seq = sequences_.at(request);
  const BlockCount number = tokens / block_size_;
  if (keeps_every_) seq.tables[0][number] = take(1);
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    Table& table = seq.tables[w + 1];
    if (static_cast<BlockCount>(table.size()) < most(windows_[w])) {
      table[number] = take(windows_[w].ids);
    }
  }
}

void WindowPool::name(std::uint64_t request, BlockCount full, bool private_too) {
  Sequence& seq = sequences_.at(request);
  const auto become = [&](std::size_t table, BlockCount number) {
    const Block& block = seq.tables[table].at(number);
    found_[key(request, table, number)].push_back(block);
    for (const BlockId id : block) {
      ids_[static_cast<std::size_t>(id)].key = key(request, table, number);
    }
  };
  for (; keeps_every_ && seq.in_path < full && (private_too || !is_private(seq, seq.in_path));
       ++seq.in_path) {
    become(0, seq.in_path);
  }
  for (; seq.named < full && (private_too || !is_private(seq, seq.named)); ++seq.named) {
    for (std::size_t w = 1; w <= windows_.size(); ++w) {
      if (seq.tables[w].count(seq.named) > 0) become(w, seq.named);
    }
  }
}

void WindowPool::give_back(const Block& block, bool hashed) {
  for (const BlockId id : block) {
    Id& mine = ids_[static_cast<std::size_t>(id)];
    if (--mine.holders > 0) continue;
    mine.hashed = hashed;
    if (hashed || !plain_to_front_) {
      free_.push_back(id);
    } else {
      free_.push_front(id);
    }
  }
}

void WindowPool::release(std::uint64_t request, TokenCount held, KvRelease how) {
  Sequence& seq = sequences_.at(request);
  if (std::erase(computing_, request) > 0) trim(request);
  const BlockCount full =
      how == KvRelease::dropped ? seq.known : std::max(seq.known, held / block_size_);
  name(request, full, how != KvRelease::finished);
  for (Table& table : seq.tables) {
    std::for_each(table.rbegin(), table.rend(),
                  [&](const auto& entry) { give_back(entry.second, entry.first < full); });
    table.clear();
  }
  seq.tokens = 0;
  seq.known = seq.in_path = seq.named = 0;
}

}  // namespace headroom::oracle
