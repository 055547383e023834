#include "sim/kernel/digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace headroom {
namespace {

// FIPS 180-4, 4.2.2: fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Final mix of splitmix64: every bit of the input moves every bit of the result.
std::uint64_t avalanche(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

using Schedule = std::array<std::uint32_t, 64>;

Schedule message_schedule(const unsigned char* block) {
  Schedule w{};
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned char* b = block + 4 * i;
    w[i] = (std::uint32_t{b[0]} << 24) | (std::uint32_t{b[1]} << 16) | (std::uint32_t{b[2]} << 8) |
           std::uint32_t{b[3]};
  }
  for (std::size_t i = 16; i < w.size(); ++i) {
    const std::uint32_t x = w[i - 15];
    const std::uint32_t y = w[i - 2];
    const std::uint32_t s0 = std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
    const std::uint32_t s1 = std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  return w;
}

}  // namespace

void Digest::add(double value) { add_word(std::bit_cast<std::uint64_t>(value)); }

void Digest::add(std::string_view text) {
  add_word(text.size());
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t byte = i % 8;
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * byte);
    if (byte == 7 || i + 1 == text.size()) {
      add_word(word);
      word = 0;
    }
  }
}

std::string Digest::hex() const {
  const std::uint64_t a = avalanche(first_ + words_ * kSecondPrime);
  const std::uint64_t b = avalanche(second_ ^ a);
  return fmt::format("{:016x}{:016x}", a, b);
}

void Sha256::compress(const unsigned char* block) {
  const Schedule w = message_schedule(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  // One round; the variables change places from call to call, so that none is moved.
  const auto round = [&w](std::uint32_t p, std::uint32_t q, std::uint32_t r, std::uint32_t& s,
                          std::uint32_t t, std::uint32_t u, std::uint32_t v, std::uint32_t& x,
                          std::size_t i) {
    const std::uint32_t s1 = std::rotr(t, 6) ^ std::rotr(t, 11) ^ std::rotr(t, 25);
    const std::uint32_t t1 = x + s1 + (v ^ (t & (u ^ v))) + kRoundConstants[i] + w[i];
    const std::uint32_t s0 = std::rotr(p, 2) ^ std::rotr(p, 13) ^ std::rotr(p, 22);
    s += t1;
    x = t1 + s0 + (((p | q) & r) | (p & q));
  };
  for (std::size_t i = 0; i < w.size(); i += 8) {
    round(a, b, c, d, e, f, g, h, i);
    round(h, a, b, c, d, e, f, g, i + 1);
    round(g, h, a, b, c, d, e, f, i + 2);
    round(f, g, h, a, b, c, d, e, i + 3);
    round(e, f, g, h, a, b, c, d, i + 4);
    round(d, e, f, g, h, a, b, c, i + 5);
    round(c, d, e, f, g, h, a, b, i + 6);
    round(b, c, d, e, f, g, h, a, i + 7);
  }
  const std::array<std::uint32_t, 8> change{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += change[i];
}

void Sha256::update(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t used = length_bytes_ % pending_.size();
    const std::size_t part = std::min(bytes.size(), pending_.size() - used);
    length_bytes_ += part;
    if (part == pending_.size()) {
      compress(reinterpret_cast<const unsigned char*>(bytes.data()));
    } else {
      std::copy_n(bytes.begin(), part, pending_.begin() + static_cast<std::ptrdiff_t>(used));
      if (used + part == pending_.size()) compress(pending_.data());
    }
    bytes.remove_prefix(part);
  }
}

std::string Sha256::hex() const {
  // Padding: a one bit, zeros, and the length in bits as 64 bits, big-endian, ending a block.
  Sha256 last = *this;
  const std::uint64_t length_bits = length_bytes_ * 8;
  std::string padding(1, '\x80');
  padding.append((119 - length_bytes_ % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    padding.push_back(static_cast<char>((length_bits >> shift) & 0xff));
  }
  last.update(padding);
  std::string text;
  for (const std::uint32_t word : last.state_) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace headroom
