// VERIFICATION V2(d): the production allocators against single blocks and single cells, operation
// by operation.

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "scheduler/kv/contiguous.hpp"
#include "scheduler/kv/paged.hpp"
#include "tests/oracle/address_space.hpp"
#include "tests/oracle/block_pool.hpp"

namespace headroom {
namespace {

constexpr RequestId kRequests = 12;

// One request as both allocators see it: 0 tokens = holds nothing.
struct Held {
  TokenCount tokens = 0;
  TokenCount known = 0;  // after a preemption: one more than it held, its last token was not fed
  bool preempted = false;
};

class PagedPair {
 public:
  PagedPair(BlockCount blocks, std::int32_t block_tokens, bool caching)
      : paged_({.blocks = blocks, .block_tokens = block_tokens, .enable_prefix_caching = caching}),
        single_(blocks, block_tokens, caching),
        held_(kRequests) {}

  void step(std::mt19937& random) {
    const auto id = static_cast<RequestId>(random() % kRequests);
    Held& held = held_[id];
    const TokenCount more = 1 + static_cast<TokenCount>(random() % 30);
    if (held.tokens == 0) {
      admit(id, held, more);
    } else if (random() % 3 != 0) {
      grow(id, held, more);
    } else {
      held.preempted = random() % 2 == 0;
      paged_.release(id, held.tokens, held.preempted);
      single_.release(id, held.tokens, held.preempted);
      held.known = held.tokens + 1;
      held.tokens = 0;
    }
    REQUIRE(paged_.pool().free_blocks == single_.free_blocks());
    REQUIRE(paged_.pool().cached_blocks == single_.cached_blocks());
  }

 private:
  void admit(RequestId id, Held& held, TokenCount more) {
    Request request;
    request.known_tokens = static_cast<std::int32_t>(held.preempted ? held.known + more : more);
    const TokenCount cached = paged_.cached_prefix(id, request);
    REQUIRE(cached == single_.cached_prefix(id, request.known_tokens));
    const KvGrowth growth{.id = id, .cached_tokens = cached, .hold_tokens = request.known_tokens};
    const bool fits = paged_.try_grow(growth);
    const BlockCount need =
        (request.known_tokens + paged_.pool().block_tokens - 1) / paged_.pool().block_tokens;
    REQUIRE(fits == (need <= single_.free_blocks()));
    if (!fits) return;
    single_.touch(id, cached);
    REQUIRE(single_.grow(id, request.known_tokens));
    held.tokens = request.known_tokens;
  }

  void grow(RequestId id, Held& held, TokenCount more) {
    const bool fits = paged_.try_grow({.id = id, .hold_tokens = held.tokens + more});
    REQUIRE(fits == single_.grow(id, held.tokens + more));
    if (fits) held.tokens += more;
  }

  PagedKv paged_;
  oracle::BlockPool single_;
  std::vector<Held> held_;
};

TEST_CASE("extents of free blocks equal a list of single blocks, operation by operation") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    PagedPair pair(10 + static_cast<BlockCount>(random() % 60),
                   1 + static_cast<std::int32_t>(random() % 16), seed % 4 != 0);
    for (int i = 0; i < 300; ++i) pair.step(random);
  }
}

TEST_CASE("contiguous placement equals first fit over single cells, operation by operation") {
  for (unsigned seed = 0; seed < 200; ++seed) {
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
        kv.release(id, 1, false);
        cells.release(id);
        held[id] = 0;
      }
      REQUIRE(kv.pool().free_blocks == cells.free_tokens());
      REQUIRE(cells.find(kv.pool().largest_hole + 1) == std::nullopt);
    }
  }
}

}  // namespace
}  // namespace headroom
