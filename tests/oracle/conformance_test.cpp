// Every scheduler with every allocator that it goes with (conformance_rows.hpp), under random
// traffic and with all contracts scanned at each event. What one policy does in particular is
// tested in tests/unit/scheduler.

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/batching/vllm.hpp"
#include "sim/kernel/check.hpp"
#include "sim/scenario/options.hpp"
#include "tests/oracle/conformance_checks.hpp"
#include "tests/oracle/conformance_rows.hpp"

namespace headroom::test::conformance_test {
namespace {

// From a pool that some requests outgrow, over one that just holds the longest context (a buddy
// pool of 256 + 16 tokens, say), to one in which memory never matters.
std::vector<EngineSize> sizes() {
  return {{.seats = 5, .step_tokens = 32, .pool_tokens = 96},
          {.seats = 3, .step_tokens = 16, .pool_tokens = 272},
          {.seats = 6, .step_tokens = 64, .pool_tokens = 320},
          {.seats = 8, .step_tokens = 48, .pool_tokens = 1600}};
}

SetupMaker maker(const ConformanceRow& row, const EngineSize& size, int depth) {
  return [&row, size, depth] {
    PolicySetup setup = row.make(size);
    setup.options.pipeline_depth = depth;
    return setup;
  };
}

template <typename Check>
void for_all_rows(Check check) {
  for (const ConformanceRow& row : conformance_rows()) {
    std::uint64_t seed = 0;
    for (const EngineSize& size : sizes()) {
      for (int depth = 1; depth <= row.depths; ++depth) {
        ++seed;
        CAPTURE(row.name, size.pool_tokens, depth, seed);
        Traffic traffic = random_traffic(seed, seed % 4 != 1);
        for (std::size_t i = 0; row.adapters > 0 && i < traffic.arrivals.size(); ++i) {
          const auto number = static_cast<std::int32_t>(i * 5 % 13);
          traffic.arrivals[i].adapter = number <= row.adapters ? number : 0;
        }
        check(row, size, depth, traffic);
      }
    }
  }
}

// --- the table ----------------------------------------------------------------------------------

bool has_row_with(const std::string& option) {
  return std::ranges::any_of(conformance_rows(), [&](const ConformanceRow& row) {
    return row.name.find(option + " ") != std::string::npos;
  });
}

TEST_CASE("every scheduler, allocator, order and placement of a scenario has a row") {
  std::size_t found = 0;
  for (const char* pointer :
       {"/engine/scheduler", "/engine/kv_allocator", "/engine/kv_placement",
        "/engine/kv_reservation", "/engine/scheduling_policy", "/engine/schedule_policy",
        "/engine/capacity_scheduler_policy", "/engine/context_chunking_policy"}) {
    const auto row = std::ranges::find(all_options(), pointer, &OptionRow::pointer);
    REQUIRE(row != all_options().end());
    const std::string key = std::string(pointer).substr(std::string("/engine/").size()) + '=';
    for (const std::string& choice : choices_of(*row)) {
      CAPTURE(key, choice);
      CHECK(has_row_with(key + choice));
      ++found;
    }
  }
  CHECK(found > 20);
  CHECK_FALSE(has_row_with("scheduler=none"));
}

// --- every row ----------------------------------------------------------------------------------

TEST_CASE("every row accounts for its requests and tokens, keeps its limits and conserves work") {
  std::size_t outcomes[5] = {};
  std::size_t preempted = 0;
  for_all_rows(
      [&](const ConformanceRow& row, const EngineSize& size, int depth, const Traffic& traffic) {
        const CheckedRun run = checked_run(row, size, depth, traffic.arrivals);
        CHECK(unaccounted(run) == "");
        CHECK(lost_tokens(run) == "");
        CHECK(exceeded_limits(run) == "");
        CHECK(idleness(run) == "");
        for (const RequestRecord& r : run.run.requests)
          ++outcomes[static_cast<std::size_t>(r.outcome)];
        preempted += run.run.order_of(EngineEventKind::preempted).size();
      });
  for (const std::size_t count : outcomes) CHECK(count > 50);  // the traffic reaches them all
  CHECK(preempted > 1000);
}

TEST_CASE("every row gives the same in jumps, single steps and random cuts") {
  for_all_rows(
      [](const ConformanceRow& row, const EngineSize& size, int depth, const Traffic& traffic) {
        CHECK(cut_difference(maker(row, size, depth), traffic.arrivals, 2) == "");
      });
}

TEST_CASE("every row gives the same twice, and under any numbering of the requests") {
  for_all_rows(
      [](const ConformanceRow& row, const EngineSize& size, int depth, const Traffic& traffic) {
        CHECK(repeat_difference(maker(row, size, depth), traffic.arrivals) == "");
        CHECK(numbering_difference(maker(row, size, depth), traffic) == "");
      });
}

// --- wrong policies, each of which a check must refuse ------------------------------------------

enum class Fault : std::uint8_t {
  loses_wake_ups,      // every third time that nothing runs it makes no plan
  drops_requests,      // every tenth is never looked at
  overlooks_arrivals,  // says that they cannot change its plans
  repeats_too_often,   // one step more than the pool has blocks for
  goes_by_number       // serves the smallest RequestId first
};

class Faulty final : public BatchScheduler {
 public:
  Faulty(const SchedulerOptions& options, Fault fault) : inner_(options), fault_(fault) {}

  void enqueue(RequestId id, const Request& request) override {
    if (fault_ == Fault::drops_requests && request.index % 10 == 9) return;
    ++here_;
    Request seen = request;
    if (fault_ == Fault::goes_by_number) seen.priority = static_cast<std::int32_t>(id);
    inner_.enqueue(id, seen);
  }
  void plan(const PlanContext& context, BatchPlan& plan) override {
    const bool wakes_up = running_ == 0 && here_ > 0;
    if (fault_ == Fault::loses_wake_ups && wakes_up && ++wake_ups_ % 3 == 0) return;
    inner_.plan(context, plan);
    for (const Chunk& chunk : plan.chunks) running_ += chunk.admits ? 1 : 0;
    running_ -= static_cast<std::int64_t>(plan.preempted.size());
    if (fault_ == Fault::overlooks_arrivals) plan.arrivals_can_join = false;
    if (fault_ == Fault::repeats_too_often && plan.chunks.empty()) ++plan.steady_steps;
  }
  // For clients that stay to the end only.
  [[nodiscard]] bool on_leave(RequestId id) override {
    --here_;
    --running_;
    return inner_.on_leave(id);
  }
  void on_engine_lost() override { inner_.on_engine_lost(); }

 private:
  VllmScheduler inner_;
  Fault fault_;
  std::int64_t here_ = 0;
  std::int64_t running_ = 0;
  std::uint64_t wake_ups_ = 0;
};

constexpr EngineSize kAmple{.seats = 4, .step_tokens = 32, .pool_tokens = 800};
constexpr EngineSize kTight{.seats = 4, .step_tokens = 32, .pool_tokens = 176};

const ConformanceRow& plain_row(const std::string& policy = "fcfs") {
  return conformance_row("scheduler=vllm scheduling_policy=" + policy +
                         " kv_allocator=paged block_size=16 enable_prefix_caching=false ");
}

ConformanceRow faulty_row(Fault fault) {
  ConformanceRow row = plain_row();
  row.make = [fault](const EngineSize& size) {
    PolicySetup setup = plain_row().make(size);
    SchedulerOptions options;
    options.max_num_seqs = size.seats;
    options.max_num_batched_tokens = size.step_tokens;
    if (fault == Fault::goes_by_number)
      options.own.edit<VllmScheduling>().scheduling_policy = "priority";
    setup.scheduler = std::make_unique<Faulty>(options, fault);
    return setup;
  };
  return row;
}

// Whether the check finds something in the traffic of one of these seeds; nobody gives up in it.
bool refuses(const std::function<std::string(const Traffic&)>& check) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    if (!check(random_traffic(seed, false)).empty()) return true;
  }
  return false;
}

TEST_CASE("lost wake-ups and dropped requests are refused") {
  const auto idles = [](const ConformanceRow& row) {
    return refuses([&](const Traffic& traffic) {
      return idleness(checked_run(row, kAmple, 1, traffic.arrivals));
    });
  };
  CHECK(idles(faulty_row(Fault::loses_wake_ups)));
  CHECK(idles(faulty_row(Fault::drops_requests)));
  CHECK_FALSE(idles(plain_row()));
  const ConformanceRow careless = faulty_row(Fault::drops_requests);
  CHECK(refuses([&](const Traffic& traffic) {
    return unaccounted(checked_run(careless, kAmple, 1, traffic.arrivals));
  }));
}

TEST_CASE("one sequence more than there are seats is refused, as is one token too many") {
  const Traffic traffic = random_traffic(1, false);
  ConformanceRow row = plain_row();
  row.make = [](const EngineSize& size) {
    EngineSize larger = size;
    ++larger.seats;
    larger.step_tokens += 16;
    PolicySetup setup = plain_row().make(larger);
    setup.options.max_sequences = size.seats;
    return setup;
  };
  CHECK_THROWS_AS(checked_run(row, kAmple, 1, traffic.arrivals), InternalError);  // our contract
  const CheckedRun run = checked_run(plain_row(), kAmple, 1, traffic.arrivals);
  REQUIRE(exceeded_limits(run) == "");
  CheckedRun fewer_seats = run;
  --fewer_seats.size.seats;
  CHECK(exceeded_limits(fewer_seats) != "");
  CheckedRun fewer_tokens = run;
  --fewer_tokens.max_step_tokens;
  CHECK(exceeded_limits(fewer_tokens) != "");
}

TEST_CASE("steady steps that are too many, or last beyond an arrival, are refused") {
  const auto differs = [](const ConformanceRow& row, const EngineSize& size, int depth) {
    return refuses([&](const Traffic& traffic) {
      return cut_difference(maker(row, size, depth), traffic.arrivals, 2);
    });
  };
  for (const int depth : {1, 2}) {
    CHECK(differs(faulty_row(Fault::repeats_too_often), kTight, depth));
    CHECK(differs(faulty_row(Fault::overlooks_arrivals), kAmple, depth));
    CHECK_FALSE(differs(plain_row(), kTight, depth));
  }
}

TEST_CASE("what depends on the numbers of requests, or on an earlier run, is refused") {
  const Traffic traffic = random_traffic(4, false);
  const ConformanceRow row = faulty_row(Fault::goes_by_number);
  CHECK(numbering_difference(maker(row, kAmple, 1), traffic) != "");
  CHECK(numbering_difference(maker(plain_row("priority"), kAmple, 1), traffic) == "");
  int runs = 0;
  const SetupMaker learning = [&runs] {
    EngineSize size = kAmple;
    size.seats -= ++runs % 2;
    return plain_row().make(size);
  };
  CHECK(repeat_difference(learning, traffic.arrivals) != "");
}

TEST_CASE("a run that was tampered with is refused") {
  const Traffic traffic = random_traffic(5, false);
  const CheckedRun run = checked_run(plain_row(), kAmple, 1, traffic.arrivals);
  REQUIRE((unaccounted(run).empty() && lost_tokens(run).empty()));
  for (const Outcome outcome : {Outcome::unfinished, Outcome::cancelled, Outcome::lost_to_oom}) {
    CheckedRun other = run;
    other.run.requests[7].outcome = outcome;
    CHECK(unaccounted(other) != "");
  }
  CheckedRun shorter = run;
  --shorter.run.requests[7].output_tokens;
  CHECK(lost_tokens(shorter) != "");
  CheckedRun unpaid = run;
  for (PolicyStep& step : unpaid.run.steps) step.chunk_tokens -= step.chunk_tokens > 1 ? 1 : 0;
  CHECK(lost_tokens(unpaid) != "");
  CheckedRun later = run;
  ++later.run.steps[3].end_ns;
  CHECK(difference(run.run, later.run) == "steps 3 differ");
}

}  // namespace
}  // namespace headroom::test::conformance_test
