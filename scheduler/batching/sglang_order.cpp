#include "scheduler/batching/sglang_order.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

namespace {

constexpr std::int64_t kMostForPrefixOrder = 128;  // SGLang, _determine_active_policy
constexpr TokenCount kFewCachedTokens = 32;        // IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD
constexpr TokenCount kManySharedTokens = 32;       // ..._DEPRIORITIZE_THRESHOLD

std::int32_t cached_pieces(const Request& request, TokenCount cached) {
  std::int32_t pieces = 0;
  for (const PrefixSegment& piece : request.prefix) {
    if (cached <= 0) break;
    cached -= piece.tokens;
    ++pieces;
  }
  return pieces;
}

}  // namespace

TokenCount shared_prefix_tokens(const Request& a, const Request& b) {
  TokenCount shared = 0;
  const std::size_t pieces = std::min(a.prefix.size(), b.prefix.size());
  for (std::size_t i = 0; i < pieces && a.prefix[i].id == b.prefix[i].id; ++i) {
    shared += std::min(a.prefix[i].tokens, b.prefix[i].tokens);
    if (a.prefix[i].tokens != b.prefix[i].tokens) break;
  }
  return shared;
}

SglangQueue::SglangQueue(SglangOrder order, std::uint64_t seed)
    : order_(order), stream_(seed, "scheduler/order") {}

bool SglangQueue::later(const Keyed& a, const Keyed& b) {
  return std::tie(a.key, a.place) > std::tie(b.key, b.place);
}

void SglangQueue::enqueue(RequestId id, const Request& request) {
  list_.push_back(id);
  if (!keyed()) return;
  if (id >= place_of_.size()) place_of_.resize(id + 1);
  place_of_[id] = ++entries_;
  auto key = static_cast<std::uint64_t>(INT32_MAX - request.max_tokens);
  if (order_ == SglangOrder::random) key = stream_.bits();
  heap_.push_back({key, entries_, id});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void SglangQueue::remove(RequestId id) {
  list_.remove(id);
  if (!keyed()) return;
  place_of_[id] = 0;
  drop_void_keys();
}

void SglangQueue::drop_void_keys() {
  const auto is_void = [this](const Keyed& entry) { return place_of_[entry.id] != entry.place; };
  if (std::ssize(heap_) > 2 * list_.size() + 64) {
    std::erase_if(heap_, is_void);
    std::make_heap(heap_.begin(), heap_.end(), later);
  }
  while (!heap_.empty() && is_void(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }
}

void SglangQueue::arrange(const PlanContext& context) {
  use_arranged_ = order_ == SglangOrder::dfs_weight ||
                  (order_ == SglangOrder::lpm && list_.size() <= kMostForPrefixOrder);
  if (!use_arranged_) return;
  arranged_.clear();
  cursor_ = 0;
  if (order_ == SglangOrder::lpm) {
    arrange_by_prefix(context);
  } else {
    arrange_by_tree(context);
  }
}

RequestId SglangQueue::front() const {
  if (list_.empty()) return kNoRequest;
  if (use_arranged_) return arranged_[cursor_].id;
  return keyed() ? heap_.front().id : list_.front();
}

void SglangQueue::pop_front() {
  const RequestId id = front();
  HEADROOM_CHECK(list_.contains(id), "the front of the queue does not wait");
  remove(id);
  if (use_arranged_) ++cursor_;
}

void SglangQueue::arrange_by_prefix(const PlanContext& context) {
  firsts_.clear();
  std::int64_t place = 0;
  for (RequestId id = list_.front(); id != kNoRequest; id = list_.after(id)) {
    const Request& request = context.requests[id];
    const TokenCount cached = context.kv.cached_prefix(id, request);
    std::int64_t key = -cached;
    if (cached <= kFewCachedTokens && !request.prefix.empty()) {
      const bool repeats = std::any_of(firsts_.begin(), firsts_.end(), [&](RequestId first) {
        return shared_prefix_tokens(context.requests[first], request) >= kManySharedTokens;
      });
      if (repeats) {
        key = 1;  // behind all others, whose keys are at most 0
      } else {
        firsts_.push_back(id);
      }
    }
    arranged_.push_back({.key = key, .place = place++, .id = id});
  }
  std::sort(arranged_.begin(), arranged_.end(), [](const Arranged& a, const Arranged& b) {
    return std::tie(a.key, a.place) < std::tie(b.key, b.place);
  });
}

void SglangQueue::arrange_by_tree(const PlanContext& context) {
  std::int64_t place = 0;
  for (RequestId id = list_.front(); id != kNoRequest; id = list_.after(id)) {
    const Request& request = context.requests[id];
    const TokenCount cached = context.kv.cached_prefix(id, request);
    arranged_.push_back({.place = place++, .id = id, .depth = cached_pieces(request, cached)});
  }
  branches_.clear();
  visit_tree(context, 0, place, 0);
}

// Orders arranged_[begin, end), the requests below one node at `depth`, which are in order of
// place.
void SglangQueue::visit_tree(const PlanContext& context, std::int64_t begin, std::int64_t end,
                             std::int32_t depth) {
  if (end - begin <= 1) return;
  const auto level = static_cast<std::size_t>(depth);
  const auto piece = [&](const Arranged& a) { return context.requests[a.id].prefix[level].id; };
  const auto first = arranged_.begin() + begin;
  const auto last = arranged_.begin() + end;
  const auto own =
      std::stable_partition(first, last, [depth](const Arranged& a) { return a.depth > depth; });
  std::sort(first, own, [&](const Arranged& a, const Arranged& b) {
    return std::pair(piece(a), a.place) < std::pair(piece(b), b.place);
  });

  const std::size_t mine = branches_.size();
  for (auto at = first; at != own;) {
    const auto next =
        std::find_if(at, own, [&](const Arranged& a) { return piece(a) != piece(*at); });
    branches_.push_back({at - arranged_.begin(), next - arranged_.begin(), at->place});
    at = next;
  }
  std::sort(branches_.begin() + static_cast<std::ptrdiff_t>(mine), branches_.end(),
            [](const Branch& a, const Branch& b) {
              return std::pair(a.begin - a.end, a.first_place) <
                     std::pair(b.begin - b.end, b.first_place);
            });
  spare_.assign(first, own);
  std::int64_t to = begin;
  for (std::size_t i = mine; i < branches_.size(); ++i) {
    Branch& branch = branches_[i];
    const auto from = spare_.begin() + (branch.begin - begin);
    const std::int64_t size = branch.end - branch.begin;
    std::copy(from, from + size, arranged_.begin() + to);
    branch.begin = to;
    to += size;
    branch.end = to;
  }
  for (std::size_t i = mine; i < branches_.size(); ++i) {
    const Branch branch = branches_[i];
    visit_tree(context, branch.begin, branch.end, depth + 1);
  }
  branches_.resize(mine);
}

}  // namespace headroom
