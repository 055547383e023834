#include "sim/server/prompt_tree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "sim/kernel/random.hpp"

namespace headroom::prompt_tree_test {
namespace {

using Ids = std::vector<TokenId>;
using Pieces = std::vector<PrefixSegment>;

// Over how many tokens two prompts are equal, as a prefix cache takes their pieces.
std::int64_t shared(const Pieces& a, const Pieces& b) {
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].id == b[i].id; ++i) {
    tokens += std::min(a[i].tokens, b[i].tokens);
    if (a[i].tokens != b[i].tokens) break;
  }
  return tokens;
}

std::int64_t equal_tokens(const Ids& a, const Ids& b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

TEST_CASE("prompts share the pieces that they begin with", "[server]") {
  PromptTree tree;
  const Pieces first = tree.add(Ids{1, 2, 3, 4}).pieces;
  CHECK(first == Pieces{{1, 4}});
  CHECK(tree.add(Ids{1, 2, 3, 4}).pieces == first);
  CHECK(tree.add(Ids{1, 2, 9}).pieces == Pieces{{1, 2}, {2, 1}});
  CHECK(tree.add(Ids{1, 2, 3, 4, 5}).pieces == Pieces{{1, 4}, {3, 1}});
  CHECK(tree.add(Ids{1, 2}).pieces == Pieces{{1, 2}});
  CHECK(tree.add(Ids{7}).pieces == Pieces{{4, 1}});
}

TEST_CASE("an answer is a piece of the prompts that repeat it", "[server]") {
  PromptTree tree;
  const PromptTree::Found asked = tree.add(Ids{1, 2});
  const std::uint64_t answer = tree.add_answer(asked.end, Ids{8, 9});
  REQUIRE(answer != 0);
  CHECK(tree.add(Ids{1, 2, 8, 9, 5}).pieces == Pieces{{1, 2}, {answer, 2}, {answer + 1, 1}});
  // Another answer that begins alike has no name of its own.
  CHECK(tree.add_answer(asked.end, Ids{8, 7}) == 0);
  CHECK(tree.add_answer(asked.end, {}) == 0);
  CHECK(tree.add_answer(tree.add(Ids{1}).end, Ids{2, 2}) == 0);  // as the prompt itself goes on
}

TEST_CASE("pieces are equal exactly as far as the tokens are", "[server]") {
  RandomStream random(11, "prompt_tree_test");
  PromptTree tree;
  std::vector<Ids> prompts;
  std::vector<Pieces> pieces;
  for (int i = 0; i < 400; ++i) {
    Ids prompt;
    if (!prompts.empty() && random.uniform_int(0, 3) > 0) {
      const auto& other =
          prompts[static_cast<std::size_t>(random.uniform_int(0, std::ssize(prompts) - 1))];
      prompt.assign(other.begin(), other.begin() + random.uniform_int(1, std::ssize(other)));
    }
    for (std::int64_t more = random.uniform_int(1, 6); more > 0; --more) {
      prompt.push_back(static_cast<TokenId>(random.uniform_int(0, 2)));
    }
    pieces.push_back(tree.add(prompt).pieces);
    prompts.push_back(std::move(prompt));
    std::int64_t tokens = 0;
    for (const PrefixSegment& piece : pieces.back()) tokens += piece.tokens;
    REQUIRE(tokens == std::ssize(prompts.back()));
    for (std::size_t j = 0; j < prompts.size(); ++j) {
      REQUIRE(shared(pieces[j], pieces.back()) == equal_tokens(prompts[j], prompts.back()));
    }
  }
}

TEST_CASE("a tree that is full begins anew", "[server]") {
  PromptTree tree(10);
  const PromptTree::Found first = tree.add(Ids{1, 2, 3, 4, 5, 6});
  const Pieces later = tree.add(Ids{9, 9, 9, 9, 9, 9}).pieces;
  CHECK(tree.add_answer(first.end, Ids{7}) == 0);  // its prompt is forgotten
  const Pieces again = tree.add(Ids{1, 2, 3}).pieces;
  CHECK(again.front().id != first.pieces.front().id);
  CHECK(again.front().id != later.front().id);
  CHECK(tree.add(Ids(20, 3)).pieces.front().tokens == 20);  // longer than the tree may be
}

}  // namespace
}  // namespace headroom::prompt_tree_test
