#include "sim/serving/resident_sums.hpp"

#include <catch2/catch.hpp>

#include "scheduler/kv/paged.hpp"
#include "sim/kernel/check.hpp"

namespace headroom::resident_sums_test {
namespace {

TEST_CASE("the sums follow a request from the queue to its ghost", "[resident_sums]") {
  const PagedKv kv(PagedKvOptions{.blocks = 10, .block_tokens = 4});
  ResidentSums sums(kv, 4);
  sums.enter_queue(7);
  CHECK(sums.waiting_tokens() == 7);
  sums.leave_queue(7);
  sums.enter_batch(9);
  sums.hold(0);
  sums.grow(0, 7);
  CHECK(sums.running() == 1);
  CHECK(sums.kept() == 7);
  CHECK(sums.still_to_come() == 2);
  Request request;
  sums.let_go(7);
  sums.begin_decoding(request, 7);
  sums.advance(2);  // by two steps, planned elsewhere
  CHECK(sums.kept() == 9);
  CHECK(sums.still_to_come() == 0);
  sums.become_ghost(9, 9);
  sums.advance(3);
  CHECK(sums.kept() == 12);
  CHECK(sums.still_to_come() == 0);
  CHECK(sums.running() == 0);
  sums.end_decoding(request, 12);
  sums.retire_ghosts();
  CHECK(sums.residents() == 0);
  sums.check_same(ResidentSums(kv, 4));
}

TEST_CASE("sums that differ from the requests' are found", "[resident_sums]") {
  const PagedKv kv(PagedKvOptions{.blocks = 10, .block_tokens = 4});
  ResidentSums sums(kv, 4);
  ResidentSums expected(kv, 4);
  sums.hold(3);
  CHECK_THROWS_AS(sums.check_same(expected), InternalError);
  expected.hold(3);
  sums.check_same(expected);
  // As many rows and tokens, but other block boundaries.
  for (const TokenCount held : {5, 6}) sums.begin_decoding({}, held);
  for (const TokenCount held : {4, 7}) expected.begin_decoding({}, held);
  CHECK_THROWS_AS(sums.check_same(expected), InternalError);
}

}  // namespace
}  // namespace headroom::resident_sums_test
