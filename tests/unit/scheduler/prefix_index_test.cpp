// What the router remembers of prompts, against a list of them.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "scheduler/routing/prefix_index.hpp"
#include "sim/kernel/random.hpp"

namespace headroom::prefix_index_test {

namespace {

using Prompt = std::vector<PrefixSegment>;

// Tokens that two prompts have in common, by the rule of prefix.hpp.
TokenCount common(const Prompt& a, const Prompt& b) {
  TokenCount tokens = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].id == b[i].id; ++i) {
    tokens += std::min(a[i].tokens, b[i].tokens);
    if (a[i].tokens != b[i].tokens) break;
  }
  return tokens;
}

Prompt random_prompt(RandomStream& stream) {
  Prompt prompt;
  for (std::int64_t k = stream.uniform_int(0, 5); k > 0; --k) {
    prompt.push_back({static_cast<std::uint64_t>(stream.uniform_int(1, 3)),
                      static_cast<std::int32_t>(stream.uniform_int(1, 2) * 8)});
  }
  return prompt;
}

}  // namespace

TEST_CASE("the longest match is found, of every replica") {
  RandomStream stream(1, "prompts");
  PrefixIndex index(4, 1'000'000);
  std::vector<std::vector<Prompt>> sent(4);
  for (int i = 0; i < 2000; ++i) {
    const Prompt prompt = random_prompt(stream);
    const std::vector<PrefixStep> steps = prefix_steps(prompt);
    const auto matches = index.find(steps, 4);
    for (std::uint32_t r = 0; r < 4; ++r) {
      TokenCount longest = 0;
      for (const Prompt& one : sent[r]) longest = std::max(longest, common(one, prompt));
      REQUIRE(index.overlap(r, steps) == longest);
      const auto found = std::ranges::find(matches, r, &PrefixMatch::replica);
      REQUIRE((found == matches.end() ? 0 : found->tokens) == longest);
    }
    const auto replica = static_cast<std::uint32_t>(stream.uniform_int(0, 3));
    index.insert(replica, steps);
    sent[replica].push_back(prompt);
    if (i % 300 == 299) {
      index.forget(replica);
      sent[replica].clear();
      REQUIRE(index.remembered(replica) == 0);
    }
  }
}

TEST_CASE("the least recent ends of prompts are forgotten first") {
  PrefixIndex index(2, 100);
  const auto a = prefix_steps(Prompt{{1, 40}, {2, 40}});
  const auto b = prefix_steps(Prompt{{1, 40}, {3, 40}});
  const auto c = prefix_steps(Prompt{{1, 40}, {4, 20}});
  index.insert(0, a);
  index.insert(1, a);
  index.insert(0, b);  // 120 tokens: {2} goes
  CHECK(index.remembered(0) == 80);
  CHECK(index.overlap(0, a) == 40);
  CHECK(index.overlap(0, b) == 80);
  index.insert(0, c);  // 100 tokens: all stay
  CHECK(index.overlap(0, b) == 80);
  CHECK(index.overlap(0, c) == 60);
  CHECK(index.overlap(1, a) == 80);  // the other replica's is its own
  // Longer than all that is remembered: its beginning stays.
  index.insert(0, prefix_steps(Prompt{{5, 60}, {6, 60}}));
  CHECK(index.remembered(0) == 60);
}

TEST_CASE("a match of equal length goes to the most recent") {
  PrefixIndex index(3, 1000);
  const auto steps = prefix_steps(Prompt{{1, 10}});
  index.insert(2, steps);
  index.insert(0, steps);
  index.insert(2, steps);
  const auto matches = index.find(steps, 1);
  REQUIRE(matches.size() == 1);
  CHECK(matches[0].replica == 2);
}

}  // namespace headroom::prefix_index_test
