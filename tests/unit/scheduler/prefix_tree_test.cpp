// The radix tree of block runs by itself: matches, splits, and what is left when holders go.

#include <catch2/catch.hpp>
#include <vector>

#include "scheduler/kv/prefix_tree.hpp"
#include "sim/kernel/check.hpp"

namespace headroom::prefix_tree_test {
namespace {

constexpr std::int32_t kBlock = 4;

// A tree and its free list with one operation for each of what a pool does.
class TreeOfOnes {
 public:
  using Pieces = std::vector<PrefixSegment>;

  // A holder of the first `blocks` blocks of a prompt made of `pieces`.
  PrefixTree::Path hold(const Pieces& pieces, BlockCount blocks) {
    const Request request = request_of(pieces);
    tree.match(RequestBlocks(request, kBlock, 0, blocks), match_);
    const BlockCount found = match_.blocks;
    PrefixTree::Path path = tree.hold(match_, found, free);
    take(blocks - found);
    tree.extend(path, RequestBlocks(request, kBlock, found, blocks), true, free);
    return path;
  }
  // The same, but that it finds nothing.
  PrefixTree::Path compute(const Pieces& pieces, BlockCount blocks) {
    const Request request = request_of(pieces);
    take(blocks);
    PrefixTree::Path path;
    tree.extend(path, RequestBlocks(request, kBlock, 0, blocks), true, free);
    return path;
  }
  BlockCount known(const Pieces& pieces) {
    const Request request = request_of(pieces);
    tree.match(RequestBlocks(request, kBlock, 0, request.prompt_tokens / kBlock), match_);
    return match_.blocks;
  }
  void take(BlockCount blocks) {
    free.take(blocks, [this](PrefixTree::Index node, BlockCount n) { tree.evict(node, n, free); });
  }
  void release(const PrefixTree::Path& path) { tree.release(path, true, free); }

  FreeList free{1000};
  PrefixTree tree{kBlock};

 private:
  static Request request_of(const Pieces& pieces) {
    Request request;
    for (const PrefixSegment& piece : pieces) request.prompt_tokens += piece.tokens;
    request.prefix = pieces;
    return request;
  }
  PrefixTree::Match match_;
};

TEST_CASE("a run of blocks of one piece is one node, whatever its length") {
  TreeOfOnes all;
  const PrefixTree::Path path = all.hold({{7, 400}}, 100);
  CHECK(all.tree.nodes() == 1);
  CHECK(all.known({{7, 1000}}) == 100);
  CHECK(all.known({{7, 23}}) == 5);
  CHECK(all.known({{8, 23}}) == 0);
  CHECK(all.free.size() == 900);
  all.release(path);
  CHECK(all.free.size() == 1000);
  CHECK(all.free.hashed() == 100);
}

// The second holder needs 5 blocks of the 10, then 1 of another piece: 5 | 5 and a child.
TEST_CASE("a node is split where a path leaves it, and its first holder keeps its index") {
  TreeOfOnes all;
  const PrefixTree::Path first = all.hold({{7, 40}}, 10);
  const PrefixTree::Path second = all.hold({{7, 20}, {8, 4}}, 6);
  CHECK(all.tree.nodes() == 3);
  CHECK(all.tree.shared_blocks() == 5);
  CHECK(all.known({{7, 40}}) == 10);
  CHECK(all.known({{7, 20}, {8, 4}}) == 6);
  all.release(first);  // the lower 5
  CHECK(all.free.size() == 1000 - 11 + 5);
  CHECK(all.tree.shared_blocks() == 0);
  all.release(second);
  CHECK(all.free.size() == 1000);
  CHECK(all.known({{7, 40}}) == 10);
}

TEST_CASE("two holders of one path need no second node and free it together") {
  TreeOfOnes all;
  const PrefixTree::Path a = all.hold({{7, 40}}, 10);
  const PrefixTree::Path b = all.hold({{7, 40}}, 10);
  CHECK(a.deepest == b.deepest);
  CHECK(all.tree.shared_blocks() == 10);
  all.release(a);
  CHECK(all.free.size() == 990);
  all.release(b);
  CHECK(all.free.size() == 1000);
  CHECK_THROWS_AS(all.release(b), InternalError);
}

// 10 blocks of one prompt, released; all but the first 3 are overwritten: 990 plain ones go first.
TEST_CASE("overwriting shortens a run from its end and removes it with its last block") {
  TreeOfOnes all;
  all.release(all.hold({{7, 20}, {8, 20}}, 10));
  CHECK(all.tree.nodes() == 2);
  all.take(990 + 7);
  CHECK(all.known({{7, 20}, {8, 20}}) == 3);
  CHECK(all.tree.nodes() == 1);
  all.take(3);
  CHECK(all.known({{7, 20}}) == 0);
  CHECK(all.tree.nodes() == 0);
}

// Block 1 (tokens 4-7) lies across the pieces; a holder's text behind it continues piece 8.
TEST_CASE("a block across pieces is a node of its own") {
  TreeOfOnes all;
  static_cast<void>(all.hold({{7, 6}, {8, 14}}, 5));
  CHECK(all.tree.nodes() == 3);
  CHECK(all.known({{7, 6}, {8, 6}}) == 3);
  CHECK(all.known({{7, 6}, {9, 6}}) == 1);
  CHECK(all.known({{7, 8}}) == 1);  // piece 7 itself goes on otherwise
}

// Two holders compute the 3 blocks of piece 7, and go on behind them in pieces of their own. What
// the second one computed behind its copies is found behind the older blocks.
TEST_CASE("what stands behind a copy is found behind the oldest block of that content") {
  TreeOfOnes all;
  const PrefixTree::Path first = all.hold({{7, 12}, {8, 8}}, 5);
  const PrefixTree::Path second = all.compute({{7, 12}, {9, 8}}, 5);
  CHECK(first.copies == BlockCopies::kNone);
  CHECK(second.copies != BlockCopies::kNone);
  CHECK(all.tree.shared_blocks() == 0);
  CHECK(all.free.size() == 990);
  CHECK(all.known({{7, 12}, {8, 8}}) == 5);
  CHECK(all.known({{7, 12}, {9, 8}}) == 5);
  all.release(first);
  all.release(second);
  CHECK(all.free.size() == 1000);
  CHECK(all.free.hashed() == 10);
}

// The older one leaves first and is overwritten: its 3 blocks are gone, its copies are found. A
// third holder has the held copies with the second, and both give them back.
TEST_CASE("when the oldest block of a content is overwritten the next one is found") {
  TreeOfOnes all;
  all.release(all.hold({{7, 12}}, 3));
  const PrefixTree::Path second = all.compute({{7, 12}, {9, 8}}, 5);
  all.take(all.free.size());
  CHECK(all.known({{7, 12}, {9, 8}}) == 5);
  const PrefixTree::Path third = all.hold({{7, 12}, {9, 8}}, 5);
  CHECK(all.tree.shared_blocks() == 5);
  all.release(second);
  CHECK(all.free.size() == 0);
  all.release(third);
  CHECK(all.free.hashed() == 5);
  all.take(2);
  CHECK(all.known({{7, 12}, {9, 8}}) == 3);
  all.take(3);
  CHECK(all.tree.nodes() == 0);
}

// Of three blocks of one content the middle one is overwritten, then the oldest, then the youngest.
TEST_CASE("copies are overwritten one by one, in the order in which they were released") {
  TreeOfOnes all;
  const PrefixTree::Path oldest = all.hold({{7, 4}}, 1);
  const PrefixTree::Path middle = all.compute({{7, 4}}, 1);
  const PrefixTree::Path youngest = all.compute({{7, 4}}, 1);
  all.release(middle);
  all.release(oldest);
  all.release(youngest);
  all.take(997 + 1);
  CHECK(all.known({{7, 4}}) == 1);
  all.take(1);
  CHECK(all.known({{7, 4}}) == 1);
  all.take(1);
  CHECK(all.known({{7, 4}}) == 0);
  CHECK(all.tree.nodes() == 0);
}

TEST_CASE("private nodes do not outlive the request that could find them") {
  TreeOfOnes all;
  Request request;  // 8 tokens of piece 7, 32 of its own
  request.prompt_tokens = 40;
  const std::vector<PrefixSegment> pieces{{7, 8}};
  request.prefix = pieces;
  const RequestBlocks blocks(request, kBlock, 0, 10);
  all.take(10);
  PrefixTree::Path path;
  all.tree.extend(path, blocks, true, all.free);
  CHECK(path.blocks == 10);
  CHECK(all.tree.nodes() == 2);
  const bool comes_back = GENERATE(true, false);
  all.tree.release(path, !comes_back, all.free);
  CHECK(all.tree.nodes() == (comes_back ? 2 : 1));
  PrefixTree::Match match;
  all.tree.match(blocks, match);
  CHECK(match.blocks == (comes_back ? 10 : 2));
  all.tree.forget_private(match, all.free);
  CHECK(all.tree.nodes() == 1);
  CHECK(all.free.hashed() == 10);
}

// Thousands of prompts through a pool of 1000 blocks: what was overwritten leaves no node behind.
TEST_CASE("the tree never has more nodes than the pool has blocks") {
  TreeOfOnes all;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    all.release(all.hold({{7, 9}, {1000 + i % 1500, 7}, {i, 8}}, 6));
    REQUIRE(all.tree.nodes() <= 1000);
  }
  CHECK(all.known({{7, 9}, {1000 + 4999 % 1500, 7}, {4999, 8}}) == 6);
}

}  // namespace
}  // namespace headroom::prefix_tree_test
