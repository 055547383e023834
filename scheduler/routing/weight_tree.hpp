#pragma once
// Whole weights of the replicas with their running sums (a Fenwick tree): O(log n) for a change and
// to find the replica at a point of the sum. Sums are exact, so choices depend on nothing else.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {

class WeightTree {
 public:
  void resize(std::size_t count) {
    sums_.assign(count + 1, 0);
    weights_.assign(count, 0);
    total_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return weights_.size(); }
  [[nodiscard]] std::int64_t total() const { return total_; }

  void set(std::size_t entry, std::int64_t weight) {
    const std::int64_t more = weight - weights_[entry];
    if (more == 0) return;
    weights_[entry] = weight;
    total_ += more;
    for (std::size_t i = entry + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += more;
  }

  // The entry whose part of [0, total) holds `point`.
  [[nodiscard]] std::uint32_t at(std::int64_t point) const {
    std::size_t position = 0;
    std::size_t step = 1;
    while (step * 2 < sums_.size()) step *= 2;
    for (; step > 0; step /= 2) {
      if (position + step >= sums_.size() || sums_[position + step] > point) continue;
      position += step;
      point -= sums_[position];
    }
    return static_cast<std::uint32_t>(position);
  }

 private:
  std::vector<std::int64_t> sums_;
  std::vector<std::int64_t> weights_;
  std::int64_t total_ = 0;
};

}  // namespace headroom
