#include "sim/metrics/kv_meter.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/metrics/one_run.hpp"

namespace headroom::kv_meter_test {

TEST_CASE("occupancy is integrated over every step of a run") {
  // Blocks of 4. Rows of 3 and 4 tokens; steps of 10, 11, 12 ticks.
  // tokens: 4 + 5, 5 + 6, 6 + 7; blocks: 1 + 2, 2 + 2, 2 + 2.
  OneRun one(4, 100, {3, 4});
  one.takes(0, 3, 10, 1);
  one.state.pool.cached_blocks = 97;  // all free blocks are cached
  KvMeter meter;
  meter.add_run(view_of(one.run));
  CHECK(meter.integrals().used_blocks == 3 * 10 + 4 * 11 + 4 * 12);
  CHECK(meter.integrals().kv_tokens == 9 * 10 + 11 * 11 + 13 * 12);
  CHECK(meter.integrals().cached_blocks == 97 * 10 + 96 * 11 + 96 * 12);
  CHECK(meter.integrals().total_blocks == 100 * 33);
  CHECK(meter.integrals().external_blocks == 0);
  CHECK(meter.peak_used_blocks() == 4);
  CHECK(meter.peak_kv_tokens() == 13);
}

TEST_CASE("a pool that reserves fills up its reservations") {
  // 2 rows with 5 tokens still to come: 5, 3, 1, then nothing more.
  OneRun one(1, 100, {3, 4});
  one.decodes = DecodeSet(0);
  one.decodes.join(3);
  one.decodes.join(4);
  one.decodes.advance(1);
  one.state.pool = {1, false, 100, 60, 0, 45};
  one.state.reserved_tokens = 5;
  one.takes(0, 4, 10, 1);
  KvMeter meter;
  meter.add_run(view_of(one.run));
  CHECK(meter.integrals().used_blocks == 40 * 46);
  CHECK(meter.integrals().reserved_tokens == 5 * 10 + 3 * 11 + 1 * 12 + 0 * 13);
  CHECK(meter.integrals().external_blocks == 15 * 46);
}

TEST_CASE("a pool that takes blocks as they were released loses cached ones before others") {
  // Blocks of 4. Rows of 3 and 4 tokens: 1 + 2, 2 + 2, 2 + 2 blocks. Of 97 free ones 50 are cached:
  // 7 of them come first, then 90 mixed ones.
  OneRun one(4, 100, {3, 4});
  one.takes(0, 3, 10, 1);
  one.state.pool.cached_blocks = 50;
  one.state.pool.mixed_blocks = 90;
  one.state.pool.mixed_plain = 47;
  KvMeter meter;
  meter.add_run(view_of(one.run));
  CHECK(meter.integrals().cached_blocks == 50 * 10 + 49 * 11 + 49 * 12);
  CHECK(state_in_step(view_of(one.run), 1).pool.cached_blocks == 49);
}

TEST_CASE("the split of a pool adds up to its capacity") {
  ReplicaState state;
  state.kv_tokens = 50;
  state.reserved_tokens = 20;
  state.pool = {4, false, 100, 75, 10, 60};  // 25 blocks = 100 tokens held
  const KvSplit split = split_of(state);
  CHECK(split.capacity == 400);
  CHECK(split.used == 50);
  CHECK(split.reserved == 20);
  CHECK(split.internal == 30);
  CHECK(split.external == 60);
  CHECK(split.cached == 40);
}

}  // namespace headroom::kv_meter_test
