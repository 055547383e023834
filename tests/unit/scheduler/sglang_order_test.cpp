// SGLang's orders that look at the prefix cache, on a cache that says what the test wants; and
// jumps against single steps for all orders.

#include "scheduler/batching/sglang_order.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <vector>

#include "scheduler/batching/sglang.hpp"
#include "scheduler/kv/paged.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/unit/scheduler/sglang_pool.hpp"

namespace headroom::sglang_order_test {
namespace {

class SaidToBeCached final : public KvAllocator {
 public:
  TokenCount cached_prefix(RequestId id, const Request&) const override { return tokens[id]; }
  bool try_grow(const KvGrowth&) override { return false; }
  void take(BlockCount) override {}
  void release(RequestId, const Request&, TokenCount, KvRelease, TokenCount) override {}
  void on_engine_lost() override {}

  std::vector<TokenCount> tokens;
};

struct Prompt {
  std::vector<PrefixSegment> pieces;
  TokenCount cached = 0;
};

std::vector<RequestId> arranged(SglangOrder order, const std::vector<Prompt>& prompts) {
  RequestPool requests;
  SaidToBeCached kv;
  DecodeSet decodes(1);
  SglangQueue queue(order, 1);
  for (const Prompt& prompt : prompts) {
    Request request;
    request.prompt_tokens = 1000;
    request.prefix = prompt.pieces;
    kv.tokens.push_back(prompt.cached);
    const RequestId id = requests.add(request);
    queue.enqueue(id, requests[id]);
  }
  queue.arrange(PlanContext{0, 0, requests, kv, decodes});
  std::vector<RequestId> ids;
  for (RequestId id = queue.front(); id != kNoRequest; id = queue.front()) {
    ids.push_back(id);
    queue.pop_front();
  }
  return ids;
}

using Ids = std::vector<RequestId>;

TEST_CASE("sglang lpm: the longest cached prefix first, ties by arrival") {
  CHECK(arranged(SglangOrder::lpm, {{{}, 0}, {{}, 50}, {{}, 90}, {{}, 50}}) == Ids{2, 1, 3, 0});
}

TEST_CASE("sglang lpm: who shares 32 tokens with one before it waits until that one is computed") {
  // 1 repeats 40 tokens of 0; 2 only 31 of them; 3 repeats them too, but has more than 32 cached.
  const std::vector<Prompt> prompts = {{{{7, 40}, {1, 10}}, 0},
                                       {{{7, 40}, {2, 10}}, 0},
                                       {{{7, 31}, {3, 10}}, 0},
                                       {{{7, 40}, {4, 10}}, 33},
                                       {{{8, 40}}, 0}};
  CHECK(arranged(SglangOrder::lpm, prompts) == Ids{3, 0, 2, 4, 1});
}

TEST_CASE("sglang lpm: more than 128 that wait are served as they came") {
  std::vector<Prompt> prompts(128);
  prompts[127].cached = 5;
  CHECK(arranged(SglangOrder::lpm, prompts).front() == 127);
  prompts.emplace_back();
  CHECK(arranged(SglangOrder::lpm, prompts).front() == 0);
}

TEST_CASE("sglang dfs-weight: the heavier branch of the cached tree first, depth first") {
  // Cached: piece 1 (below it 1-2 and 1-3), piece 9. Below 1 are four requests (2, 3, 4, 5), below
  // 9 one. Of 1's branches 1-3 has two (4, 5), 1-2 has one (3); request 2 ends at 1 itself.
  const std::vector<Prompt> prompts = {{{{5, 20}}, 0},  // nothing cached: at the root, last
                                       {{{9, 20}}, 20},          {{{1, 20}, {4, 20}}, 20},
                                       {{{1, 20}, {2, 20}}, 40}, {{{1, 20}, {3, 20}}, 40},
                                       {{{1, 20}, {3, 20}}, 30}};
  CHECK(arranged(SglangOrder::dfs_weight, prompts) == Ids{4, 5, 3, 2, 1, 0});
}

TEST_CASE("sglang: prompts are equal over equal pieces, and not beyond a shorter one") {
  const std::vector<PrefixSegment> a = {{1, 10}, {2, 10}, {3, 10}};
  const std::vector<PrefixSegment> b = {{1, 10}, {2, 4}, {3, 10}};
  Request x;
  x.prefix = a;
  Request y;
  y.prefix = b;
  CHECK(shared_prefix_tokens(x, y) == 14);
}

TEST_CASE("sglang queue: requests that leave from its middle are not seen again") {
  // 200 enter and all but the 100th leave, so that void entries are swept.
  RequestPool requests;
  SaidToBeCached kv;
  DecodeSet decodes(1);
  SglangQueue queue(SglangOrder::random, 3);
  for (int i = 0; i < 200; ++i) {
    const RequestId id = requests.add(Request{});
    queue.enqueue(id, requests[id]);
  }
  for (RequestId id = 0; id < 200; ++id) {
    if (id != 100) queue.remove(id);
  }
  queue.arrange(PlanContext{0, 0, requests, kv, decodes});
  CHECK(queue.size() == 1);
  CHECK(queue.front() == 100);
  queue.pop_front();
  CHECK(queue.front() == kNoRequest);
}

// Short traffic with shared beginnings, some clients that give up, and pools that run out.
struct Traffic {
  std::vector<std::vector<PrefixSegment>> prefixes;
  std::vector<Arrival> arrivals;

  explicit Traffic(std::uint64_t seed) {
    RandomStream stream(seed, "test/traffic");
    constexpr std::size_t kCount = 50;
    prefixes.reserve(kCount);
    TimeNs now = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      now += stream.uniform_int(0, 90'000);
      const auto prompt = static_cast<std::int32_t>(stream.uniform_int(1, 45));
      const auto output = static_cast<std::int32_t>(stream.uniform_int(1, 40));
      const auto over = static_cast<std::int32_t>(stream.uniform_int(0, 30));
      const auto group = static_cast<std::uint64_t>(stream.uniform_int(1, 4));
      const bool gives_up = stream.uniform_int(0, 9) == 0;
      const bool exact = stream.uniform_int(0, 1) == 0;
      prefixes.push_back({{group, std::max(1, prompt / 2)}});
      if (prompt > 1) prefixes.back().push_back({100 + i, prompt - prompt / 2});
      arrivals.push_back({.time_ns = now,
                          .prompt_tokens = prompt,
                          .output_tokens = output,
                          .max_tokens = exact ? output : output + over,
                          .deadline_ns = gives_up ? now + 400'000 : kNever,
                          .prefix = prefixes.back()});
    }
  }
};

TEST_CASE("sglang: jumps, single steps and random cuts agree, for all orders and settings") {
  std::size_t preemptions = 0;
  std::size_t rejections = 0;
  std::uint64_t seed = 0;
  for (const char* order : {"fcfs", "lpm", "dfs-weight", "lof", "random"}) {
    for (int setting = 0; setting < 16; ++setting) {
      const Traffic traffic(++seed);
      SchedulerOptions options;
      options.own.edit<SglangScheduling>().schedule_policy = order;
      options.own.edit<SglangScheduling>().enable_mixed_chunk = setting % 2 == 1;
      options.own.edit<SglangScheduling>().chunked_prefill_size = setting / 4 % 2 == 0 ? 12 : 0;
      options.own.edit<SglangScheduling>().schedule_conservativeness =
          setting % 3 == 0 ? 1.0 : 0.05;
      options.own.edit<SglangScheduling>().scheduler_recv_interval = setting % 7 == 3 ? 5 : 1;
      options.max_num_seqs = setting % 5 == 0 ? 3 : 20;
      PagedKvOptions pool;
      pool.block_tokens = setting == 1 || setting == 11 ? 4 : 1;
      pool.blocks = (setting / 8 == 0 ? 80 : 160) / pool.block_tokens;
      pool.enable_prefix_caching = setting % 3 != 1;
      options.finds_prefixes = pool.enable_prefix_caching;
      options.pipeline_depth = setting / 2 % 2 + 1;
      const auto make = [&] {
        test::PolicySetup setup;
        setup.scheduler = std::make_unique<SglangScheduler>(options);
        setup.kv = test::sglang_pool(pool);
        setup.options.pipeline_depth = options.pipeline_depth;
        setup.options.knows_last_steps = false;
        return setup;
      };
      CAPTURE(order, setting, seed);
      test::check_cut_invariance(make, traffic.arrivals);
      const test::PolicyRun run = test::run_policy(make(), traffic.arrivals);
      CHECK(run.reason == StopReason::drained);
      preemptions += run.order_of(EngineEventKind::preempted).size();
      rejections += run.order_of(EngineEventKind::rejected).size();
    }
  }
  CHECK(preemptions > 50);
  CHECK(rejections > 0);
}

}  // namespace
}  // namespace headroom::sglang_order_test
