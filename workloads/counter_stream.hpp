#pragma once
// Random bits by place: draw number `place` of a stream is computed on demand, independent of
// earlier draws. A stream is one number, so that every session has its own.

#include <cstdint>
#include <string_view>

#include "sim/serving/prefix.hpp"

namespace headroom {

class CounterStream {
 public:
  CounterStream() = default;  // a stream like any other; for objects that get theirs later
  CounterStream(std::uint64_t seed, std::string_view name);

  // The stream of one item of this family: session 7 of "sessions", say. Independent of `bits`.
  [[nodiscard]] CounterStream of(std::uint64_t number) const {
    return CounterStream(mixed_id(key_, number));
  }

  // 64 uniform bits: output `place` of SplitMix64 (Steele, Lea and Flood, "Fast splittable
  // pseudorandom number generators", 2014) from state `key`.
  [[nodiscard]] std::uint64_t bits(std::uint64_t place) const {
    std::uint64_t x = key_ + (place + 1) * 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

 private:
  explicit CounterStream(std::uint64_t key) : key_(key) {}

  std::uint64_t key_ = 0;
};

}  // namespace headroom
