#include "sim/kernel/digest.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace headroom::digest_test {
namespace {

template <typename... Ts>
std::string digest_of(const Ts&... values) {
  Digest digest;
  (digest.add(values), ...);
  return digest.hex();
}

TEST_CASE("SHA-256 of the FIPS 180-4 examples", "[digest]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the bytes are cut", "[digest]") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<char>(i * 7));
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::string_view text = std::string_view(bytes).substr(0, length);
    Sha256 in_parts;
    for (std::size_t at = 0; at < length; at += 13) in_parts.update(text.substr(at, 13));
    REQUIRE(in_parts.hex() == sha256_hex(text));
  }
}

TEST_CASE("SHA-256 may be asked for between updates", "[digest]") {
  Sha256 hash;
  hash.update("ab");
  CHECK(hash.hex() == sha256_hex("ab"));
  hash.update("c");
  CHECK(hash.hex() == sha256_hex("abc"));
}

TEST_CASE("a digest is the recorded one on every compiler and machine", "[digest]") {
  CHECK(digest_of() == "323def0871273387317e5b4f054ca626");
  CHECK(digest_of(1, 2, "three", 4.0, -5, Int128{6} << 70) == "e33c60b5a8af3d34bd5ccdb8606b95d2");
}

TEST_CASE("a digest depends on every value and on their order", "[digest]") {
  CHECK(digest_of(1, 2) == digest_of(1, 2));
  CHECK(digest_of(1, 2) != digest_of(2, 1));
  CHECK(digest_of(0) != digest_of());
  CHECK(digest_of(0, 0) != digest_of(0));
  CHECK(digest_of(0.0) != digest_of(-0.0));
  CHECK(digest_of(Int128{1} << 64) != digest_of(Int128{1}));
}

TEST_CASE("a digest sees where strings end", "[digest]") {
  CHECK(digest_of("ab", "c") != digest_of("a", "bc"));
  CHECK(digest_of("") != digest_of());
  CHECK(digest_of(std::string("a\0", 2)) != digest_of("a"));
  CHECK(digest_of("12345678", "9") != digest_of("123456789"));
}

TEST_CASE("a digest sees the value of an integer, not its type", "[digest]") {
  CHECK(digest_of(std::int8_t{-3}) == digest_of(std::int64_t{-3}));
  CHECK(digest_of(std::uint16_t{3}) == digest_of(std::int64_t{3}));
}

TEST_CASE("each half of the digest alone tells short inputs apart", "[digest]") {
  std::set<std::string> left;
  std::set<std::string> right;
  for (int i = -200; i < 200; ++i) {
    for (int j = -200; j < 200; ++j) {
      const std::string hex = digest_of(i, j);
      left.insert(hex.substr(0, 16));
      right.insert(hex.substr(16));
    }
  }
  CHECK(left.size() == 160'000);
  CHECK(right.size() == 160'000);
}

}  // namespace
}  // namespace headroom::digest_test
