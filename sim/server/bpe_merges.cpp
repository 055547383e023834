#include "sim/server/bpe_merges.hpp"

#include <queue>
#include <tuple>

namespace headroom {
namespace {

struct Part {
  TokenId id = 0;
  std::int32_t before = -1;
  std::int32_t next = -1;
  bool is_joined = false;  // into the one before
};

struct Candidate {
  std::int32_t rank = 0;
  std::int32_t at = 0;
  TokenId joined = 0;
};
struct Later {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return std::tie(a.rank, a.at) > std::tie(b.rank, b.at);
  }
};

}  // namespace

void BpeMerges::join(std::span<const TokenId> parts, std::vector<TokenId>& ids) const {
  std::vector<Part> word(parts.size());
  std::priority_queue<Candidate, std::vector<Candidate>, Later> queue;
  const auto size = static_cast<std::int32_t>(parts.size());
  const auto part = [&word](std::int32_t at) -> Part& {
    return word[static_cast<std::size_t>(at)];
  };
  const auto offer = [&](std::int32_t at) {
    const std::int32_t next = at < 0 ? -1 : part(at).next;
    const Pair* pair = next < 0 ? nullptr : find(part(at).id, part(next).id);
    if (pair != nullptr) queue.push({pair->rank, at, pair->joined});
  };
  for (std::int32_t i = 0; i < size; ++i) {
    part(i) = {parts[static_cast<std::size_t>(i)], i - 1, i + 1 < size ? i + 1 : -1};
  }
  for (std::int32_t i = 0; i < size; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Part& left = part(best.at);
    if (left.is_joined || left.next < 0) continue;
    const Pair* pair = find(left.id, part(left.next).id);
    // What was offered may have become another pair.
    if (pair == nullptr || pair->joined != best.joined) continue;
    part(left.next).is_joined = true;
    left.id = best.joined;
    left.next = part(left.next).next;
    if (left.next >= 0) part(left.next).before = best.at;
    offer(left.before);
    offer(best.at);
  }
  for (const Part& left : word) {
    if (!left.is_joined) ids.push_back(left.id);
  }
}

}  // namespace headroom
