// VERIFICATION C16 and V2e in the loop: the prefix cache of a running engine, against the share of
// prefixes that its pool holds, and against a list-scan LRU request by request.
//
// One request at a time. What differs from the sequential replay (workloads/prefix_replay.hpp):
// - a prompt is computed for at least one token, so each has one token beyond its prefix, and the
//   block that this token begins is a place of the pool: capacity = blocks - 1. It is free again
//   before the next request and, having no hash, is used first (vLLM since 2026). In the order of
//   release instead (up to 2025) it wanders through the list, and pushes out prefixes on its way;
// - blocks in use cannot be evicted, and an answer's blocks are cached too: with requests that
//   overlap, or long answers, a pool holds less than its size.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/batching/vllm.hpp"
#include "scheduler/kv/paged.hpp"
#include "sim/kernel/random.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::laws::prefix_loop_law_test {
namespace {

constexpr std::int32_t kBlock = 16;

struct Cache {
  std::int32_t blocks_per_prefix = 1;
  std::int64_t prefixes = 200;  // that the pool holds, of 1000
  bool plain_to_front = true;
  std::int64_t requests = 20'000;
};

// Which prefix each request has: all 1000 are equally popular.
std::vector<std::uint64_t> references(const Cache& cache) {
  RandomStream popularity(16, "popularity");
  std::vector<std::uint64_t> ids;
  for (std::int64_t i = 0; i < cache.requests; ++i) {
    ids.push_back(static_cast<std::uint64_t>(popularity.uniform_int(1, 1000)));
  }
  return ids;
}

// Cached blocks that each request of the engine found. A request takes 102 us at most (81 prompt
// tokens: 10 us + 1 us for each of them, then 11 us), and they come 200 us apart.
std::vector<std::int64_t> engine_hits(const Cache& cache, const std::vector<std::uint64_t>& ids) {
  std::vector<PrefixSegment> pieces;
  for (const std::uint64_t id : ids) pieces.push_back({id, cache.blocks_per_prefix * kBlock});
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Arrival arrival;
    arrival.time_ns = static_cast<TimeNs>(i) * 200'000;
    arrival.prompt_tokens = pieces[i].tokens + 1;
    arrival.output_tokens = arrival.max_tokens = 2;
    arrival.prefix = std::span(pieces).subspan(i, 1);
    arrivals.push_back(arrival);
  }
  test::PolicySetup setup;
  setup.scheduler = std::make_unique<VllmScheduler>(SchedulerOptions{});
  PagedKvOptions pool;
  pool.blocks = cache.prefixes * cache.blocks_per_prefix + 1;
  pool.block_tokens = kBlock;
  pool.plain_to_front = cache.plain_to_front;
  setup.kv = std::make_unique<PagedKv>(pool);
  const test::PolicyRun run = test::run_policy(std::move(setup), std::move(arrivals));
  std::vector<std::int64_t> hits;
  for (const EngineEvent& event : run.events) {
    if (event.kind == EngineEventKind::admitted) hits.push_back(event.cached_tokens / kBlock);
  }
  for (std::size_t i = 1; i < run.requests.size(); ++i) {
    if (run.requests[i].first_scheduled_ns != run.requests[i].arrival_ns) FAIL("they overlap");
  }
  return hits;
}

// The same from the definition: a list of (prefix, block), oldest first, looked through from its
// beginning. A request touches its blocks last one first, so that its end is forgotten first.
std::vector<std::int64_t> list_hits(const Cache& cache, const std::vector<std::uint64_t>& ids) {
  using Block = std::pair<std::uint64_t, std::int32_t>;
  const auto capacity = static_cast<std::size_t>(cache.prefixes * cache.blocks_per_prefix);
  std::vector<Block> list;
  std::vector<std::int64_t> hits;
  for (const std::uint64_t id : ids) {
    std::int64_t hit = 0;
    while (hit < cache.blocks_per_prefix &&
           std::ranges::find(list, Block(id, static_cast<std::int32_t>(hit))) != list.end()) {
      ++hit;
    }
    hits.push_back(hit);
    for (std::int32_t block = cache.blocks_per_prefix; block-- > 0;) {
      std::erase(list, Block(id, block));
      list.emplace_back(id, block);
    }
    if (list.size() > capacity) {
      list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(capacity));
    }
  }
  return hits;
}

// Standard errors by which the share of requests that find their whole prefix is off 200 / 1000,
// once the pool is full: each hits with that chance, whatever came before.
double errors_from_one_fifth(const Cache& cache) {
  constexpr std::ptrdiff_t kWarmUp = 3'000;
  const std::vector<std::int64_t> hits = engine_hits(cache, references(cache));
  const auto counted = static_cast<double>(std::ssize(hits) - kWarmUp);
  const auto whole = std::count(hits.begin() + kWarmUp, hits.end(), cache.blocks_per_prefix);
  const double share = static_cast<double>(whole) / counted;
  return (share - 0.2) / std::sqrt(0.2 * 0.8 / counted);
}

TEST_CASE("law C16: an engine whose pool holds 200 of 1000 prefixes finds one in five") {
  CHECK(std::abs(errors_from_one_fifth({})) < 4.0);
  CHECK(std::abs(errors_from_one_fifth({.blocks_per_prefix = 3})) < 4.0);
}

TEST_CASE("law C16 refuses a pool of 220, and a plain block that waits its turn") {
  CHECK(errors_from_one_fifth({.prefixes = 220}) > 4.0);
  CHECK(errors_from_one_fifth({.plain_to_front = false}) < -4.0);
}

TEST_CASE("oracle: a running engine hits what a list-scan LRU hits, request by request") {
  for (const std::int32_t blocks : {1, 2, 5}) {
    const Cache cache{.blocks_per_prefix = blocks, .requests = 4'000};
    const std::vector<std::uint64_t> ids = references(cache);
    CHECK(engine_hits(cache, ids) == list_hits(cache, ids));
    Cache other = cache;
    ++other.prefixes;
    CHECK(engine_hits(other, ids) != list_hits(cache, ids));
    other = cache;
    other.plain_to_front = false;
    CHECK(engine_hits(other, ids) != list_hits(cache, ids));
  }
}

}  // namespace
}  // namespace headroom::laws::prefix_loop_law_test
