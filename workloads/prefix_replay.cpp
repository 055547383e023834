#include "workloads/prefix_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::uint64_t kEmptyPrefix = 0;  // the chain before the first piece
constexpr int kFirstTableBits = 10;

double ratio(double part, std::int64_t whole) {
  return whole > 0 ? part / static_cast<double>(whole) : 0.0;
}

std::int64_t checked_tokens(std::int32_t prompt_tokens, std::span<const PrefixSegment> prefix) {
  std::int64_t sum = 0;
  for (const PrefixSegment& piece : prefix) {
    HEADROOM_CHECK(piece.tokens >= 1, "a piece of a prompt without tokens");
    sum += piece.tokens;
  }
  HEADROOM_CHECK(prompt_tokens >= 1 && sum <= prompt_tokens,
                 fmt::format("pieces of {} tokens in a prompt of {}", sum, prompt_tokens));
  return sum;
}

}  // namespace

double PrefixReplayTotals::hit_ratio_blocks() const {
  return ratio(static_cast<double>(hit_blocks), blocks);
}

double PrefixReplayTotals::hit_ratio_tokens() const {
  return ratio(static_cast<double>(hit_tokens), input_tokens);
}

double PrefixReplayTotals::capped_hit_ratio_tokens() const {
  return ratio(static_cast<double>(capped_hit_tokens), input_tokens);
}

double PrefixReplayTotals::mean_request_ratio() const { return ratio(request_ratio_sum, requests); }

PrefixReplay::PrefixReplay(const PrefixReplayOptions& options)
    : options_(options),
      random_(options.seed, "prefix_replay/eviction"),
      nodes_(1),
      table_(std::size_t{1} << kFirstTableBits),
      table_bits_(kFirstTableBits) {
  if (options.block_tokens < 1) {
    throw ConfigError(fmt::format("prefix replay: block_tokens is {}; allowed: at least 1",
                                  options.block_tokens));
  }
  if (options.capacity_blocks.value_or(0) < 0) {
    throw ConfigError(fmt::format("prefix replay: capacity_blocks is {}; allowed: at least 0",
                                  *options.capacity_blocks));
  }
}

std::int64_t PrefixReplay::add(std::int32_t prompt_tokens, std::span<const PrefixSegment> prefix) {
  const std::int64_t prefix_tokens = checked_tokens(prompt_tokens, prefix);
  cut(prefix);
  const auto first_miss = std::ranges::find_if(
      path_, [this](std::uint32_t node) { return nodes_[node].next == kAbsent; });
  const std::int64_t hit = first_miss - path_.begin();
  count(prompt_tokens, prefix_tokens, hit);

  if (options_.touch == PrefixTouch::root_oldest) {
    for (const std::uint32_t node : path_) touch(node);
  } else {
    std::for_each(path_.rbegin(), path_.rend(), [this](std::uint32_t node) { touch(node); });
  }
  if (options_.capacity_blocks) {
    while (resident_ > *options_.capacity_blocks) evict_one();
  }
  return hit;
}

// A block's key represents the prompt up to the block's last token: the pieces before the one that
// holds this token, with their lengths, then that piece's id and the place in it. So a piece that
// ends at a place and a longer one of the same id are equal up to there, and not further.
void PrefixReplay::cut(std::span<const PrefixSegment> prefix) {
  path_.clear();
  std::uint64_t chain = kEmptyPrefix;
  std::int64_t block_end = options_.block_tokens;  // of the next block, counted from the piece
  for (const PrefixSegment& piece : prefix) {
    const std::uint64_t within = mixed_id(chain, piece.id);
    for (; block_end <= piece.tokens; block_end += options_.block_tokens) {
      path_.push_back(node_of(mixed_id(within, static_cast<std::uint64_t>(block_end))));
    }
    chain = mixed_id(within, static_cast<std::uint64_t>(piece.tokens));
    block_end -= piece.tokens;
  }
  // No full block ends where a partial one does, so the two never share a key.
  const bool has_partial = block_end < options_.block_tokens;
  if (options_.count_partial && has_partial) path_.push_back(node_of(chain));
}

// Keys are the results of mixed_id, so their upper bits are as good as any hash of them.
std::size_t PrefixReplay::place_of(std::uint64_t key) const {
  const std::size_t mask = table_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(key);
  std::size_t place = key >> (64 - table_bits_);
  for (; table_[place].node != 0; place = (place + 1) & mask) {
    if (table_[place].tag == tag && nodes_[table_[place].node].key == key) break;
  }
  return place;
}

std::uint32_t PrefixReplay::node_of(std::uint64_t key) {
  const std::size_t place = place_of(key);
  if (table_[place].node != 0) return table_[place].node;
  HEADROOM_CHECK(nodes_.size() < kAbsent, "a prefix replay numbers at most 2^32 - 2 blocks");
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.key = key, .prev = kRing, .next = kAbsent});
  table_[place] = {.node = node, .tag = static_cast<std::uint32_t>(key)};
  ++totals_.distinct_blocks;
  if (nodes_.size() > table_.size() / 2) grow_table();
  return node;
}

void PrefixReplay::grow_table() {
  ++table_bits_;
  table_.assign(table_.size() * 2, {});
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    const std::uint64_t key = nodes_[i].key;
    table_[place_of(key)] = {.node = static_cast<std::uint32_t>(i),
                             .tag = static_cast<std::uint32_t>(key)};
  }
}

void PrefixReplay::count(std::int32_t prompt_tokens, std::int64_t prefix_tokens, std::int64_t hit) {
  const auto blocks = static_cast<std::int64_t>(path_.size());
  const std::int64_t block_tokens = options_.block_tokens;
  const std::int64_t capped = std::min(hit, (prompt_tokens - 1) / block_tokens);
  ++totals_.requests;
  totals_.input_tokens += prompt_tokens;
  totals_.prefix_tokens += prefix_tokens;
  totals_.blocks += blocks;
  totals_.hit_blocks += hit;
  totals_.hit_tokens += std::min(hit * block_tokens, prefix_tokens);
  totals_.capped_hit_blocks += capped;
  totals_.capped_hit_tokens += std::min(capped * block_tokens, prefix_tokens);
  totals_.requests_with_hit += hit > 0 ? 1 : 0;
  totals_.max_hit_blocks = std::max(totals_.max_hit_blocks, hit);
  totals_.request_ratio_sum += ratio(static_cast<double>(hit), blocks);
}

void PrefixReplay::touch(std::uint32_t node) {
  const bool resident = nodes_[node].next != kAbsent;
  if (resident) {
    if (options_.eviction != PrefixEviction::lru || !options_.capacity_blocks) return;
    unlink(node);
    link_newest(node);
    return;
  }
  ++resident_;
  nodes_[node].next = kRing;
  if (!options_.capacity_blocks) return;  // nothing will leave: no order is needed
  if (options_.eviction == PrefixEviction::random) {
    pool_.push_back(node);
  } else {
    link_newest(node);
  }
}

void PrefixReplay::link_newest(std::uint32_t node) {
  const std::uint32_t newest = nodes_[kRing].prev;
  nodes_[node].prev = newest;
  nodes_[node].next = kRing;
  nodes_[newest].next = node;
  nodes_[kRing].prev = node;
}

void PrefixReplay::unlink(std::uint32_t node) {
  const Node& gone = nodes_[node];
  nodes_[gone.prev].next = gone.next;
  nodes_[gone.next].prev = gone.prev;
}

void PrefixReplay::evict_one() {
  std::uint32_t victim = nodes_[kRing].next;  // the oldest
  if (options_.eviction == PrefixEviction::random) {
    const std::int64_t drawn = random_.uniform_int(0, resident_ - 1);
    std::uint32_t& place = pool_[static_cast<std::size_t>(drawn)];
    victim = place;
    place = pool_.back();
    pool_.pop_back();
  } else {
    unlink(victim);
  }
  nodes_[victim].next = kAbsent;
  --resident_;
  ++totals_.evictions;
}

}  // namespace headroom
