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

TEST_CASE("shared cells: a request sets aside what it may need, and idle content makes way") {
  // 100 cells for two slots of up to 80. A keeps 60 of prompt when it has gone; B takes the other
  // slot and 30, C needs 50: 30 + 50 leave 20, so A's 60 cached tokens go.
  const Pieces pieces{{{1, 40}, {2, 20}}};
  const Request a = request_of(60, pieces);
  SlotKv kv({.slots = 2, .slot_tokens = 80, .shared_cells = 100});
  CHECK(kv.pool().total_blocks == 100);
  CHECK(kv.pool().largest_hole == 80);
  REQUIRE(kv.try_grow({.id = 0, .request = &a, .hold_tokens = 60, .final_tokens = 75}));
  CHECK(kv.pool().free_blocks == 25);
  CHECK_FALSE(kv.try_grow({.id = 1, .hold_tokens = 20, .final_tokens = 26}));
  kv.release(0, a, 62, KvRelease::finished);
  CHECK(kv.pool().free_blocks == 100);
  CHECK(kv.pool().cached_blocks == 60);
  REQUIRE(kv.try_grow({.id = 1, .hold_tokens = 20, .final_tokens = 30}));
  CHECK(kv.slot_of(1) == 0);  // never used
  CHECK(kv.cached_prefix(2, request_of(79, pieces)) == 60);
  CHECK(kv.pool().cached_blocks == 60);
  const Request stranger = request_of(40);
  REQUIRE(kv.try_grow({.id = 2, .request = &stranger, .hold_tokens = 40, .final_tokens = 50}));
  CHECK(kv.pool().free_blocks == 20);
  CHECK(kv.pool().cached_blocks == 0);
}

}  // namespace
}  // namespace headroom::slots_test
