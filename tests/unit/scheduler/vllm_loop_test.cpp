// The scheduler's sums beside vLLM's loop over its running list (ENGINES.md 3.1), written request
// by request: in every plan of random traffic both preempt the same and cut the same chunks.

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "scheduler/batching/vllm.hpp"
#include "sim/serving/kv_layout.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::vllm_loop_test {
namespace {

struct LoopResult {
  std::vector<RequestId> preempted;
  std::map<RequestId, TokenCount> tokens;  // of those that run
  bool broken_off = false;                 // a victim ended the loop before others
};

// Step 1 of ENGINES.md 3.1. No prefix caching.
class RunningLoop {
 public:
  RunningLoop(const SchedulerOptions& options, const PlanContext& context,
              std::vector<RequestId> running)
      : options_(options),
        context_(context),
        running_(std::move(running)),
        free_(context.kv.pool().free_blocks),
        budget_(options.max_num_batched_tokens) {}

  LoopResult run() {
    while (at_ < running_.size() && budget_ > 0) {
      const RequestId id = running_[at_];
      if (context_.requests[id].state == RequestState::ending) {
        ++at_;
        continue;
      }
      const TokenCount tokens = wanted(id);
      const BlockCount need = blocks(computed(id) + tokens) - blocks(computed(id));
      while (need > free_) {
        const RequestId victim = next_victim();
        preempt(victim);
        if (victim != id) continue;
        result_.broken_off = at_ < running_.size();
        return result_;
      }
      free_ -= need;
      budget_ -= tokens;
      result_.tokens[id] = tokens;
      ++at_;
    }
    return result_;
  }

 private:
  TokenCount computed(RequestId id) const {
    return computed_by(context_.requests[id], context_.decodes_planned);
  }
  BlockCount blocks(TokenCount tokens) const {
    return blocks_needed(tokens, context_.kv.pool().block_tokens);
  }
  TokenCount wanted(RequestId id) const {
    const Request& request = context_.requests[id];
    if (request.state == RequestState::decoding) return 1;
    TokenCount tokens = std::min<TokenCount>(request.known_tokens - computed(id), budget_);
    if (options_.long_prefill_token_threshold > 0) {
      tokens = std::min<TokenCount>(tokens, options_.long_prefill_token_threshold);
    }
    return tokens;
  }
  RequestId next_victim() const {
    if (options_.own.get<VllmScheduling>().scheduling_policy == "fcfs") return running_.back();
    return *std::ranges::max_element(running_, {}, [&](RequestId id) {
      return std::pair(context_.requests[id].priority, context_.requests[id].index);
    });
  }
  void preempt(RequestId id) {
    const auto place = std::ranges::find(running_, id);
    if (place < running_.begin() + static_cast<std::ptrdiff_t>(at_)) --at_;
    running_.erase(place);
    result_.preempted.push_back(id);
    free_ += blocks(computed(id));
    const auto mine = result_.tokens.find(id);
    if (mine == result_.tokens.end()) return;
    free_ += blocks(computed(id) + mine->second) - blocks(computed(id));
    budget_ += mine->second;
    result_.tokens.erase(mine);
  }

  const SchedulerOptions& options_;
  const PlanContext& context_;
  std::vector<RequestId> running_;
  std::size_t at_ = 0;
  BlockCount free_;
  TokenCount budget_;
  LoopResult result_;
};

class BesideTheLoop final : public BatchScheduler {
 public:
  explicit BesideTheLoop(const SchedulerOptions& options) : options_(options), inner_(options) {}

  void enqueue(RequestId id, const Request& request) override { inner_.enqueue(id, request); }
  [[nodiscard]] bool on_leave(RequestId id) override {
    std::erase(running_, id);
    return inner_.on_leave(id);
  }
  void on_engine_lost() override { FAIL("no engine dies here"); }

  void plan(const PlanContext& context, BatchPlan& plan) override {
    const LoopResult loop = RunningLoop(options_, context, running_).run();
    inner_.plan(context, plan);
    if (!loop.broken_off) {
      REQUIRE(plan.preempted == loop.preempted);
      for (const Chunk& chunk : plan.chunks) {
        if (!chunk.admits) REQUIRE(loop.tokens.at(chunk.id) == chunk.tokens);
      }
    }
    for (const RequestId id : plan.preempted) std::erase(running_, id);
    for (const Chunk& chunk : plan.chunks) {
      if (chunk.admits) running_.push_back(chunk.id);
    }
  }

 private:
  SchedulerOptions options_;
  VllmScheduler inner_;
  std::vector<RequestId> running_;
};

TEST_CASE("vllm preempts and cuts like a loop over its running list") {
  const bool fcfs = GENERATE(true, false);
  // With priorities a short budget goes to decodes first here, and to whoever was admitted first
  // there, so it must not be short: 6 chunks of 13, or one whole sequence of at most 100 tokens and
  // 5 decodes.
  SchedulerOptions options = test::seats_and_tokens(6, fcfs ? 24 : 112);
  options.own.edit<VllmScheduling>().scheduling_policy = fcfs ? "fcfs" : "priority";
  options.long_prefill_token_threshold = GENERATE(0, 7, 13);
  options.own.edit<VllmScheduling>().scheduler_reserve_full_isl = GENERATE(false, true);
  const int depth = GENERATE(1, 2);
  CAPTURE(fcfs, options.long_prefill_token_threshold,
          options.own.edit<VllmScheduling>().scheduler_reserve_full_isl, depth);
  std::size_t preemptions = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    test::PolicySetup setup =
        test::paged_setup<BesideTheLoop>(options, test::tight_pool(false), depth);
    setup.options.single_step = true;
    preemptions += test::run_policy(std::move(setup), test::random_arrivals(seed))
                       .order_of(EngineEventKind::preempted)
                       .size();
  }
  CHECK(preemptions > 100);
}

}  // namespace
}  // namespace headroom::vllm_loop_test
