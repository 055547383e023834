// What the slots of llama.cpp's server promise, one behaviour each.

#include <catch2/catch.hpp>

#include <array>

#include "scheduler/kv/slots.hpp"

namespace headroom::slots_test {
namespace {

using Pieces = std::array<PrefixSegment, 2>;

Request request_of(std::int32_t prompt, std::span<const PrefixSegment> prefix = {},
                   std::uint64_t output_segment = 0) {
  Request request;
  request.prompt_tokens = request.known_tokens = prompt;
  request.prefix = prefix;
  request.output_segment = output_segment;
  return request;
}

bool admit(SlotKv& kv, RequestId id, const Request& request) {
  return kv.try_grow({.id = id, .request = &request, .hold_tokens = request.known_tokens});
}

TEST_CASE("a request takes a whole slot, and one that is longer than a slot none") {
  SlotKv kv({.slots = 2, .slot_tokens = 100});
  CHECK(kv.pool().total_blocks == 200);
  CHECK_FALSE(admit(kv, 0, request_of(101)));
  CHECK_FALSE(kv.try_grow({.id = 0, .hold_tokens = 60, .final_tokens = 101}));
  CHECK(kv.pool().used_blocks() == 0);
  CHECK(admit(kv, 0, request_of(1)));
  CHECK(admit(kv, 1, request_of(100)));
  CHECK(kv.pool().used_blocks() == 200);
  CHECK(kv.pool().largest_hole == 0);
  CHECK_FALSE(admit(kv, 2, request_of(1)));
  CHECK(kv.try_grow({.id = 0, .hold_tokens = 100}));  // it has them already
  kv.release(0, request_of(1), 1, KvRelease::finished);
  CHECK(kv.pool().used_blocks() == 100);
  CHECK(kv.pool().largest_hole == 100);
}

TEST_CASE("slots never used are given from the last on, then the one given back longest ago") {
  SlotKv kv({.slots = 3, .slot_tokens = 100});
  for (RequestId id = 0; id < 3; ++id) REQUIRE(admit(kv, id, request_of(10)));
  CHECK(kv.slot_of(0) == 2);
  CHECK(kv.slot_of(1) == 1);
  CHECK(kv.slot_of(2) == 0);
  kv.release(1, request_of(10), 12, KvRelease::finished);
  kv.release(0, request_of(10), 12, KvRelease::finished);
  CHECK(kv.slot_of(1) < 0);
  REQUIRE(admit(kv, 3, request_of(10)));
  CHECK(kv.slot_of(3) == 1);
}

TEST_CASE("a prompt goes on behind what it has in common with the slot's last request") {
  const Pieces pieces{{{1, 40}, {2, 20}}};
  const Pieces longer{{{1, 40}, {2, 35}}};
  const Pieces other{{{1, 40}, {3, 20}}};
  SlotKv kv({.slots = 1, .slot_tokens = 200});
  const Request first = request_of(60, pieces);
  REQUIRE(admit(kv, 0, first));
  kv.release(0, first, 70, KvRelease::finished);
  CHECK(kv.cached_prefix(1, request_of(90, longer)) == 60);
  CHECK(kv.cached_prefix(1, request_of(90, other)) == 40);
  CHECK(kv.cached_prefix(1, first) == 59);  // the last token yields the logits
  CHECK(kv.cached_prefix(1, request_of(90)) == 0);
  CHECK(kv.pool().cached_blocks == 60);
  REQUIRE(admit(kv, 1, request_of(90, other)));
  CHECK(kv.pool().cached_blocks == 0);
}

TEST_CASE("an answer is found behind a prompt that is known to its end, short of its last token") {
  const Pieces turn{{{1, 40}, {2, 20}}};
  const std::array<PrefixSegment, 4> next{{{1, 40}, {2, 20}, {9, 10}, {4, 5}}};
  SlotKv kv({.slots = 1, .slot_tokens = 200});
  SECTION("whole prompt") {
    const Request first = request_of(60, turn, 9);
    REQUIRE(admit(kv, 0, first));
    kv.release(0, first, 69, KvRelease::finished);  // 10 tokens came out
    CHECK(kv.cached_prefix(1, request_of(75, next)) == 69);
  }
  SECTION("with tokens of its own between") {
    const Request first = request_of(61, turn, 9);
    REQUIRE(admit(kv, 0, first));
    kv.release(0, first, 70, KvRelease::finished);
    CHECK(kv.cached_prefix(1, request_of(75, next)) == 60);
  }
}

TEST_CASE("a request that left early leaves what was computed, or the content before it") {
  const Pieces old{{{1, 40}, {2, 20}}};
  const Pieces other{{{7, 50}, {8, 20}}};
  SlotKv kv({.slots = 1, .slot_tokens = 200});
  const Request first = request_of(60, old);
  REQUIRE(admit(kv, 0, first));
  kv.release(0, first, 60, KvRelease::finished);
  const Request second = request_of(70, other);
  REQUIRE(admit(kv, 1, second));
  SECTION("before its first step") {
    kv.release(1, second, 0, KvRelease::dropped);
    CHECK(kv.cached_prefix(2, request_of(80, old)) == 60);
  }
  SECTION("in the middle of its prompt") {
    kv.release(1, second, 30, KvRelease::dropped);
    CHECK(kv.cached_prefix(2, request_of(80, old)) == 0);
    CHECK(kv.cached_prefix(2, request_of(80, other)) == 30);
  }
}

TEST_CASE("the most similar slot is taken if it has more than a tenth of the prompt") {
  // Slot 1 has 10 tokens of piece 1, slot 0 has 20 tokens of piece 5; slot 1 was given back first.
  const std::array<PrefixSegment, 1> short_piece{{{1, 10}}};
  const std::array<PrefixSegment, 1> long_piece{{{5, 20}}};
  SlotKv kv({.slots = 2, .slot_tokens = 500});
  const Request a = request_of(10, short_piece);
  const Request b = request_of(20, long_piece);
  REQUIRE(admit(kv, 0, a));
  REQUIRE(admit(kv, 1, b));
  kv.release(0, a, 10, KvRelease::finished);
  kv.release(1, b, 20, KvRelease::finished);
  SECTION("20 of 199 is more: slot 0") {
    REQUIRE(admit(kv, 2, request_of(199, long_piece)));
    CHECK(kv.slot_of(2) == 0);
  }
  SECTION("20 of 200 is not: slot 1, the least recently used") {
    CHECK(kv.cached_prefix(2, request_of(200, long_piece)) == 0);
    REQUIRE(admit(kv, 2, request_of(200, long_piece)));
    CHECK(kv.slot_of(2) == 1);
  }
  SECTION("what the least recently used slot has is reused, however little") {
    CHECK(kv.cached_prefix(2, request_of(400, short_piece)) == 10);
  }
}

TEST_CASE("without cache_prompt a slot remembers nothing") {
  const Pieces pieces{{{1, 40}, {2, 20}}};
  SlotKv kv({.slots = 1, .slot_tokens = 200, .cache_prompt = false});
  const Request first = request_of(60, pieces);
  REQUIRE(admit(kv, 0, first));
  kv.release(0, first, 70, KvRelease::finished);
  CHECK(kv.pool().cached_blocks == 0);
  CHECK(kv.cached_prefix(1, request_of(90, pieces)) == 0);
}

// A slot for `id`, and `cells` for its first chunk.
bool begin(SlotKv& kv, RequestId id, const Request& request, TokenCount cells) {
  return kv.try_grow({.id = id, .request = &request}) &&
         kv.try_grow({.id = id, .request = &request, .hold_tokens = cells});
}

TEST_CASE("shared cells are taken when they are computed, and idle content makes way") {
  // 100 cells for two slots of up to 80. A keeps 62 when it has gone. B takes the other slot and 38
  // cells beside them; the next one costs A's.
  const Pieces pieces{{{1, 40}, {2, 20}}};
  const Request a = request_of(60, pieces);
  const Request b = request_of(30);
  SlotKv kv({.slots = 2, .slot_tokens = 80, .shared_cells = 100});
  CHECK(kv.pool().total_blocks == 100);
  CHECK(kv.pool().largest_hole == 80);
  REQUIRE(kv.try_grow({.id = 0, .request = &a, .final_tokens = 80}));
  CHECK(kv.pool().used_blocks() == 0);
  REQUIRE(kv.try_grow({.id = 0, .request = &a, .hold_tokens = 60}));
  kv.take(2);
  CHECK(kv.pool().used_blocks() == 62);
  CHECK(kv.room() == 38);
  kv.release(0, a, 62, KvRelease::finished);
  CHECK(kv.pool().used_blocks() == 0);
  CHECK(kv.pool().cached_blocks == 60);
  REQUIRE(begin(kv, 1, b, 30));
  CHECK(kv.slot_of(1) == 0);  // never used
  kv.take(8);
  CHECK(kv.cached_prefix(2, request_of(79, pieces)) == 60);
  CHECK(kv.room() == 62);  // the content can go
  kv.take(1);
  CHECK(kv.cached_prefix(2, request_of(79, pieces)) == 0);
  CHECK(kv.pool().cached_blocks == 0);
  CHECK(kv.pool().free_blocks == 61);
}

TEST_CASE("shared cells: content is kept for a request that has its slot and has not begun") {
  // 100 cells. A left 62 behind, B has 20: while C waits in A's slot, B may have 18 more.
  const Pieces pieces{{{1, 40}, {2, 20}}};
  const Request a = request_of(60, pieces);
  const Request b = request_of(20);
  const Request c = request_of(79, pieces);
  SlotKv kv({.slots = 2, .slot_tokens = 80, .shared_cells = 100});
  REQUIRE(begin(kv, 0, a, 60));
  kv.take(2);
  kv.release(0, a, 62, KvRelease::finished);
  REQUIRE(begin(kv, 1, b, 20));
  REQUIRE(kv.try_grow({.id = 2, .request = &c}));
  CHECK(kv.slot_of(2) == 1);
  CHECK(kv.room() == 18);
  CHECK(kv.longest(1) == 38);
  CHECK(kv.longest(2) == 80);
  CHECK_FALSE(kv.try_grow({.id = 1, .request = &b, .hold_tokens = 39}));
  SECTION("it begins behind what it found, and the rest is free") {
    REQUIRE(kv.try_grow({.id = 2, .request = &c, .hold_tokens = 61}));
    CHECK(kv.room() == 19);
  }
  SECTION("it leaves, and the content is still there") {
    kv.release(2, c, 0, KvRelease::finished);
    CHECK(kv.room() == 80);
    CHECK(kv.cached_prefix(3, c) == 60);
  }
}

TEST_CASE("shared cells: the first idle slot gives up its content first") {
  const std::array<PrefixSegment, 1> one{{{1, 30}}};
  const std::array<PrefixSegment, 1> two{{{2, 30}}};
  const Request a = request_of(30, one);
  const Request b = request_of(30, two);
  const Request c = request_of(50);
  SlotKv kv({.slots = 3, .slot_tokens = 80, .shared_cells = 100});
  REQUIRE(begin(kv, 0, a, 30));
  REQUIRE(begin(kv, 1, b, 30));
  kv.release(0, a, 30, KvRelease::finished);  // slot 2, idle for longer
  kv.release(1, b, 30, KvRelease::finished);  // slot 1
  REQUIRE(begin(kv, 2, c, 50));
  CHECK(kv.cached_prefix(3, a) == 29);
  CHECK(kv.cached_prefix(3, b) == 0);
}

}  // namespace
}  // namespace headroom::slots_test
