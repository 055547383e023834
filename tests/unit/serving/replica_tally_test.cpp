#include "sim/serving/replica_tally.hpp"

#include <catch2/catch.hpp>

#include "sim/kernel/check.hpp"
#include "sim/serving/shown_load.hpp"

namespace headroom::replica_tally_test {
namespace {

struct LastRecord final : MetricsSink {
  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord& record) override { index = record.index; }
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}
  std::uint64_t index = 0;
};

RequestRecord finished(std::uint64_t index) {
  return {.arrival_ns = 100,
          .first_token_ns = 130,
          .finish_ns = 190,
          .index = index,
          .prompt_tokens = 8,
          .output_tokens = 4,
          .outcome = Outcome::finished};
}

TEST_CASE("tokens that came out belong to requests", "[replica_tally]") {
  LastRecord sink;
  ReplicaTally tally(sink, false);
  tally.yield(9);
  tally.settle(4);
  CHECK(tally.unsettled_tokens() == 5);
  CHECK_THROWS_AS(tally.check_settled(), InternalError);
  tally.hand_back(5);
  tally.check_settled();
  CHECK(tally.tokens_out() == 9);
  CHECK(tally.counts().handed_back == 1);
  CHECK(tally.counts().discarded_tokens == 5);
}

TEST_CASE("a request that leaves is recorded, counted and reported", "[replica_tally]") {
  LastRecord sink;
  ReplicaTally tally(sink, false);
  tally.depart(finished(6));
  CHECK(sink.index == 6);
  CHECK(tally.counts().of(Outcome::finished) == 1);
  CHECK(tally.counts().prompt_tokens == 8);
  CHECK(tally.counts().output_tokens == 4);
  REQUIRE(tally.departures().size() == 1);
  CHECK(tally.departures()[0].index == 6);
  // At the end of the run it is still here: nobody has to account for it.
  tally.depart({.index = 7, .outcome = Outcome::unfinished});
  CHECK(sink.index == 7);
  CHECK(tally.departures().size() == 1);
}

TEST_CASE("latencies are told as clients see them", "[replica_tally]") {
  for (const bool answers_at_once : {false, true}) {
    LastRecord sink;
    ReplicaTally tally(sink, answers_at_once);
    LatencyWindow ttft;
    LatencyWindow tpot;
    tally.on_first_token(30);  // nobody asks yet
    tally.tell_latencies(&ttft, &tpot);
    tally.on_first_token(40);
    // Streamed, the first token is known when it comes; else with the whole answer.
    CHECK(ttft.percentile(50).has_value() == !answers_at_once);
    tally.depart(finished(1));
    CHECK(ttft.percentile(50) == (answers_at_once ? 30 : 40));
    CHECK(tpot.percentile(50) == 20);  // (190 - 130) / 3
  }
}

TEST_CASE("the load shown is that of the latest time it was stale", "[shown_load]") {
  ShownLoad load;
  CHECK_FALSE(load.is_stale());
  load.become_stale();
  CHECK(load.is_stale());
  KvPoolState pool;
  pool.block_tokens = 16;
  pool.total_blocks = 10;
  pool.free_blocks = 7;
  load.show(pool, 5);
  CHECK_FALSE(load.is_stale());
  CHECK(load.kv_tokens() == 48);
  CHECK(load.generated_tokens() == 5);
}

}  // namespace
}  // namespace headroom::replica_tally_test
