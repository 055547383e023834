#include "sim/server/bpe_merges.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <utility>
#include <vector>

#include "sim/kernel/random.hpp"

namespace headroom::bpe_merges_test {
namespace {

using Rules = std::map<std::pair<TokenId, TokenId>, std::pair<std::size_t, TokenId>>;

// As the paper has it: joins the leftmost pair of the lowest rank until there is none.
std::vector<TokenId> joined_by_scan(const Rules& rules, std::vector<TokenId> word) {
  while (true) {
    std::size_t best = word.size();
    std::size_t best_rank = SIZE_MAX;
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      const auto rule = rules.find({word[i], word[i + 1]});
      if (rule == rules.end() || rule->second.first >= best_rank) continue;
      best = i;
      best_rank = rule->second.first;
    }
    if (best == word.size()) return word;
    word[best] = rules.at({word[best], word[best + 1]}).second;
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST_CASE("pairs are joined by rank and from the left", "[server]") {
  BpeMerges merges;
  merges.add(1, 2, 3);
  merges.add(2, 1, 4);
  merges.add(3, 3, 5);
  const auto joined = [&merges](const std::vector<TokenId>& word) {
    std::vector<TokenId> ids;
    merges.join(word, ids);
    return ids;
  };
  CHECK(joined({}).empty());
  CHECK(joined({2}) == std::vector<TokenId>{2});
  CHECK(joined({2, 1, 2}) == std::vector<TokenId>{2, 3});  // (1 2) comes before (2 1)
  CHECK(joined({1, 2, 1, 2, 1}) == std::vector<TokenId>{5, 1});
  CHECK(joined({2, 1, 1}) == std::vector<TokenId>{4, 1});
}

TEST_CASE("a queue of pairs joins as a scan over the word does", "[server]") {
  RandomStream random(3, "bpe_merges_test");
  for (int round = 0; round < 200; ++round) {
    BpeMerges merges;
    Rules rules;
    TokenId tokens = 4;
    for (std::size_t rank = 0; rank < 30; ++rank) {
      const auto left = static_cast<TokenId>(random.uniform_int(0, tokens - 1));
      const auto right = static_cast<TokenId>(random.uniform_int(0, tokens - 1));
      if (!rules.try_emplace({left, right}, rank, tokens).second) continue;
      merges.add(left, right, tokens++);
    }
    std::vector<TokenId> word(static_cast<std::size_t>(random.uniform_int(0, 60)));
    for (TokenId& part : word) part = static_cast<TokenId>(random.uniform_int(0, 3));
    std::vector<TokenId> ids;
    merges.join(word, ids);
    CHECK(ids == joined_by_scan(rules, word));
  }
}

}  // namespace
}  // namespace headroom::bpe_merges_test
