#include "sim/serving/replica_core.hpp"

#include <catch2/catch.hpp>

#include "scheduler/kv/paged.hpp"
#include "sim/kernel/check.hpp"

namespace headroom::replica_core_test {
namespace {

// A request with a prompt of 20 tokens decodes in blocks of 16, planned from decode step 1 on.
struct Decoding {
  ReplicaOptions options;
  PagedKv kv{PagedKvOptions{.blocks = 10, .block_tokens = 16}};
  ReplicaCore core{0, options, kv, std::nullopt};
  RequestId id = core.requests.add(Request{});

  Decoding() {
    Request& request = core.requests[id];
    request.prompt_tokens = request.known_tokens = 20;
    core.stories.resize(1);
    core.stories[id] = {.output_tokens = 5, .here = true};
    core.time.stops().track(id);
    CHECK(kv.try_grow({.id = id, .request = &request, .hold_tokens = 20, .fit_tokens = 20}));
    core.sums.enter_batch(core.final_tokens(id));
    request.computed_tokens = 20;
    request.state = RequestState::decoding;
    // Its first token came out in step 0.
    core.stories[id].last_decode = 4;
    core.sums.begin_decoding(request, 20);
  }
  // `steps` more decode steps are planned, and those before the last `in_flight` have ended.
  void run(StepCount steps, StepCount in_flight) {
    core.sums.decodes_to_plan().advance(1);
    Segment& segment = core.time.begin_segment(true);
    segment.gaps_per_step = 1;
    segment.price.base = 10;
    core.time.push(segment, steps);
    core.sums.advance(steps - 1);
    core.time.apply(steps - 1);
    core.time.end_steps(core.time.segments().front(), steps - in_flight, 10 * (steps - in_flight));
  }
};

TEST_CASE("what a decoding request has and holds follows from the steps", "[replica_core]") {
  Decoding one;
  CHECK(one.core.final_tokens(one.id) == 24);
  CHECK(one.core.generated(one.id) == 1);
  one.core.check(0);
  one.run(3, 1);
  CHECK(one.core.held(one.id) == 23);
  CHECK(one.core.generated(one.id) == 3);
  one.core.check(0);
  ReplicaState state;
  one.core.read_state(state);
  CHECK(state.running == 1);
  CHECK(state.kv_tokens == 23);
}

TEST_CASE("sums or blocks that are not the requests' are found", "[replica_core]") {
  Decoding tokens;
  tokens.core.sums.hold(1);
  CHECK_THROWS_AS(tokens.core.check(0), InternalError);
  Decoding blocks;
  blocks.kv.take(1);
  CHECK_THROWS_AS(blocks.core.check(0), InternalError);
  blocks.core.check(8);  // with drafts it might hold a block for those
}

TEST_CASE("a request that leaves gives back all it holds", "[replica_core]") {
  Decoding one;
  one.run(2, 1);
  const KvHold stay = one.core.stay(one.id);
  CHECK(one.core.forget_in_flight(one.id) == 0);
  CHECK(one.core.time.segments().front().gaps_per_step == 0);
  one.core.leave_batch(one.id);
  one.core.remove(one.id);
  CHECK(one.core.sums.residents() == 0);
  CHECK(one.kv.pool().free_blocks == 10);
  CHECK(one.core.stay(one.id) != stay);
  one.core.check(0);
}

TEST_CASE("the last token of a preempted row may still be in flight", "[replica_core]") {
  Decoding one;
  one.run(3, 1);
  CHECK(one.core.preempt(one.id, 20) == 23);
  CHECK(one.core.requests[one.id].state == RequestState::waiting);
  CHECK(one.core.sums.waiting_tokens() == 24);
  CHECK(one.core.stories[one.id].generated == 4);
  CHECK(one.core.gaps.awaits_last_tokens());
  one.core.time.end_steps(one.core.time.segments().front(), 1, 10);
  one.core.gaps.note_last_tokens(one.core.stories, one.core.requests, 3, 30);
  CHECK(one.core.stories[one.id].last_token == 30);
  CHECK_FALSE(one.core.gaps.awaits_last_tokens());
  // Its next token is the first of a stay, and follows that one.
  one.core.gaps.add_resumed(std::vector<RequestId>{one.id}, one.core.stories, 75);
  CHECK(one.core.gaps.groups()[0].gap == 45);

  Decoding other;
  other.run(3, 0);
  CHECK(other.core.preempt(other.id, 30) == 23);
  CHECK(other.core.stories[other.id].generated == 4);
  CHECK(other.core.stories[other.id].last_token == 30);
}

TEST_CASE("a row whose last step is planned holds its tokens until that ends", "[replica_core]") {
  Decoding one;
  one.run(4, 1);
  one.core.leave_plans(one.id);
  CHECK(one.core.requests[one.id].state == RequestState::ending);
  CHECK(one.core.sums.decodes().size() == 0);
  CHECK(one.core.held(one.id) == 24);
  CHECK(one.core.time.stops().top().decode == 4);
  one.core.check(0);
  Decoding early;
  early.run(3, 1);
  CHECK_THROWS_AS(early.core.leave_plans(early.id), InternalError);
}

TEST_CASE("an engine that dies leaves its queue alone", "[replica_core]") {
  Decoding one;
  const RequestId waits = one.core.requests.add(Request{});
  one.core.requests[waits].known_tokens = 7;
  one.core.enter_queue(waits);
  one.run(2, 1);
  one.core.remove(one.id);
  one.core.on_engine_lost();
  CHECK(one.core.time.idle());
  CHECK(one.core.sums.residents() == 0);
  CHECK(one.core.sums.waiting_tokens() == 7);
  CHECK(one.kv.pool().free_blocks == 10);
}

}  // namespace
}  // namespace headroom::replica_core_test
