#pragma once
// A value for each replica that is heard of, from number 0 on.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/likely.hpp"

namespace headroom {

template <typename T>
class PerReplica {
 public:
  // Creates missing entries up to it. Every report needs one, and computing the vector's size would
  // need a division by sizeof(T).
  [[nodiscard]] T& operator[](std::uint16_t replica) {
    if (rarely(replica >= count_)) grow_to(replica);
    return values_[replica];
  }
  // replica < size().
  [[nodiscard]] const T& operator[](std::uint16_t replica) const { return values_[replica]; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::span<T> all() { return values_; }
  [[nodiscard]] std::span<const T> all() const { return values_; }

 private:
  [[gnu::noinline]] void grow_to(std::uint16_t replica) {
    values_.resize(std::size_t{replica} + 1);
    count_ = values_.size();
  }

  std::vector<T> values_;
  std::size_t count_ = 0;  // of these
};

}  // namespace headroom
