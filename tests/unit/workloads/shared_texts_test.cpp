#include "workloads/shared_texts.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "workloads/popularity.hpp"

namespace headroom::shared_texts_test {
namespace {

constexpr SharedTextNames kNames{
    .option = "documents", .lengths = "lengths/document", .identities = "identities/document"};

SharedTexts texts(const SharedTextOptions& options, const char* scope = "") {
  return SharedTexts(options, kNames, 3, scope);
}

}  // namespace

TEST_CASE("equally popular items are equal parts of the draws", "[workloads]") {
  for (const std::int64_t count : {1, 7, 4096, 4097, 10'000'000}) {
    const Popularity popularity(count, 0.0);
    const auto places = static_cast<double>(count);
    for (const std::int64_t item : {std::int64_t{1}, count / 2 + 1, count - count / 4, count}) {
      CHECK(popularity((static_cast<double>(item) - 0.99) / places) == item);
      CHECK(popularity((static_cast<double>(item) - 0.01) / places) == item);
    }
  }
}

TEST_CASE("popularity falls by the law's power", "[workloads]") {
  // Weights 1, 1/2, 1/3: sums 6/11, 9/11, 1.
  const Popularity three(3, 1.0);
  CHECK(three(5.99 / 11.0) == 1);
  CHECK(three(6.01 / 11.0) == 2);
  CHECK(three(8.99 / 11.0) == 2);
  CHECK(three(9.01 / 11.0) == 3);
}

TEST_CASE("the tail behind the table goes on where the table ends", "[workloads]") {
  for (const double exponent : {0.0, 0.5, 1.0, 1.3, 2.0}) {
    constexpr std::int64_t kCount = 20'000;
    const Popularity popularity(kCount, exponent);
    double sum = 0.0;
    for (std::int64_t k = 1; k <= kCount; ++k) sum += std::pow(static_cast<double>(k), -exponent);
    double before = 0.0;
    for (std::int64_t k = 1; k <= kCount; ++k) {
      const double weight = std::pow(static_cast<double>(k), -exponent);
      if (k % 97 == 0 || (k > 4090 && k < 4110) || k == kCount) {
        REQUIRE(popularity((before + 0.02 * weight) / sum) == k);
        REQUIRE(popularity((before + 0.98 * weight) / sum) == k);
      }
      before += weight;
    }
  }
}

TEST_CASE("all draws are items, at every exponent", "[workloads]") {
  for (const double exponent : {0.0, 0.001, 0.999, 1.0, 1.001, 5.0, 20.0}) {
    for (const std::int64_t count : {1, 2, 4096, 4097, 10'000'000}) {
      const Popularity popularity(count, exponent);
      std::int64_t before = 1;
      for (const double u : {0x1p-53, 1e-9, 0.1, 0.5, 0.9, 0.999999, 1.0 - 0x1p-53}) {
        const std::int64_t item = popularity(u);
        CHECK(item >= before);
        CHECK(item <= count);
        before = item;
      }
      CHECK(popularity(0x1p-53) == 1);
    }
  }
  CHECK(Popularity(10'000'000, 0.5)(1.0 - 0x1p-53) == 10'000'000);
}

TEST_CASE("a text has one length and one identity", "[workloads]") {
  SharedTextOptions options{.count = 1000};
  options.tokens = {.law = LengthLaw::uniform, .min = 1, .max = 1'000'000};
  const SharedTexts some = texts(options);
  const SharedTexts same = texts(options);
  const SharedTexts other = texts(options, "b/");
  std::set<std::uint64_t> ids;
  std::set<std::int32_t> lengths;
  for (std::int64_t item = 1; item <= 1000; ++item) {
    CHECK(some.text(item) == same.text(item));
    CHECK(some.text(item).id != other.text(item).id);
    ids.insert(some.text(item).id);
    lengths.insert(some.text(item).tokens);
  }
  CHECK(ids.size() == 1000);
  CHECK(lengths.size() > 990);  // of a million: equal ones are rare
}

TEST_CASE("a text's length keeps its draw when the number of texts or their law changes",
          "[workloads]") {
  SharedTextOptions options{.count = 100};
  options.tokens = {.law = LengthLaw::uniform, .min = 1, .max = 1000};
  const SharedTexts few = texts(options);
  options.count = 5000;
  options.exponent = 1.5;
  CHECK(texts(options).text(37) == few.text(37));
  options.tokens.max = 2000;  // the same place of twice the range
  const std::int32_t longer = texts(options).text(37).tokens;
  CHECK(std::abs(longer - 2 * few.text(37).tokens) <= 2);
}

TEST_CASE("the share decides who begins with a text", "[workloads]") {
  SharedTextOptions options{.count = 10, .share = 0.25};
  const SharedTexts some = texts(options);
  CHECK(some.any());
  CHECK(some.choose(std::uint64_t{1} << 61, 0).has_value());        // 1/8
  CHECK_FALSE(some.choose(std::uint64_t{3} << 61, 0).has_value());  // 3/8
  options.share = 0.0;
  CHECK_FALSE(texts(options).choose(0, 0).has_value());
  options.share = 1.0;
  CHECK(texts(options).choose(UINT64_MAX, UINT64_MAX) == texts(options).text(10));
  options.count = 0;
  CHECK_FALSE(texts(options).any());
}

}  // namespace headroom::shared_texts_test
