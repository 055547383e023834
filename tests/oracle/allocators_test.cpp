// VERIFICATION V2(d): the production allocators against single blocks and single cells, operation
// by operation.

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>
#include <vector>

#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/paged.hpp"
#include "sim/serving/kv_layout.hpp"
#include "tests/oracle/address_space.hpp"
#include "tests/oracle/block_pool.hpp"
#include "tests/oracle/random_prompt.hpp"
#include "tests/support/repetitions.hpp"

namespace headroom::allocators_test {
namespace {

constexpr RequestId kRequests = 12;

// A request as both allocators see it, and as a replica would drive it.
struct Client {
  enum class State : std::uint8_t { gone, waiting, running };
  Request request;
  std::vector<PrefixSegment> pieces;
  State state = State::gone;
  TokenCount held = 0;
};

struct PoolShape {
  BlockCount blocks = 0;
  std::int32_t block_tokens = 1;
  bool caching = true;
  bool plain_to_front = true;
  int pieces = 0;  // most pieces of a prompt
  OffloadTierOptions tier = {};
  oracle::PartialReuse partial = oracle::PartialReuse::off;
};

class PagedPair {
 public:
  PagedPair(const PoolShape& shape, std::mt19937& random)
      : paged_({.blocks = shape.blocks,
                .block_tokens = shape.block_tokens,
                .enable_prefix_caching = shape.caching,
                .plain_to_front = shape.plain_to_front,
                .tier = shape.tier,
                .partial_reuse = shape.partial != oracle::PartialReuse::off,
                .copy_on_partial_reuse = shape.partial == oracle::PartialReuse::copies}),
        tier_(static_cast<std::size_t>(shape.tier.host_blocks),
              static_cast<std::size_t>(shape.tier.disk_blocks), shape.tier.write_through),
        single_(shape.blocks, shape.block_tokens, shape.caching, shape.plain_to_front,
                shape.tier.host_blocks > 0 ? &tier_ : nullptr, shape.partial),
        most_pieces_(shape.pieces),
        random_(random),
        clients_(kRequests) {}

  void step() {
    const auto id = static_cast<RequestId>(random_() % kRequests);
    Client& client = clients_[id];
    if (client.state == Client::State::gone) arrive(client);
    if (client.state == Client::State::waiting) {
      if (one_in(10)) {
        give_up(id, client);
      } else {
        admit(id, client);
      }
    } else if (one_in(3)) {
      leave(id, client);
    } else if (client.held < client.request.known_tokens) {
      compute_chunk(id, client);
    } else {
      decode(client);
    }
    REQUIRE(paged_.pool().free_blocks == single_.free_blocks());
    REQUIRE(paged_.pool().cached_blocks == single_.cached_blocks());
    REQUIRE(paged_.pool().shared_blocks == single_.shared_blocks());
    if (paged_.tier_counts() != nullptr) require_equal(*paged_.tier_counts(), tier_.counts);
  }

  TokenCount hits = 0;  // tokens
  TokenCount copied = 0;
  int taken_over = 0;
  [[nodiscard]] const KvTierCounts& tier() const { return tier_.counts; }

 private:
  [[nodiscard]] bool one_in(unsigned n) { return random_() % n == 0; }
  [[nodiscard]] TokenCount up_to(TokenCount most) {
    return 1 + static_cast<TokenCount>(random_() % static_cast<unsigned>(most));
  }
  [[nodiscard]] BlockCount blocks_for(TokenCount tokens) const {
    return blocks_needed(tokens, paged_.pool().block_tokens);
  }

  static void require_equal(const KvTierCounts& a, const KvTierCounts& b) {
    REQUIRE(a.stored_blocks == b.stored_blocks);
    REQUIRE(a.loaded_blocks == b.loaded_blocks);
    REQUIRE(a.stored_on_disk == b.stored_on_disk);
    REQUIRE(a.loaded_from_disk == b.loaded_from_disk);
  }

  void arrive(Client& client) {
    client = {};
    client.request.index = arrivals_++;
    single_.introduce(client.request.index,
                      oracle::random_prompt(random_, most_pieces_, client.request, client.pieces));
    client.state = Client::State::waiting;
  }

  void admit(RequestId id, Client& client) {
    const std::uint64_t index = client.request.index;
    const TokenCount known = client.request.known_tokens;
    const TokenCount cached = paged_.cached_prefix(id, client.request);
    const TokenCount on_device = single_.cached_prefix(index, known);
    const TokenCount whole = single_.prefix_with_tier(index, known);
    const TokenCount part = whole == on_device ? single_.beginning(index, known) : 0;
    REQUIRE(cached == whole + part);
    const TokenCount hold = one_in(2) ? known : cached + up_to(known - cached);
    const KvGrowth growth{.id = id,
                          .request = &client.request,
                          .cached_tokens = cached,
                          .hold_tokens = hold,
                          .fit_tokens = one_in(2) ? known : 0,
                          .keep_free = one_in(4) ? up_to(3) : 0};
    const BlockCount need = blocks_for(std::max(hold, growth.fit_tokens)) - blocks_for(on_device) +
                            single_.free_among(index, on_device) + growth.keep_free;
    const bool fits = paged_.try_grow(growth);
    REQUIRE(fits == (need <= single_.free_blocks()));
    if (!fits) return;
    single_.touch(index, on_device);
    single_.load(index, on_device, whole);
    const bool takes_over = part > 0 && single_.take_over(index, known);
    REQUIRE(paged_.take_traffic().moved_tokens == (takes_over ? 0 : part));
    REQUIRE(single_.grow(index, hold, known));
    if (takes_over) ++taken_over;
    if (!takes_over) copied += part;
    client.held = hold;
    client.state = Client::State::running;
    hits += cached;
  }

  void compute_chunk(RequestId id, Client& client) {
    const TokenCount known = client.request.known_tokens;
    const TokenCount hold = client.held + up_to(known - client.held);
    const bool fits = paged_.try_grow({.id = id, .request = &client.request, .hold_tokens = hold});
    REQUIRE(fits == single_.grow(client.request.index, hold, known));
    if (fits) client.held = hold;
  }

  void decode(Client& client) {
    const TokenCount hold = client.held + up_to(12);
    const BlockCount blocks = blocks_for(hold) - blocks_for(client.held);
    if (blocks > paged_.pool().free_blocks) return;
    paged_.take(blocks);
    REQUIRE(single_.grow(client.request.index, hold));
    client.held = hold;
  }

  void leave(RequestId id, Client& client) {
    const KvRelease how = one_in(2)   ? KvRelease::finished
                          : one_in(3) ? KvRelease::dropped
                                      : KvRelease::preempted;
    paged_.release(id, client.request, client.held, how);
    single_.release(client.request.index, client.held, how);
    client.state = how == KvRelease::finished ? Client::State::gone : Client::State::waiting;
    // The last token of one that decodes has not been fed.
    client.request.known_tokens =
        std::max(client.request.known_tokens, static_cast<std::int32_t>(client.held) + 1);
    client.held = 0;
  }

  void give_up(RequestId id, Client& client) {
    paged_.release(id, client.request, 0, KvRelease::finished);
    single_.forget_request(client.request.index);
    client.state = Client::State::gone;
  }

  PagedKv paged_;
  oracle::NaiveTier tier_;
  oracle::BlockPool single_;
  int most_pieces_;
  std::mt19937& random_;
  std::vector<Client> clients_;
  std::uint64_t arrivals_ = 0;
};

TokenCount compare_paged(std::int32_t block_tokens, int pieces, std::uint64_t sequences) {
  TokenCount hits = 0;
  for (unsigned seed = 0; seed < sequences; ++seed) {
    std::mt19937 random(seed);
    const TokenCount tokens = 60 + static_cast<TokenCount>(random() % 300);
    PagedPair pair({.blocks = tokens / block_tokens + 4,
                    .block_tokens = block_tokens,
                    .caching = seed % 8 != 0,
                    .plain_to_front = seed % 3 != 0,
                    .pieces = pieces},
                   random);
    for (int i = 0; i < 150; ++i) pair.step();
    hits += pair.hits;
  }
  return hits;
}

TEST_CASE("extents of blocks equal a pool of single blocks when nothing is shared") {
  for (const std::int32_t block_tokens : {1, 3, 4, 16}) {
    REQUIRE(compare_paged(block_tokens, 0, 150) > 0);  // preempted requests find their own
  }
}

TEST_CASE("a tree of block runs equals single blocks found by their content") {
  const auto block_tokens = GENERATE(1, 3, 4, 16);
  const std::uint64_t sequences = test::repetitions(1000);
  REQUIRE(compare_paged(block_tokens, 4, sequences) > 10 * static_cast<TokenCount>(sequences));
}

TEST_CASE("blocks that only begin alike are taken over or copied as single blocks are") {
  using oracle::PartialReuse;
  const auto block_tokens = GENERATE(2, 4, 16);
  const auto partial = GENERATE(PartialReuse::copies, PartialReuse::free_leaves);
  TokenCount copied = 0;
  int taken_over = 0;
  for (unsigned seed = 0; seed < test::repetitions(500); ++seed) {
    std::mt19937 random(seed);
    const BlockCount blocks = (60 + static_cast<TokenCount>(random() % 300)) / block_tokens + 4;
    PagedPair pair({.blocks = blocks,
                    .block_tokens = block_tokens,
                    .plain_to_front = seed % 3 != 0,
                    .pieces = 4,
                    .tier = {seed % 5 == 0 ? blocks / 2 : 0, 0},
                    .partial = partial},
                   random);
    for (int i = 0; i < 150; ++i) pair.step();
    copied += pair.copied;
    taken_over += pair.taken_over;
  }
  REQUIRE(taken_over > 0);
  REQUIRE((copied > 0) == (partial == PartialReuse::copies));
}

TEST_CASE("a pool with host memory and disk behind it equals single blocks in three lists") {
  const auto block_tokens = GENERATE(1, 4, 16);
  KvTierCounts sum;
  for (unsigned seed = 0; seed < test::repetitions(1000); ++seed) {
    std::mt19937 random(seed);
    const TokenCount tokens = 60 + static_cast<TokenCount>(random() % 200);
    const BlockCount blocks = tokens / block_tokens + 4;
    const auto share = [&] { return 1 + static_cast<BlockCount>(random()) % (2 * blocks); };
    const OffloadTierOptions tier{share(), seed % 2 == 0 ? 0 : share(), seed % 4 >= 2};
    PagedPair pair({.blocks = blocks,
                    .block_tokens = block_tokens,
                    .plain_to_front = seed % 3 != 0,
                    .pieces = 4,
                    .tier = tier},
                   random);
    for (int i = 0; i < 150; ++i) pair.step();
    sum += pair.tier();
  }
  const auto sequences = static_cast<std::int64_t>(test::repetitions(1000));
  REQUIRE(sum.loaded_blocks - sum.loaded_from_disk > sequences);
  REQUIRE(sum.loaded_from_disk > sequences / 10);
}

TEST_CASE("runs of blocks that overwrite each other equal single blocks in two lists") {
  // Texts of 12 blocks in memories of up to 15: runs that are put again while their last blocks are
  // the oldest, and runs that are loaded in part.
  for (unsigned seed = 0; seed < test::repetitions(1000); ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
    const OffloadTierOptions size{1 + below(15), below(15)};
    OffloadTier runs(size);
    oracle::NaiveTier blocks(static_cast<std::size_t>(size.host_blocks),
                             static_cast<std::size_t>(size.disk_blocks));
    const auto content = [](const StoredBlocks& run, std::int64_t i) {
      return run.text == 0 ? 0 : static_cast<std::int64_t>(100 * run.text) + run.first + i;
    };
    for (int i = 0; i < 100; ++i) {
      StoredBlocks run{static_cast<std::uint64_t>(below(3)), below(12), 0};
      run.blocks = 1 + below(static_cast<unsigned>(12 - run.first));
      BlockCount found = 0;
      while (run.text != 0 && found < run.blocks && blocks.has(content(run, found))) ++found;
      REQUIRE(runs.found(run) == found);
      if (found > 0 && below(3) == 0) {
        run.blocks = found;
        runs.load({&run, 1});
        for (BlockCount b = 0; b < found; ++b) blocks.load({content(run, b)});
      } else {
        runs.store(run);
        for (BlockCount b = run.blocks; b-- > 0;) blocks.store(content(run, b));
      }
      REQUIRE((runs.counts() == blocks.counts));
    }
  }
}

TEST_CASE("contiguous placement equals first fit over single cells, operation by operation") {
  for (unsigned seed = 0; seed < test::repetitions(200); ++seed) {
    std::mt19937 random(seed);
    const TokenCount total = 50 + static_cast<TokenCount>(random() % 200);
    ContiguousKv kv(total);
    oracle::AddressSpace cells(total);
    std::vector<TokenCount> held(kRequests, 0);
    for (int i = 0; i < 300; ++i) {
      const auto id = static_cast<RequestId>(random() % kRequests);
      if (held[id] == 0) {
        const TokenCount tokens = 1 + static_cast<TokenCount>(random() % 60);
        const bool fits = kv.try_grow({.id = id, .hold_tokens = 1, .final_tokens = tokens});
        REQUIRE(fits == cells.reserve(id, tokens));
        if (fits) held[id] = tokens;
      } else {
        kv.release(id, Request{}, 1, KvRelease::finished);
        cells.release(id);
        held[id] = 0;
      }
      REQUIRE(kv.pool().free_blocks == cells.free_tokens());
      REQUIRE(cells.find(kv.pool().largest_hole + 1) == std::nullopt);
    }
  }
}

}  // namespace
}  // namespace headroom::allocators_test
