// A second tier behind a paged pool (docs/semantics.md, "A second tier"). Steps cost 10 us + 1 us
// per prompt token + 1 us per decoding row; a block takes 10 us over a link, each batch of copies
// 5 us more.

#include "scheduler/kv/offload_tier.hpp"

#include <catch2/catch.hpp>

#include "scheduler/batching/trtllm.hpp"
#include "scheduler/batching/vllm.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"

namespace headroom::offload_tier_test {
namespace {

using test::arrival;
using test::kUs;

enum class Paths { separate, shared };

TierLinks links(Paths paths) {
  TierLinks links;
  links.block_bytes = 10'000;
  links.to_device = std::make_unique<SerialLink>(1'000'000'000, 5 * kUs);
  if (paths == Paths::separate) {
    links.to_host = std::make_unique<SerialLink>(1'000'000'000, 5 * kUs);
  }
  links.from_disk = std::make_unique<SerialLink>(100'000'000, 5 * kUs);
  return links;
}

// Five blocks of 16 on the device.
test::PolicySetup tiny(const OffloadTierOptions& tier, Paths paths = Paths::separate) {
  PagedKvOptions pool;
  pool.blocks = 5;
  pool.tier = tier;
  test::PolicySetup setup = test::paged_setup<VllmScheduler>(test::seats_and_tokens(8, 2048), pool);
  setup.tier = links(paths);
  return setup;
}

// The whole prompt is text 1 or 2, four blocks; one output token.
std::vector<Arrival> three_prompts() {
  static const std::vector<PrefixSegment> first{{1, 64}};
  static const std::vector<PrefixSegment> second{{2, 64}};
  std::vector<Arrival> arrivals{arrival(0, 64, 1), arrival(1000 * kUs, 64, 1),
                                arrival(2000 * kUs, 64, 1)};
  arrivals[0].prefix = arrivals[2].prefix = first;
  arrivals[1].prefix = second;
  return arrivals;
}

TimeNs ttft(const test::PolicyRun& run, std::size_t i) {
  return run.requests[i].first_token_ns - run.requests[i].arrival_ns;
}

TEST_CASE("what the device overwrites is found in host memory and loaded instead of computed") {
  // The second prompt takes the plain block and overwrites blocks 3, 2, 1 of the first: 5 + 30 us
  // of copies, 74 us of step. The third finds block 0 on the device and 1, 2 on the host (at least
  // one token is computed), and overwrites three blocks of the second for 1, 2, 3: the host gets
  // 5 + 30 us while the device gets 5 + 20; the step computes 16 tokens: 26 us.
  const test::PolicyRun run = test::run_policy(tiny({.host_blocks = 10}), three_prompts());
  CHECK(ttft(run, 0) == 74 * kUs);
  CHECK(ttft(run, 1) == (35 + 74) * kUs);
  CHECK(ttft(run, 2) == (35 + 26) * kUs);
  CHECK(run.tier.stored_blocks == 6);
  CHECK(run.tier.loaded_blocks == 2);
  CHECK(run.tier.loaded_from_disk == 0);
  CHECK(run.events.back().cached_tokens == 48);
}

TEST_CASE("on a shared path what comes in waits for what goes out") {
  const test::PolicyRun run =
      test::run_policy(tiny({.host_blocks = 10}, Paths::shared), three_prompts());
  CHECK(ttft(run, 2) == (35 + 25 + 26) * kUs);
}

TEST_CASE("a full tier overwrites its oldest blocks, and a disk takes those") {
  // Of blocks 3, 2, 1 of the first prompt a host of one block keeps the last one, a disk behind it
  // the two before. The third prompt loads 1 from the host and 2 from the disk at 100 us a block.
  const test::PolicyRun lost = test::run_policy(tiny({.host_blocks = 1}), three_prompts());
  CHECK(lost.events.back().cached_tokens == 32);
  const test::PolicyRun disk =
      test::run_policy(tiny({.host_blocks = 1, .disk_blocks = 2}), three_prompts());
  CHECK(disk.events.back().cached_tokens == 48);
  CHECK(disk.tier.loaded_from_disk == 1);
  CHECK(ttft(disk, 2) == (5 + 100 + 26) * kUs);
}

TEST_CASE("a tier that is written through keeps what the device has, and delays no step") {
  // Each prompt goes to the host when it is computed, its four blocks and no more: so a host of
  // four holds the second one alone, as the device does but for a block of the first.
  const OffloadTierOptions small{.host_blocks = 4, .write_through = true};
  const test::PolicyRun lost = test::run_policy(tiny(small), three_prompts());
  CHECK(lost.events.back().cached_tokens == 16);
  CHECK(lost.tier.stored_blocks == 4 + 4 + 4);
  CHECK(lost.tier.loaded_blocks == 0);
  // A host of ten has all of both; the third loads two blocks, and they stay there.
  const OffloadTierOptions large{.host_blocks = 10, .write_through = true};
  const test::PolicyRun kept = test::run_policy(tiny(large), three_prompts());
  CHECK(ttft(kept, 1) == 74 * kUs);
  CHECK(kept.events.back().cached_tokens == 48);
  CHECK(ttft(kept, 2) == (5 + 20 + 26) * kUs);
  CHECK(kept.tier.stored_blocks == 4 + 4);
  CHECK(kept.tier.loaded_blocks == 2);
}

TEST_CASE("without a tier nothing is copied and nothing waits") {
  const test::PolicyRun run = test::run_policy(tiny({}), three_prompts());
  CHECK(ttft(run, 1) == 74 * kUs);
  CHECK(ttft(run, 2) == (10 + 48) * kUs);
}

TEST_CASE("what decodes overwrite goes out behind their steps") {
  // The second request takes the plain block with its prompt of 16; its 48 further tokens overwrite
  // three blocks of the first, at no cost: 26 us of prompt and 48 decode steps of 11.
  static const std::vector<PrefixSegment> text{{1, 64}};
  std::vector<Arrival> arrivals{arrival(0, 64, 1), arrival(1000 * kUs, 16, 49)};
  arrivals[0].prefix = text;
  const test::PolicyRun run = test::run_policy(tiny({.host_blocks = 10}), arrivals);
  CHECK(run.tier.stored_blocks == 3);
  CHECK(run.requests[1].finish_ns == (1000 + 26 + 48 * 11) * kUs);
}

// Six conversations whose turns begin with all that was said: together far more than the device
// holds. The texts lie in `texts` for as long as the arrivals are used.
std::vector<Arrival> conversations(std::uint64_t seed,
                                   std::vector<std::vector<PrefixSegment>>& texts) {
  std::vector<Arrival> arrivals = test::random_arrivals(seed);
  texts.assign(arrivals.size(), {});
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const std::uint64_t session = i % 6;
    const auto turns = static_cast<std::int32_t>(i / 6 % 4);
    arrivals[i].time_ns *= 4;
    arrivals[i].prompt_tokens = 12 * (turns + 1);
    for (std::int32_t turn = 0; turn <= turns; ++turn) {
      texts[i].push_back({100 * session + static_cast<std::uint64_t>(turn), 12});
    }
    arrivals[i].prefix = texts[i];
  }
  return arrivals;
}

void check_any_cut(const std::function<test::PolicySetup()>& make) {
  std::int64_t loaded = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    std::vector<std::vector<PrefixSegment>> texts;
    const std::vector<Arrival> arrivals = conversations(seed, texts);
    test::check_cut_invariance(make, arrivals);
    loaded += test::run_policy(make(), arrivals).tier.loaded_blocks;
  }
  CHECK(loaded > 100);
}

TEST_CASE("jumps, single steps and cuts move the same blocks at the same times") {
  const int depth = GENERATE(1, 2);
  const auto paths = GENERATE(Paths::separate, Paths::shared);
  PagedKvOptions pool = test::tight_pool(true);
  pool.tier = {.host_blocks = 30, .disk_blocks = 20};
  const auto vllm = [&] {
    test::PolicySetup setup =
        test::paged_setup<VllmScheduler>(test::seats_and_tokens(16, 64), pool, depth);
    setup.tier = links(paths);
    return setup;
  };
  check_any_cut(vllm);
  test::check_random_traffic(vllm);
}

TEST_CASE("TensorRT-LLM offloads under any cut alike") {
  PagedKvOptions pool = test::tight_pool(true);
  pool.tier = {.host_blocks = 30};
  SchedulerOptions options = test::seats_and_tokens(16, 64);
  options.own.edit<TrtllmScheduling>().capacity_scheduler_policy = "MAX_UTILIZATION";
  check_any_cut([&] {
    test::PolicySetup setup;
    options.finds_prefixes = true;
    setup.scheduler = std::make_unique<TrtllmScheduler>(options);
    setup.kv = std::make_unique<PagedKv>(pool);
    setup.options.max_sequences = 16;
    setup.options.max_step_tokens = 64;
    setup.tier = links(Paths::separate);
    return setup;
  });
}

}  // namespace
}  // namespace headroom::offload_tier_test
