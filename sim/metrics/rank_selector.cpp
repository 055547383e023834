#include "sim/metrics/rank_selector.hpp"

#include <algorithm>

namespace headroom {

void RankSelector::count_all(const RankSelector& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size(), 0);
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
}

void RankSelector::want(std::span<const std::size_t> ranks, BucketSet& wanted) {
  std::size_t before = 0;
  auto next = ranks.begin();
  for (std::size_t bucket = 0; bucket < counts_.size() && next != ranks.end(); ++bucket) {
    const std::size_t after = before + counts_[bucket];
    if (*next < after) {
      wanted.insert(bucket);
      groups_.push_back({bucket, before, {}});
      groups_.back().values.reserve(counts_[bucket]);
      while (next != ranks.end() && *next < after) ++next;
    }
    before = after;
  }
}

void RankSelector::keep(std::size_t bucket, std::int64_t value) {
  const auto group = std::ranges::find(groups_, bucket, &Group::bucket);
  if (group != groups_.end()) group->values.push_back(value);
}

std::int64_t RankSelector::value_of(std::size_t rank) {
  auto group = groups_.end();
  do --group;
  while (group->first_rank > rank);
  const auto at = group->values.begin() + static_cast<std::ptrdiff_t>(rank - group->first_rank);
  std::nth_element(group->values.begin(), at, group->values.end());
  return *at;
}

}  // namespace headroom
