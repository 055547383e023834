#include <catch2/catch.hpp>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/serving/request.hpp"

namespace headroom::request_pool_test {
namespace {

TEST_CASE("a request is found under its id until it is removed", "[request_pool]") {
  RequestPool pool;
  const RequestId a = pool.add({.index = 11, .state = RequestState::waiting});
  const RequestId b = pool.add({.index = 12, .state = RequestState::waiting});
  CHECK(a != b);
  CHECK(pool[a].index == 11);
  CHECK(pool[b].index == 12);
  CHECK(pool.live() == 2);
  pool.remove(a);
  CHECK(pool.live() == 1);
  CHECK(pool[b].index == 12);
}

TEST_CASE("freed slots are used again, the last freed first", "[request_pool]") {
  RequestPool pool;
  const RequestId a = pool.add({.index = 0});
  const RequestId b = pool.add({.index = 1});
  pool.remove(a);
  pool.remove(b);
  CHECK(pool.add({.index = 2}) == b);
  CHECK(pool.add({.index = 3}) == a);
  CHECK(pool.capacity() == 2);
}

TEST_CASE("a reused slot keeps nothing of its earlier request", "[request_pool]") {
  RequestPool pool;
  const RequestId id = pool.add({.prompt_tokens = 9, .preemptions = 3});
  pool.remove(id);
  CHECK(pool[id].state == RequestState::gone);
  REQUIRE(pool.add({.prompt_tokens = 5}) == id);
  CHECK(pool[id].prompt_tokens == 5);
  CHECK(pool[id].preemptions == 0);
}

TEST_CASE("the pool grows only to the most requests that were live at once", "[request_pool]") {
  RequestPool pool;
  std::vector<RequestId> live;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 50; ++i) live.push_back(pool.add({}));
    for (const RequestId id : live) pool.remove(id);
    live.clear();
  }
  CHECK(pool.live() == 0);
  CHECK(pool.capacity() == 50);
}

TEST_CASE("removing a request twice, or one that never was, is a bug", "[request_pool]") {
  RequestPool pool;
  const RequestId id = pool.add({});
  pool.remove(id);
  CHECK_THROWS_AS(pool.remove(id), InternalError);
  CHECK_THROWS_AS(pool.remove(17), InternalError);
}

}  // namespace
}  // namespace headroom::request_pool_test
