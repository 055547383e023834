// The router that keeps promises: by hand, and against a look at every replica.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "scheduler/routing/ranked_replicas.hpp"
#include "scheduler/routing/slo_aware.hpp"
#include "sim/kernel/random.hpp"

namespace headroom::slo_aware_test {

namespace {

constexpr TimeNs kMs = 1'000'000;

// Steps of 10 ms + 1 ms a sequence; 0.1 ms a prompt token. TTFT 300 ms, TPOT 20 ms.
RouterOptions promising(std::size_t replicas, bool packs) {
  RouterOptions options;
  options.replicas = replicas;
  options.slo.packs = packs;
  options.slo.targets = {{300 * kMs, 20 * kMs}};
  options.slo.models.assign(
      replicas, {.step_ns = 10e6, .prompt_token_ns = 1e5, .sequence_ns = 1e6, .kv_token_ns = 0});
  return options;
}

ReplicaLoad busy(std::int64_t running, TokenCount waiting_tokens = 0, bool up = true) {
  return {.running = running,
          .waiting = waiting_tokens > 0 ? 1 : 0,
          .waiting_tokens = waiting_tokens,
          .up = up};
}

std::uint32_t chosen(const RouterOptions& options, const std::vector<ReplicaLoad>& loads,
                     std::int32_t prompt_tokens, std::int32_t class_id = 0) {
  SloAwareRouter router(options);
  for (std::uint32_t i = 0; i < loads.size(); ++i) router.on_load(i, loads);
  return router.route({.prompt_tokens = prompt_tokens, .class_id = class_id}, loads);
}

}  // namespace

TEST_CASE("who keeps the promises with least headroom packs, with most spreads") {
  // TPOT of one more: 11, 16, 20 and 21 ms; the last one breaks it.
  const std::vector<ReplicaLoad> loads{busy(0), busy(5), busy(9), busy(10)};
  CHECK(chosen(promising(4, true), loads, 100) == 2);
  CHECK(chosen(promising(4, false), loads, 100) == 0);
}

TEST_CASE("a long prompt keeps its TTFT where less waits") {
  // Waiting: 200, 100, 0 ms. Steps add 10 ms and a running sequence each 1 ms.
  const std::vector<ReplicaLoad> loads{busy(0, 2000), busy(0, 1000), busy(4, 0)};
  CHECK(chosen(promising(3, true), loads, 900) == 0);    // 90 + 200 + 10 = 300
  CHECK(chosen(promising(3, true), loads, 901) == 1);    // 0.1 ms beyond it
  CHECK(chosen(promising(3, true), loads, 2'860) == 2);  // 286 + 14 = 300
}

TEST_CASE("where not all can be kept TTFT comes first, then TPOT, and the least excess counts") {
  const RouterOptions options = promising(3, true);
  // 0 keeps TTFT only, 1 TPOT only.
  CHECK(chosen(options, {busy(30), busy(1, 3000)}, 100) == 0);
  // TTFT only: the fewer the better, also when packing.
  CHECK(chosen(options, {busy(31), busy(30), busy(1, 3000)}, 100) == 1);
  // TPOT only, against none.
  CHECK(chosen(options, {busy(30, 3000), busy(1, 4000), busy(1, 3500)}, 100) == 2);
  // None. 919 ms and 42: 0.8 x 3.06 + 0.2 x 2.1 = 2.87; 859 and 62: 2.91; 1,009 and 22: 2.91.
  CHECK(chosen(options, {busy(50, 7890), busy(30, 8690), busy(10, 9790)}, 100) == 1);
}

TEST_CASE("classes have their own promises, and without any the least TTFT is taken") {
  RouterOptions options = promising(2, true);
  options.slo.targets = {{300 * kMs, kNever}, {kNever, 20 * kMs}, {}};
  const std::vector<ReplicaLoad> loads{busy(5), busy(40)};
  CHECK(chosen(options, loads, 100, 0) == 1);  // its TPOT is nobody's business
  CHECK(chosen(options, loads, 100, 1) == 0);
  CHECK(chosen(options, loads, 100, 2) == 0);
  const std::vector<ReplicaLoad> queue{busy(5, 9000), busy(10)};
  CHECK(chosen(options, queue, 100, 1) == 0);  // packs: what waits is nobody's business
  CHECK(chosen(options, queue, 100, 2) == 1);
}

TEST_CASE("a faster replica keeps promises that a slower one cannot") {
  RouterOptions options = promising(2, true);
  options.slo.models[1] = {.step_ns = 5e6, .prompt_token_ns = 2e4, .sequence_ns = 5e5};
  const std::vector<ReplicaLoad> loads{busy(0), busy(0)};
  CHECK(chosen(options, loads, 100) == 0);    // 20 of 300 ms, 11 of 20: least headroom
  CHECK(chosen(options, loads, 3000) == 1);   // 310 ms against 65
  CHECK(chosen(options, loads, 20000) == 1);  // 2,010 against 405: less beyond
}

TEST_CASE("prompts that come all the time leave less time to decode, as the router learns") {
  // Ten sequences run on three replicas, and a prompt of 100 tokens comes every 10 ms: 10 ms of
  // work in each 10 ms of the fleet, so that a sequence stands for a tenth of a replica's time.
  SloAwareRouter router(promising(3, true));
  const std::vector<ReplicaLoad> loads{busy(4), busy(3), busy(3)};
  for (std::uint32_t i = 0; i < 3; ++i) router.on_load(i, loads);
  std::vector<std::uint32_t> order;
  for (TimeNs i = 1; i <= 130; ++i) {
    order.push_back(router.route({.time_ns = 10 * kMs * i, .prompt_tokens = 100}, loads));
  }
  // At first 15 of 20 ms are the fullest that keeps TPOT. Then 15 / (1 - 0.5) = 30 do not, as 14 /
  // 0.6 = 23: nobody keeps it, and the emptier ones are taken in turn.
  CHECK(order.front() == 0);
  CHECK(order[62] == 0);
  CHECK(order[63] == 1);
  CHECK(order[64] == 2);
  CHECK(order[129] != 0);
}

TEST_CASE("the trees of the router find what a look at every replica finds") {
  RandomStream stream(11, "slo");
  for (int round = 0; round < 60; ++round) {
    const auto replicas = static_cast<std::size_t>(stream.uniform_int(1, 40));
    RouterOptions options = promising(replicas, round % 2 == 0);
    for (LatencyModel& model : options.slo.models) {
      if (stream.uniform_int(0, 2) == 0) model.prompt_token_ns = 5e4;
    }
    SloAwareRouter router(options);
    std::vector<ReplicaLoad> loads(replicas);
    for (std::uint32_t i = 0; i < replicas; ++i) router.on_load(i, loads);
    for (int i = 0; i < 200; ++i) {
      const auto changed = static_cast<std::uint32_t>(
          stream.uniform_int(0, static_cast<std::int64_t>(replicas) - 1));
      loads[changed] = busy(stream.uniform_int(0, 14), stream.uniform_int(0, 3000),
                            stream.uniform_int(0, 9) > 0);
      router.on_load(changed, loads);
      if (std::ranges::none_of(loads, &ReplicaLoad::up)) continue;
      const std::int64_t tokens = stream.uniform_int(1, 1500);
      // Tier (0: both are kept), and what the least of it is taken of.
      const auto rank = [&](std::uint32_t r) {
        const LatencyModel& model = options.slo.models[r];
        const ReplicaLoad& load = loads[r];
        const double ttft =
            model.prompt_token_ns * static_cast<double>(load.waiting_tokens + tokens) + 10e6 +
            1e6 * static_cast<double>(load.running);
        const double tpot = 10e6 + 1e6 * static_cast<double>(load.outstanding() + 1);
        const int tier = (ttft > 300e6 ? 2 : 0) + (tpot > 20e6 ? 1 : 0);
        const double used = 0.8 * ttft / 300e6 + 0.2 * tpot / 20e6;
        return std::pair(tier, tier == 0 && options.slo.packs ? -used : used);
      };
      const std::uint32_t replica =
          router.route({.prompt_tokens = static_cast<std::int32_t>(tokens)}, loads);
      REQUIRE(loads[replica].up);
      for (std::uint32_t r = 0; r < replicas; ++r) {
        if (!loads[r].up) continue;
        REQUIRE(rank(replica).first <= rank(r).first);
        if (rank(replica).first < rank(r).first) continue;
        REQUIRE(rank(replica).second <= rank(r).second + 1e-8);
      }
    }
  }
}

TEST_CASE("equals are used in turn by who spreads, and one after the other by who packs") {
  for (const bool packs : {true, false}) {
    SloAwareRouter router(promising(3, packs));
    const std::vector<ReplicaLoad> loads(3);
    for (std::uint32_t i = 0; i < 3; ++i) router.on_load(i, loads);
    std::vector<std::uint32_t> order;
    order.reserve(4);
    for (int i = 0; i < 4; ++i) order.push_back(router.route({.prompt_tokens = 10}, loads));
    CHECK(order == (packs ? std::vector<std::uint32_t>{0, 0, 0, 0}
                          : std::vector<std::uint32_t>{0, 1, 2, 0}));
  }
}

TEST_CASE("ranked replicas are those of a list that is looked through") {
  RandomStream stream(5, "ranked");
  constexpr std::uint32_t kCount = 50;
  RankedReplicas ranked(kCount);
  std::vector<std::optional<RankedReplicas::Entry>> list(kCount);
  for (int i = 0; i < 20'000; ++i) {
    const auto replica = static_cast<std::uint32_t>(stream.uniform_int(0, kCount - 1));
    if (stream.uniform_int(0, 3) == 0) {
      ranked.erase(replica);
      list[replica].reset();
    } else {
      const RankedReplicas::Entry entry{stream.uniform_int(0, 20), stream.uniform_int(0, 5),
                                        static_cast<std::uint64_t>(stream.uniform_int(0, 3))};
      ranked.set(replica, entry);
      list[replica] = entry;
    }
    const TimeNs limit = stream.uniform_int(-1, 21);
    for (const auto side : {RankedReplicas::Side::up_to, RankedReplicas::Side::beyond}) {
      std::optional<std::uint32_t> greatest;
      std::optional<std::uint32_t> least;
      for (std::uint32_t r = 0; r < kCount; ++r) {
        if (!list[r] || (list[r]->key <= limit) != (side == RankedReplicas::Side::up_to)) continue;
        if (!greatest || list[r]->score > list[*greatest]->score) greatest = r;
        const auto key = [&](std::uint32_t k) { return std::tie(list[k]->score, list[k]->turn); };
        if (!least || key(r) < key(*least)) least = r;
      }
      REQUIRE(ranked.greatest(side, limit) == greatest);
      REQUIRE(ranked.least(side, limit) == least);
    }
  }
}

}  // namespace headroom::slo_aware_test
