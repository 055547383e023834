// Prefill and decode apart, by hand. A step takes 10 us, and 1 us for each decode row and prompt
// token; blocks hold 16 tokens of 100 bytes, and a port carries 1 byte per ns: 1.6 us a block.

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/batching/vllm.hpp"
#include "scheduler/fleet/fault_schedule.hpp"
#include "scheduler/kv/paged.hpp"
#include "tests/support/apart.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/production.hpp"

namespace headroom::disaggregation_test {
namespace {

constexpr TimeNs kUs = 1000;

struct Setup {
  std::size_t prefills = 1;
  std::size_t decodes = 1;
  BlockCount decode_blocks = 100;
  bool prefill_token_counts = false;
  bool caches = false;
  bool resend = false;
  DisaggregationOptions apart{.link_bytes_per_s = 1'000'000'000,
                              .link_latency_ns = 500,
                              .block_bytes = 1600,
                              .max_local_prefill_tokens = {},
                              .max_prefill_queue = {}};
  std::vector<Fault> faults = {};
};

class Recording final : public MetricsSink {
 public:
  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord& record) override { requests.push_back(record); }
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}
  std::vector<RequestRecord> requests;
};

struct ApartOutcome {
  std::vector<RequestRecord> requests;  // by arrival
  FleetTotals totals;

  [[nodiscard]] const TransferRecord& transfer(std::size_t i) const {
    return totals.transfer_records.at(i);
  }
};

ReplicaParts engine(const Setup& setup, ReplicaRole role) {
  const BlockCount blocks = role == ReplicaRole::decode ? setup.decode_blocks : 100;
  ReplicaParts parts;
  parts.options.role = role;
  parts.options.prefill_token_counts = setup.prefill_token_counts;
  parts.options.queue_survives = false;
  parts.limits.max_model_len = 1000;
  parts.limits.max_request_tokens = blocks * 16;
  SchedulerOptions scheduler;
  scheduler.max_num_seqs = 256;
  scheduler.max_num_batched_tokens = 1000;
  parts.scheduler = std::make_unique<VllmScheduler>(scheduler);
  parts.kv = std::make_unique<PagedKv>(
      PagedKvOptions{.blocks = blocks, .block_tokens = 16, .enable_prefix_caching = setup.caches});
  parts.cost = std::make_unique<test::AffineStepCost>(test::PolicySetup{}.cost);
  return parts;
}

ApartOutcome served(const Setup& setup, std::vector<Arrival> arrivals) {
  std::vector<ReplicaParts> parts;
  for (std::size_t i = 0; i < setup.prefills; ++i) {
    parts.push_back(engine(setup, ReplicaRole::prefill));
  }
  for (std::size_t i = 0; i < setup.decodes; ++i) {
    parts.push_back(engine(setup, ReplicaRole::decode));
  }
  FleetParts fleet_parts = test::apart_parts(parts, "round_robin", setup.apart);
  if (!setup.faults.empty()) {
    FaultOptions faults;
    faults.scheduled = setup.faults;
    faults.down_ns.assign(parts.size(), kUs);
    fleet_parts.faults = std::make_unique<FaultSchedule>(faults);
  }
  FleetOptions options;
  options.full_check_interval = 1;
  options.resends_lost = setup.resend;
  test::ListSource source(std::move(arrivals));
  Recording sink;
  Fleet fleet(options, std::move(parts), std::move(fleet_parts), source, sink);
  fleet.run({});
  std::ranges::sort(sink.requests, {}, &RequestRecord::index);
  return {std::move(sink.requests), fleet.totals()};
}

Arrival request(TimeNs time_ns, std::int32_t prompt, std::int32_t output) {
  return {
      .time_ns = time_ns, .prompt_tokens = prompt, .output_tokens = output, .max_tokens = output};
}

// The prompt takes 10 + 100 us; 7 blocks take 11.2 us and the latency 0.5 us; the last token of the
// prompt is computed again in 11 us, and two more steps of 11 us each follow.
TEST_CASE("a request is prefilled, moved and decoded", "[apart]") {
  const ApartOutcome run = served({}, {request(0, 100, 3)});
  const TransferRecord& t = run.transfer(0);
  CHECK(t.prefilled_ns == 110 * kUs);
  CHECK(t.asked_ns == 110 * kUs);
  CHECK(t.begin_ns == 110 * kUs);
  CHECK(t.end_ns == 110 * kUs + 11'200 + 500);
  CHECK(t.blocks == 7);
  CHECK(t.prefill_replica == 0);
  CHECK(t.decode_replica == 1);
  REQUIRE(run.requests.size() == 1);
  const RequestRecord& r = run.requests[0];
  CHECK(r.replica == 1);
  CHECK(r.first_scheduled_ns == 0);
  CHECK(r.first_token_ns == t.end_ns + 11 * kUs);
  CHECK(r.finish_ns == t.end_ns + 33 * kUs);
  CHECK(r.output_tokens == 3);
  CHECK(r.max_tokens == 3);
  CHECK(run.totals.transfers->transfers == 1);
  CHECK(run.totals.transfers->bytes == 7 * 1600);
  CHECK(run.totals.transfers->port_busy_ns == std::vector<TimeNs>{11'200, 11'200});
}

TEST_CASE("the client may read the token of the prefill", "[apart]") {
  const ApartOutcome run = served({.prefill_token_counts = true}, {request(0, 100, 3)});
  const RequestRecord& r = run.requests[0];
  CHECK(r.first_token_ns == 110 * kUs);
  CHECK(r.finish_ns == run.transfer(0).end_ns + 22 * kUs);  // two more tokens
  CHECK(r.output_tokens == 3);
  // A whole answer of one token needs nobody else.
  const ApartOutcome one = served({.prefill_token_counts = true}, {request(0, 100, 1)});
  CHECK(one.requests[0].finish_ns == 110 * kUs);
  CHECK(one.requests[0].replica == 0);
  CHECK(one.totals.transfer_records.empty());
}

// Both prompts are complete after 10 + 64 us; the second one's 2 blocks wait for the first one's.
TEST_CASE("transfers over one port follow each other", "[apart]") {
  const ApartOutcome run = served({.decodes = 2}, {request(0, 32, 2), request(0, 32, 2)});
  CHECK(run.transfer(0).begin_ns == 74 * kUs);
  CHECK(run.transfer(0).end_ns == 74 * kUs + 3200 + 500);
  CHECK(run.transfer(1).asked_ns == 74 * kUs);
  CHECK(run.transfer(1).begin_ns == 74 * kUs + 3200);  // behind its bytes, not its latency
  CHECK(run.transfer(1).end_ns == 74 * kUs + 6400 + 500);
  CHECK(static_cast<TimeNs>(run.totals.transfers->port_wait_ns) == 3200);
}

TEST_CASE("transfers between other replicas do not wait", "[apart]") {
  const ApartOutcome run =
      served({.prefills = 2, .decodes = 2}, {request(0, 32, 2), request(0, 32, 2)});
  CHECK(run.transfer(0).end_ns == 42 * kUs + 3700);
  CHECK(run.transfer(1).end_ns == 42 * kUs + 3700);
}

// The pool of the decode replica holds 8 blocks, and the first request takes 7 of them until it is
// done; a prompt of 30 tokens needs 2.
TEST_CASE("KV moves when the decode replica has room", "[apart]") {
  const ApartOutcome run = served({.decode_blocks = 8}, {request(0, 100, 3), request(0, 30, 2)});
  REQUIRE(run.requests.size() == 2);
  CHECK(run.transfer(1).prefilled_ns == 140 * kUs);
  CHECK(run.transfer(1).asked_ns == run.requests[0].finish_ns);
  CHECK(run.requests[1].outcome == Outcome::finished);
  CHECK(static_cast<TimeNs>(run.totals.transfers->room_wait_ns) ==
        run.requests[0].finish_ns - 140 * kUs);
}

TEST_CASE("short prompts are computed where they are decoded", "[apart]") {
  Setup setup;
  setup.apart.max_local_prefill_tokens = 32;
  const ApartOutcome run = served(setup, {request(0, 32, 2), request(kUs, 33, 2)});
  CHECK(run.requests[0].first_token_ns == 42 * kUs);
  CHECK(run.requests[0].replica == 1);
  REQUIRE(run.totals.transfer_records.size() == 1);
  CHECK(run.transfer(0).index == 1);
  CHECK(run.totals.transfers->local_short == 1);
}

// What the decode replica has in its cache does not count as prompt to compute, and is not moved.
TEST_CASE("a prefix that the decode replica knows counts for it", "[apart]") {
  const std::vector<PrefixSegment> text{{.id = 7, .tokens = 96}};
  Arrival first = request(0, 100, 2);
  Arrival second = request(1000 * kUs, 100, 2);
  first.prefix = second.prefix = text;
  Setup setup;
  setup.caches = true;
  const ApartOutcome moved = served(setup, {first, second});
  CHECK(moved.transfer(0).blocks == 7);
  CHECK(moved.transfer(1).blocks == 1);
  setup.apart.max_local_prefill_tokens = 4;
  const ApartOutcome local = served(setup, {first, second});
  CHECK(local.totals.transfer_records.size() == 1);
  CHECK(local.totals.transfers->local_short == 1);
}

// Of four at once the first two wait at the prefill replica when the third one comes.
TEST_CASE("a long prefill queue sends prompts to the decode replica", "[apart]") {
  Setup setup;
  setup.apart.max_prefill_queue = 2;
  const ApartOutcome run = served(setup, {4, request(0, 32, 2)});
  CHECK(run.totals.transfers->local_queued == 2);
  CHECK(run.totals.transfer_records.size() == 2);
}

// The transfer of 7 blocks runs from 110 to 121.7 us.
TEST_CASE("a prefill replica that crashes takes the KV along", "[apart]") {
  Setup setup;
  setup.prefills = 2;
  setup.faults = {{.time_ns = 115 * kUs, .replica = 0, .down_ns = kUs}};
  const ApartOutcome lost = served(setup, {request(0, 100, 3)});
  CHECK(lost.requests.at(0).outcome == Outcome::lost_to_fault);
  CHECK(lost.requests.at(0).finish_ns == 115 * kUs);
  CHECK(lost.totals.transfers->lost == 1);
  CHECK(lost.totals.transfers->transfers == 0);
  setup.resend = true;
  const ApartOutcome resent = served(setup, {request(0, 100, 3)});
  CHECK(resent.requests.at(0).outcome == Outcome::finished);
  CHECK(resent.transfer(1).prefill_replica == 1);
  CHECK(resent.transfer(1).prefilled_ns == 225 * kUs);
  // The decode replica's port is busy with the first transfer until 121.2 us: long over.
  CHECK(resent.requests.at(0).finish_ns == 225 * kUs + 11'700 + 33 * kUs);
}

TEST_CASE("a prefill replica that crashes behind the transfer is not missed", "[apart]") {
  Setup setup;
  setup.faults = {{.time_ns = 122 * kUs, .replica = 0, .down_ns = kUs}};
  const ApartOutcome run = served(setup, {request(0, 100, 3)});
  CHECK(run.requests.at(0).outcome == Outcome::finished);
  CHECK(run.totals.transfers->lost == 0);
}

TEST_CASE("a client that leaves during the transfer leaves both replicas", "[apart]") {
  Arrival impatient = request(0, 100, 3);
  impatient.deadline_ns = 115 * kUs;
  const ApartOutcome run = served({}, {impatient, request(200 * kUs, 100, 3)});
  CHECK(run.requests.at(0).outcome == Outcome::cancelled);
  CHECK(run.requests.at(0).finish_ns == 115 * kUs);
  CHECK(run.requests.at(0).replica == 1);
  CHECK(run.totals.transfers->abandoned == 1);
  CHECK(run.requests.at(1).outcome == Outcome::finished);
}

}  // namespace
}  // namespace headroom::disaggregation_test
