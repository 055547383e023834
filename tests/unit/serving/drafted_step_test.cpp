#include "sim/serving/drafted_step.hpp"

#include <catch2/catch.hpp>

#include "scheduler/kv/paged.hpp"
#include "sim/kernel/check.hpp"

namespace headroom::drafted_step_test {
namespace {

// Of two drafts the first is always accepted, the second never.
ReplicaOptions speculating() {
  ReplicaOptions options;
  options.acceptance = DraftAcceptance(1, {1.0, 0.0});
  return options;
}

// One row that decodes, with 20 computed tokens.
struct OneRow {
  ReplicaOptions options = speculating();
  PagedKv kv{PagedKvOptions{.blocks = 10, .block_tokens = 16}};
  ReplicaCore core{0, options, kv, std::nullopt};
  DraftedStep step{options.acceptance, 0};
  RequestId id = core.requests.add(Request{});

  explicit OneRow(StepIndex last_decode) {
    Request& request = core.requests[id];
    request.prompt_tokens = request.computed_tokens = 20;
    request.state = RequestState::decoding;
    core.stories.resize(1);
    core.stories[id] = {.generated = 1, .last_decode = last_decode, .here = true};
    core.time.stops().track(id);
    core.sums.begin_decoding(request, 20);
  }
  // A step of 10 ticks in which the row has `tokens`. Returns its shape.
  StepShape plan(std::int32_t tokens) {
    core.sums.decodes_to_plan().advance(1);
    Segment& segment = core.time.begin_segment(true);
    segment.shape = {};
    step.plan(std::vector<VerifiedRow>{{id, tokens}}, core.time.clock(), segment, core);
    core.time.push(segment, 1);
    return segment.shape;
  }
  // Returns the rows that were late.
  std::int64_t end() {
    const std::int64_t late = step.draw(core.time.clock() + 10, core);
    core.time.end_steps(core.time.segments().front(), 1, 10);
    core.time.segments().pop();
    return late;
  }
};

TEST_CASE("a row yields the drafts that are accepted and one token more", "[drafted_step]") {
  OneRow row(9);
  const StepShape shape = row.plan(3);
  CHECK(shape.decode_rows == 1);
  CHECK(shape.draft_tokens == 2);
  CHECK(shape.decode_context == 23);
  CHECK(row.end() == 0);
  REQUIRE(row.step.outcomes().size() == 1);
  CHECK(row.step.outcomes()[0].drafts == 2);
  CHECK(row.step.outcomes()[0].accepted == 1);
  CHECK(row.step.extra_tokens() == 1);
  row.step.yield(row.core);
  // Two tokens came out of one step: the last one comes a step earlier.
  CHECK(row.core.stories[row.id].generated == 2);
  CHECK(row.core.stories[row.id].last_decode == 8);
  CHECK(row.core.held(row.id) == 22);
  CHECK(row.core.sums.kept() == 22);
  CHECK(row.step.extra_tokens() == 0);
  CHECK(row.core.time.stops().empty());
}

TEST_CASE("an answer that ends among its drafts comes out shorter", "[drafted_step]") {
  OneRow row(1);
  row.plan(3);
  CHECK(row.end() == 0);
  CHECK(row.step.outcomes()[0].accepted == 1);
  CHECK(row.step.extra_tokens() == 0);
  row.step.yield(row.core);
  REQUIRE_FALSE(row.core.time.stops().empty());
  CHECK(row.core.time.stops().top().id == row.id);
  CHECK(row.core.time.stops().top().decode == 1);
}

TEST_CASE("a row that sits a step out holds what it held, and its next gap is longer",
          "[drafted_step]") {
  OneRow row(9);
  CHECK(row.plan(0).decode_rows == 0);
  CHECK(row.end() == 0);
  row.step.yield(row.core);
  CHECK(row.core.stories[row.id].last_decode == 10);
  CHECK(row.core.held(row.id) == 20);
  CHECK(row.core.sums.kept() == 20);
  row.plan(1);
  CHECK(row.end() == 1);
  REQUIRE(row.core.gaps.groups().size() == 1);
  CHECK(row.core.gaps.groups()[0].gap == 20);
}

TEST_CASE("a plan names every decoding row", "[drafted_step]") {
  OneRow row(9);
  Segment& segment = row.core.time.begin_segment(true);
  CHECK_THROWS_AS(row.step.plan({}, 0, segment, row.core), InternalError);
}

}  // namespace
}  // namespace headroom::drafted_step_test
