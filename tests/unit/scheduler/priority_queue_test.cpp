// The heap of priorities beside a plain sorted set.

#include "scheduler/batching/priority_queue.hpp"

#include <catch2/catch.hpp>

#include <random>
#include <set>
#include <tuple>

namespace headroom::priority_queue_test {
namespace {

TEST_CASE("a priority queue keeps its first and its last at hand, whoever leaves it") {
  using Key = std::tuple<std::int32_t, std::uint64_t, RequestId>;
  std::mt19937_64 random(7);
  PriorityQueue first(PriorityQueue::Top::first);
  PriorityQueue last(PriorityQueue::Top::last);
  std::set<Key> model;
  std::vector<Key> key_of(50);
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    const auto id = static_cast<RequestId>(random() % key_of.size());
    if (first.contains(id)) {
      first.remove(id);
      last.remove(id);
      model.erase(key_of[id]);
    } else {
      Request request;
      request.priority = static_cast<std::int32_t>(random() % 5) - 2;
      request.index = i;
      first.push(id, request);
      last.push(id, request);
      key_of[id] = {request.priority, request.index, id};
      model.insert(key_of[id]);
    }
    REQUIRE(first.size() == static_cast<std::int64_t>(model.size()));
    REQUIRE(first.top() == (model.empty() ? kNoRequest : std::get<2>(*model.begin())));
    REQUIRE(last.top() == (model.empty() ? kNoRequest : std::get<2>(*model.rbegin())));
  }
}

}  // namespace
}  // namespace headroom::priority_queue_test
