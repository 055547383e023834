#pragma once
// Two hashes. `Digest`: a fast fingerprint of a run (all records in order), to compare two runs or
// a run with its golden value; not cryptographic. `Sha256`: the standard hash (FIPS 180-4), to
// record which trace file a result came from.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/kernel/time.hpp"

namespace headroom {

// 2 x 64 bits over a sequence of 64-bit words; the same on every machine. Integers are widened to
// 64 bits (sign-extended if signed), so the type does not matter, only the value. A string is its
// length and its bytes, packed little-endian: ("ab", "c") and ("a", "bc") differ.
class Digest {
 public:
  template <std::integral T>
  void add(T value) {
    add_word(static_cast<std::uint64_t>(value));
  }
  void add(Int128 value) {  // two words, the lower one first
    add_word(static_cast<std::uint64_t>(value));
    add_word(static_cast<std::uint64_t>(value >> 64));
  }
  void add(double value);  // its bits
  void add(std::string_view text);

  // 32 lower-case hex digits of all that was added so far; more may be added afterwards.
  [[nodiscard]] std::string hex() const;

 private:
  void add_word(std::uint64_t word) {
    first_ = (first_ ^ word) * kFirstPrime;
    first_ ^= first_ >> 32;
    second_ = rotate_left(second_ + word * kSecondPrime) * kThirdPrime;
    ++words_;
  }
  static constexpr std::uint64_t rotate_left(std::uint64_t x) { return (x << 31) | (x >> 33); }

  // The odd constants of xxHash64.
  static constexpr std::uint64_t kThirdPrime = 0x9E3779B185EBCA87;
  static constexpr std::uint64_t kSecondPrime = 0xC2B2AE3D27D4EB4F;
  static constexpr std::uint64_t kFirstPrime = 0x165667B19E3779F9;

  std::uint64_t first_ = 0x27D4EB2F165667C5;
  std::uint64_t second_ = 0x85EBCA77C2B2AE63;
  std::uint64_t words_ = 0;
};

class Sha256 {
 public:
  void update(std::string_view bytes);
  // 64 lower-case hex digits of all bytes so far; more may be added afterwards.
  [[nodiscard]] std::string hex() const;

 private:
  void compress(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};  // bytes of an unfinished block
  std::uint64_t length_bytes_ = 0;
};

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace headroom
