#include "tests/oracle/block_pool.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom::oracle {
namespace {

BlockCount ceil_div(TokenCount tokens, TokenCount size) { return (tokens + size - 1) / size; }

bool follows(const Token& token, const Token& last) {
  return token.is_private == last.is_private && token.text == last.text &&
         token.offset == last.offset + 1;
}

bool is_one_piece(const std::vector<Token>& tokens) {
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (!follows(tokens[i], tokens[i - 1])) return false;
  }
  return true;
}

TokenCount equal_tokens(const std::vector<Token>& a, const std::vector<Token>& b) {
  std::size_t tokens = 0;
  while (tokens < std::min(a.size(), b.size()) && a[tokens] == b[tokens]) ++tokens;
  return static_cast<TokenCount>(tokens);
}

// The beginnings up to the first token of each part.
std::vector<std::vector<Token>> beginnings_of(const std::vector<Token>& tokens) {
  std::vector<std::vector<Token>> all;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && follows(tokens[i], tokens[i - 1])) continue;
    all.emplace_back(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return all;
}

}  // namespace

bool NaiveTier::on_host(std::int64_t content) const {
  return std::find(host_.begin(), host_.end(), content) != host_.end();
}

void NaiveTier::write(const std::vector<std::int64_t>& contents) {
  counts.stored_blocks += renew(contents);
}

// First those that are here become the newest, then the others come.
int NaiveTier::renew(const std::vector<std::int64_t>& contents) {
  int missing = 0;
  for (const std::int64_t content : contents) {
    if (!on_host(content)) ++missing;
    host_.remove(content);
  }
  for (const std::int64_t content : contents) put(content);
  return missing;
}

void NaiveTier::store(std::int64_t content) {
  ++counts.stored_blocks;
  put(content);
}

void NaiveTier::put(std::int64_t content) {
  if (content != 0) host_.remove(content);
  host_.push_back(content);
  if (host_.size() <= host_blocks_) return;
  const std::int64_t oldest = host_.front();
  host_.pop_front();
  if (disk_blocks_ == 0) return;
  ++counts.stored_on_disk;
  if (oldest != 0) disk_.remove(oldest);
  disk_.push_back(oldest);
  if (disk_.size() > disk_blocks_) disk_.pop_front();
}

bool NaiveTier::has(std::int64_t content) const {
  return std::find(host_.begin(), host_.end(), content) != host_.end() ||
         std::find(disk_.begin(), disk_.end(), content) != disk_.end();
}

void NaiveTier::load(const std::vector<std::int64_t>& contents) {
  counts.loaded_blocks += static_cast<BlockCount>(contents.size());
  if (write_through_) {
    counts.loaded_from_disk += renew(contents);
    return;
  }
  for (const std::int64_t content : contents) take_out(content);
}

void NaiveTier::take_out(std::int64_t content) {
  if (on_host(content)) {
    host_.remove(content);
    return;
  }
  ++counts.loaded_from_disk;
  disk_.remove(content);
}

BlockPool::BlockPool(BlockCount total, TokenCount block_size, bool prefix_caching,
                     bool plain_to_front, NaiveTier* tier, PartialReuse partial)
    : block_size_(block_size),
      prefix_caching_(prefix_caching),
      plain_to_front_(plain_to_front),
      tier_(tier),
      partial_(partial),
      blocks_(static_cast<std::size_t>(total)) {
  for (BlockId id = 0; id < total; ++id) free_.push_back(id);
}

BlockCount BlockPool::total_blocks() const { return static_cast<BlockCount>(blocks_.size()); }

BlockCount BlockPool::free_blocks() const { return static_cast<BlockCount>(free_.size()); }

BlockCount BlockPool::cached_blocks() const {
  return std::count_if(free_.begin(), free_.end(), [this](BlockId id) { return block(id).hashed; });
}

BlockCount BlockPool::shared_blocks() const {
  BlockCount sum = 0;
  for (const Block& one : blocks_) sum += std::max(0, one.holders - 1);
  return sum;
}

std::vector<BlockId> BlockPool::blocks_of(std::uint64_t request) const {
  return sequence(request).held;
}

std::vector<BlockId> BlockPool::free_list() const { return {free_.begin(), free_.end()}; }

void BlockPool::introduce(std::uint64_t request, std::vector<Token> beginning) {
  HEADROOM_CHECK(sequences_.find(request) == sequences_.end(), "introduced too late");
  sequence(request).beginning = std::move(beginning);
}

bool BlockPool::grow(std::uint64_t request, TokenCount tokens, TokenCount known) {
  Sequence& mine = sequence(request);
  const BlockCount need = ceil_div(tokens, block_size_) - static_cast<BlockCount>(mine.held.size());
  if (need > free_blocks()) return false;
  for (BlockCount i = 0; i < need; ++i) {
    const BlockId id = free_.front();
    free_.pop_front();
    forget(id);
    block(id).holders = 1;
    mine.held.push_back(id);
  }
  mine.known = std::max(mine.known, std::min(tokens, known) / block_size_);
  if (prefix_caching_) make_findable(request, mine.known);
  write_through(request, mine.known);
  check();
  return true;
}

TokenCount BlockPool::cached_prefix(std::uint64_t request, TokenCount known) const {
  HEADROOM_CHECK(sequence(request).held.empty(), "a waiting request holds no block");
  if (!prefix_caching_) return 0;
  BlockCount run = 0;
  while (run < (known - 1) / block_size_ && found(request, run) >= 0) ++run;
  return run * block_size_;
}

TokenCount BlockPool::prefix_with_tier(std::uint64_t request, TokenCount known) const {
  BlockCount run = cached_prefix(request, known) / block_size_;
  while (tier_ != nullptr && prefix_caching_ && run < (known - 1) / block_size_ &&
         tier_->has(content(request, run))) {
    ++run;
  }
  return run * block_size_;
}

void BlockPool::load(std::uint64_t request, TokenCount from, TokenCount to) {
  std::vector<ContentId> contents;
  for (TokenCount at = to; at > from; at -= block_size_) {
    contents.push_back(content(request, at / block_size_ - 1));
  }
  if (!contents.empty()) tier_->load(contents);
}

BlockCount BlockPool::free_among(std::uint64_t request, TokenCount tokens) const {
  BlockCount free = 0;
  for (BlockCount number = 0; number < tokens / block_size_; ++number) {
    if (block(found(request, number)).holders == 0) ++free;
  }
  return free;
}

void BlockPool::touch(std::uint64_t request, TokenCount tokens) {
  Sequence& mine = sequence(request);
  HEADROOM_CHECK(mine.held.empty(), "cached blocks come first");
  HEADROOM_CHECK(tokens % block_size_ == 0, "only full blocks are cached");
  for (BlockCount number = 0; number < tokens / block_size_; ++number) {
    const BlockId id = found(request, number);
    HEADROOM_CHECK(id >= 0, "touched a block that cannot be found");
    if (block(id).holders++ == 0) free_.erase(std::find(free_.begin(), free_.end(), id));
    mine.held.push_back(id);
    ++mine.findable;
  }
  check();
}

TokenCount BlockPool::beginning(std::uint64_t request, TokenCount known) const {
  if (partial_ == PartialReuse::off || !prefix_caching_) return 0;
  const auto [id, tokens] = alike(request, known);
  const bool usable = id >= 0 && (partial_ == PartialReuse::copies || is_free_leaf(id));
  return usable ? tokens : 0;
}

bool BlockPool::take_over(std::uint64_t request, TokenCount known) {
  // Asked before the run in front of it was touched, so it is asked of the content.
  Sequence& mine = sequence(request);
  std::vector<BlockId> held;
  std::swap(held, mine.held);
  const BlockId id = alike(request, known).first;
  std::swap(held, mine.held);
  if (!is_free_leaf(id)) return false;
  free_.erase(std::find(free_.begin(), free_.end(), id));
  NaiveTier* const tier = std::exchange(tier_, nullptr);
  forget(id);
  tier_ = tier;
  block(id).holders = 1;
  mine.held.push_back(id);
  return true;
}

std::pair<BlockId, TokenCount> BlockPool::alike(std::uint64_t request, TokenCount known) const {
  const BlockCount run = cached_prefix(request, known) / block_size_;
  const TokenCount begin = run * block_size_;
  const std::vector<Token> wanted = told(request, begin, std::min(begin + block_size_, known - 1));
  std::pair<BlockId, TokenCount> best{-1, 0};
  if (wanted.empty()) return best;
  const ContentId parent = before(request, run);
  for (const auto& [content, content_id] : contents_) {
    const auto entry = found_.find(content_id);
    if (content.parent != parent || entry == found_.end() || !is_one_piece(content.tokens))
      continue;
    const TokenCount tokens = equal_tokens(wanted, content.tokens);
    if (tokens > best.second) best = {entry->second.front(), tokens};
  }
  for (const std::vector<Token>& start : beginnings_of(wanted)) {
    const auto entry = beginnings_.find({parent, start});
    if (entry == beginnings_.end()) continue;
    const BlockId id = at_the_end_of(entry->second);
    const TokenCount tokens = equal_tokens(wanted, block(id).begins);
    if (tokens > best.second) best = {id, tokens};
  }
  return best;
}

bool BlockPool::is_free_leaf(BlockId id) const {
  if (block(id).holders > 0) return false;
  const auto here = found_.find(block(id).content);
  if (here == found_.end() || here->second.front() != id)
    return true;  // nobody can find what follows it
  for (const auto& [content, content_id] : contents_) {
    if (content.parent == block(id).content && found_.count(content_id) > 0) return false;
  }
  return std::none_of(beginnings_.begin(), beginnings_.end(), [&](const auto& entry) {
    return block(at_the_end_of(entry.second)).parent == block(id).content;
  });
}

BlockId BlockPool::at_the_end_of(const Way& way) const {
  return way.first == 0 ? way.second : found_.at(way.first).front();
}

BlockPool::ContentId BlockPool::before(std::uint64_t request, BlockCount number) const {
  return number == 0 ? 0 : content(request, number - 1);
}

std::vector<Token> BlockPool::told(std::uint64_t request, TokenCount from, TokenCount to) const {
  const std::vector<Token>& all = sequence(request).beginning;
  const TokenCount end = std::min(to, static_cast<TokenCount>(all.size()));
  if (from >= end) return {};
  return {all.begin() + from, all.begin() + end};
}

void BlockPool::find_by_beginning(BlockId id, ContentId parent, std::vector<Token> begins) {
  const ContentId content = found_.count(block(id).content) > 0 ? block(id).content : 0;
  for (const std::vector<Token>& start : beginnings_of(begins)) {
    beginnings_[{parent, start}] = {content, content == 0 ? id : 0};
  }
  block(id).parent = parent;
  block(id).begins = std::move(begins);
}

void BlockPool::find_by_beginning(std::uint64_t request, BlockCount number, TokenCount end) {
  const TokenCount begin = number * block_size_;
  find_by_beginning(sequence(request).held[static_cast<std::size_t>(number)],
                    before(request, number),
                    told(request, begin, std::min(end, begin + block_size_)));
}

void BlockPool::release(std::uint64_t request, TokenCount named_tokens, KvRelease how) {
  Sequence& mine = sequence(request);
  BlockCount full = mine.known;
  if (how != KvRelease::dropped) full = std::max(full, named_tokens / block_size_);
  if (!prefix_caching_) full = 0;
  HEADROOM_CHECK(full <= static_cast<BlockCount>(mine.held.size()), "more tokens than blocks");
  make_findable(request, full);
  write_through(request, full);
  BlockCount tip = -1;
  if (partial_ != PartialReuse::off && prefix_caching_ && how != KvRelease::dropped &&
      !told(request, mine.findable * block_size_, named_tokens).empty()) {
    tip = mine.findable;
  }
  for (auto number = static_cast<BlockCount>(mine.held.size()) - 1; number >= 0; --number) {
    const BlockId id = mine.held[static_cast<std::size_t>(number)];
    if (--block(id).holders > 0) continue;
    const bool across = number < mine.findable && partial_ != PartialReuse::off &&
                        !is_one_piece(tokens_of(request, number));
    if (across || number == tip) find_by_beginning(request, number, named_tokens);
    if (number == tip && number >= full) block(id).hashed = true;
    if (number < full || number == tip || !plain_to_front_) {
      free_.push_back(id);
    } else {
      free_.push_front(id);
    }
  }
  mine.held.clear();
  mine.findable = mine.known = mine.written = 0;
  if (how == KvRelease::finished) forget_request(request);
  check();
}

// A block is private as soon as its last token is: nothing but private follows a private token.
void BlockPool::forget_request(std::uint64_t request) {
  const Sequence& mine = sequence(request);
  const auto told = static_cast<TokenCount>(mine.beginning.size());
  for (std::size_t number = 0; number < mine.chain.size(); ++number) {
    const TokenCount end = (static_cast<TokenCount>(number) + 1) * block_size_;
    const auto entry = found_.find(mine.chain[number]);
    if (end <= told || entry == found_.end()) continue;
    for (auto& [start, way] : beginnings_) {
      if (way.first == entry->first) way = {0, entry->second.back()};
    }
    found_.erase(entry);
  }
}

BlockPool::ContentId BlockPool::content(std::uint64_t request, BlockCount number) const {
  Sequence& mine = sequence(request);
  while (static_cast<BlockCount>(mine.chain.size()) <= number) {
    Content next{mine.chain.empty() ? 0 : mine.chain.back(), {}};
    const auto begin = static_cast<TokenCount>(mine.chain.size()) * block_size_;
    for (TokenCount at = begin; at < begin + block_size_; ++at) {
      const bool told = at < static_cast<TokenCount>(mine.beginning.size());
      next.tokens.push_back(told ? mine.beginning[static_cast<std::size_t>(at)]
                                 : Token{true, request, at});
    }
    const auto new_id = static_cast<ContentId>(contents_.size()) + 1;
    mine.chain.push_back(contents_.emplace(next, new_id).first->second);
  }
  return mine.chain[static_cast<std::size_t>(number)];
}

// Of a full block; those of a request alone are of no piece.
std::vector<Token> BlockPool::tokens_of(std::uint64_t request, BlockCount number) const {
  const ContentId wanted = content(request, number);
  for (const auto& [content, content_id] : contents_) {
    if (content_id == wanted) return content.tokens;
  }
  return {};
}

BlockId BlockPool::found(std::uint64_t request, BlockCount number) const {
  const auto entry = found_.find(content(request, number));
  return entry == found_.end() ? -1 : entry->second.front();
}

// The first `full` blocks that the request holds are full and their tokens are known.
void BlockPool::make_findable(std::uint64_t request, BlockCount full) {
  Sequence& mine = sequence(request);
  for (BlockCount number = mine.findable; number < full; ++number) {
    const BlockId id = mine.held[static_cast<std::size_t>(number)];
    block(id).hashed = true;
    block(id).content = content(request, number);
    found_[block(id).content].push_back(id);
    ++mine.findable;
    const TokenCount end = (number + 1) * block_size_;
    const bool all_told = end <= static_cast<TokenCount>(mine.beginning.size());
    if (partial_ != PartialReuse::off && all_told && !is_one_piece(tokens_of(request, number))) {
      find_by_beginning(request, number, end);
    }
  }
}

// What is full and has not been written goes to the tier, last block first.
void BlockPool::write_through(std::uint64_t request, BlockCount full) {
  if (tier_ == nullptr || !tier_->writes_through() || !prefix_caching_) return;
  Sequence& mine = sequence(request);
  std::vector<ContentId> contents;
  for (BlockCount number = full - 1; number >= mine.written; --number) {
    contents.push_back(content(request, number));
  }
  tier_->write(contents);
  mine.written = std::max(mine.written, full);
}

void BlockPool::forget(BlockId id) {
  const ContentId content = block(id).content;
  const auto entry = found_.find(content);
  const bool known = block(id).hashed && entry != found_.end() &&
                     std::count(entry->second.begin(), entry->second.end(), id) > 0;
  const bool goes_out = tier_ != nullptr && !tier_->writes_through();
  if (block(id).hashed && goes_out) tier_->store(known ? content : 0);
  if (known) entry->second.remove(id);
  const bool was_last = known && entry->second.empty();
  if (was_last) found_.erase(entry);
  for (const std::vector<Token>& start : beginnings_of(block(id).begins)) {
    const auto way = beginnings_.find({block(id).parent, start});
    if (way == beginnings_.end()) continue;
    const bool leads_here = way->second.first == 0 ? way->second.second == id
                                                   : was_last && way->second.first == content;
    if (leads_here) beginnings_.erase(way);
  }
  block(id) = {};
}

void BlockPool::check() const {
  std::vector<int> places(blocks_.size(), 0);
  for (const BlockId id : free_) ++places[static_cast<std::size_t>(id)];
  std::vector<int> holders(blocks_.size(), 0);
  for (const auto& entry : sequences_) {
    for (const BlockId id : entry.second.held) ++holders[static_cast<std::size_t>(id)];
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    HEADROOM_CHECK(holders[i] == blocks_[i].holders && places[i] == (holders[i] == 0 ? 1 : 0),
                   "every block is in the free list, once, or held");
  }
}

}  // namespace headroom::oracle
