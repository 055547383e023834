#include "sim/serving/remote_requests.hpp"

#include <catch2/catch.hpp>

#include "scheduler/kv/paged.hpp"
#include "sim/kernel/check.hpp"

namespace headroom::remote_requests_test {
namespace {

using Stage = RemoteRequests::Stage;

ReplicaOptions options_of(ReplicaRole role) {
  ReplicaOptions options;
  options.role = role;
  options.prefill_token_counts = true;
  options.max_sequences = 4;
  return options;
}

Request waiting(std::uint64_t index, std::int32_t prompt_tokens) {
  Request request;
  request.index = index;
  request.prompt_tokens = request.known_tokens = prompt_tokens;
  request.max_tokens = 50;
  request.state = RequestState::waiting;
  return request;
}

TEST_CASE("a replica without a role has no remote requests", "[remote_requests]") {
  RemoteRequests remote(options_of(ReplicaRole::both));
  const Request request = waiting(0, 30);
  CHECK_FALSE(remote.has_role());
  CHECK(remote.stage(5) == Stage::none);
  CHECK(remote.queued_tokens(5, request) == 30);
  CHECK(remote.max_tokens(5, request) == 50);
  CHECK(remote.carried(5) == 0);
  CHECK_FALSE(remote.hands_on(5));
  CHECK_FALSE(remote.leave_line(5));
}

TEST_CASE("a prefill replica holds the KV of a prompt until it is fetched", "[remote_requests]") {
  RemoteRequests remote(options_of(ReplicaRole::prefill));
  Request request = waiting(9, 30);
  RequestStory story;
  story.output_tokens = 20;
  remote.begin(2, request, story, nullptr);
  CHECK(remote.hands_on(2));
  CHECK(request.max_tokens == 1);
  CHECK(story.output_tokens == 1);
  CHECK(remote.max_tokens(2, request) == 50);
  remote.hold(2, {.index = 9});
  CHECK(remote.held() == 1);
  REQUIRE(remote.handovers().offers.size() == 1);
  CHECK(remote.handovers().offers[0].index == 9);
  remote.end_hold(2);
  CHECK(remote.held() == 0);
  // One token is all that its client wants: it has that from here.
  story.output_tokens = 1;
  remote.begin(2, request, story, nullptr);
  CHECK_FALSE(remote.hands_on(2));
  CHECK_THROWS_AS(remote.end_hold(2), InternalError);
}

// Blocks of 16 tokens; prompts of 40 and their first token take three each.
struct DecodeSide {
  PagedKv kv{PagedKvOptions{.blocks = 5, .block_tokens = 16}};
  ResidentSums sums{kv, 16};
  RequestPool requests;
  RemoteRequests remote{options_of(ReplicaRole::decode)};

  RequestId prefilled(std::uint64_t index) {
    const RequestId id = requests.add(waiting(index, 40));
    RequestStory story;
    const KvOffer offer{.index = index, .first_scheduled_ns = 3, .prefilled_ns = 8, .token = 8};
    remote.begin(id, requests[id], story, &offer);
    CHECK(story.generated == 1);
    CHECK(story.first_token_ns == 8);
    return id;
  }
};

TEST_CASE("a decode replica takes blocks in order and asks for the KV", "[remote_requests]") {
  DecodeSide side;
  const RequestId first = side.prefilled(7);
  const RequestId second = side.prefilled(8);
  CHECK(side.remote.carried(first) == 1);
  CHECK(side.remote.queued_tokens(first, side.requests[first]) == 1);
  CHECK(side.remote.take_in(side.requests, side.sums, side.kv));
  CHECK(side.remote.stage(first) == Stage::fetching);
  CHECK(side.remote.stage(second) == Stage::waits_for_room);  // two blocks are free
  CHECK(side.sums.kept() == 41);
  REQUIRE(side.remote.handovers().fetches.size() == 1);
  CHECK(side.remote.handovers().fetches[0].index == 7);
  CHECK(side.remote.handovers().fetches[0].blocks == 3);
  CHECK_FALSE(side.remote.take_in(side.requests, side.sums, side.kv));
  side.remote.arrive(first);
  CHECK(side.remote.holds_early(first));
  CHECK(side.remote.admit(first, 40, side.sums) == 0);  // nothing of it was in the cache
  CHECK(side.remote.stage(first) == Stage::none);
  CHECK(side.sums.kept() == 0);  // counted as a resident from now on
  CHECK_THROWS_AS(side.remote.arrive(second), InternalError);
}

TEST_CASE("a request that leaves gives up its place and its blocks", "[remote_requests]") {
  DecodeSide side;
  const RequestId first = side.prefilled(7);
  const RequestId second = side.prefilled(8);
  CHECK(side.remote.take_in(side.requests, side.sums, side.kv));
  CHECK(side.remote.leave_line(first));
  side.remote.withdraw(first, side.requests[first], side.sums, side.kv);
  CHECK(side.sums.kept() == 0);
  CHECK(side.kv.pool().free_blocks == 5);
  CHECK(side.remote.leave_line(second));
  side.remote.withdraw(second, side.requests[second], side.sums, side.kv);
  CHECK_FALSE(side.remote.take_in(side.requests, side.sums, side.kv));
  // One whose KV has come is in the scheduler's queue.
  const RequestId third = side.prefilled(9);
  CHECK(side.remote.take_in(side.requests, side.sums, side.kv));
  side.remote.arrive(third);
  CHECK_FALSE(side.remote.leave_line(third));
}

TEST_CASE("an engine that dies takes along what was to leave it", "[remote_requests]") {
  RemoteRequests remote(options_of(ReplicaRole::prefill));
  Request request = waiting(9, 30);
  RequestStory story;
  remote.begin(0, request, story, nullptr);
  remote.hold(0, {});
  remote.leave_when_planning({.is_given_back = true});
  CHECK(remote.has_exits());
  remote.lose_kv(9, {.id = 0});
  remote.on_engine_lost();
  CHECK(remote.held() == 0);
  CHECK_FALSE(remote.has_exits());
  CHECK(remote.handovers().lost.size() == 1);
}

}  // namespace
}  // namespace headroom::remote_requests_test
