// Every router of the table, and what each one promises of its own.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/routing/prefix_index.hpp"
#include "scheduler/routing/routers.hpp"
#include "sim/kernel/random.hpp"

namespace headroom::routers_test {

namespace {

RouterOptions options_for(std::size_t replicas) {
  RouterOptions options;
  options.seed = 7;
  options.replicas = replicas;
  return options;
}

// A fleet whose loads a test sets, as Fleet would show them.
struct Bench {
  Bench(const std::string& name, const RouterOptions& options)
      : router(router_row(name).make(options)), loads(options.replicas) {
    for (ReplicaLoad& load : loads) load.kv_capacity = 1000;
    for (std::uint32_t i = 0; i < loads.size(); ++i) router->on_load(i, loads);
  }
  void set(std::uint32_t replica, const ReplicaLoad& load) {
    loads[replica] = load;
    router->on_load(replica, loads);
  }
  std::uint32_t route(const Arrival& arrival = {.prompt_tokens = 10}) {
    return router->route(arrival, loads);
  }

  std::unique_ptr<Router> router;
  std::vector<ReplicaLoad> loads;
};

ReplicaLoad random_load(RandomStream& stream) {
  ReplicaLoad load;
  load.running = stream.uniform_int(0, 5);
  load.waiting = stream.uniform_int(0, 5);
  load.waiting_tokens = load.waiting * stream.uniform_int(1, 100);
  load.outstanding_tokens = stream.uniform_int(0, 3000);
  load.kv_tokens = stream.uniform_int(0, 1000);
  load.kv_capacity = 1000;
  load.up = stream.uniform_int(0, 9) > 0;
  return load;
}

// Traffic with sessions and common beginnings, and loads that change; what was chosen.
std::vector<std::uint32_t> walk(const std::string& name, std::uint64_t seed, int decisions,
                                bool& only_up) {
  RandomStream stream(seed, "walk");
  const std::size_t replicas = 1 + seed % 7;
  RouterOptions options = options_for(replicas);
  options.seed = seed;
  options.update_delay_ns = seed % 2 == 0 ? 0 : 500;
  options.prefix.tree_tokens = 400;
  options.prefix.balance_abs = 3;
  if (seed % 3 == 0) options.weights.assign(replicas, 0.5 + static_cast<double>(seed));
  Bench bench(name, options);
  std::vector<std::uint32_t> chosen;
  for (int i = 0; i < decisions; ++i) {
    const std::int64_t changed = stream.uniform_int(0, static_cast<std::int64_t>(replicas) - 1);
    bench.set(static_cast<std::uint32_t>(changed), random_load(stream));
    std::vector<PrefixSegment> prefix;
    for (std::int64_t k = stream.uniform_int(0, 4); k > 0; --k) {
      prefix.push_back({static_cast<std::uint64_t>(stream.uniform_int(1, 3)), 16});
    }
    Arrival arrival{.time_ns = 100 * i, .prompt_tokens = 100};
    if (stream.uniform_int(0, 1) == 0) {
      arrival.session = static_cast<std::uint64_t>(stream.uniform_int(0, 9));
    }
    arrival.prefix = prefix;
    chosen.push_back(bench.route(arrival));
    const bool any_up = std::ranges::any_of(bench.loads, &ReplicaLoad::up);
    if (chosen.back() >= replicas || (any_up && !bench.loads[chosen.back()].up)) only_up = false;
  }
  return chosen;
}

std::vector<std::uint32_t> routes(Bench& bench, int count) {
  std::vector<std::uint32_t> chosen;
  chosen.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) chosen.push_back(bench.route());
  return chosen;
}

}  // namespace

TEST_CASE("every router chooses a replica that is up, and the same one again") {
  for (const RouterRow& row : router_rows()) {
    INFO(row.name);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      bool only_up = true;
      const auto first = walk(std::string(row.name), seed, 300, only_up);
      REQUIRE(only_up);
      REQUIRE(walk(std::string(row.name), seed, 300, only_up) == first);
    }
  }
}

TEST_CASE("every router finds somebody when nobody is up") {
  for (const RouterRow& row : router_rows()) {
    INFO(row.name);
    Bench bench(std::string(row.name), options_for(5));
    for (std::uint32_t i = 0; i < 5; ++i) bench.set(i, {.up = false});
    for (int i = 0; i < 20; ++i) REQUIRE(bench.route() < 5);
  }
}

TEST_CASE("round robin takes turns, in proportion to weights, without those that are down") {
  Bench even("round_robin", options_for(3));
  CHECK(routes(even, 7) == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0});
  even.set(2, {.up = false});
  CHECK(routes(even, 4) == std::vector<std::uint32_t>{1, 0, 1, 0});
  // It was away for two of its turns, and does not make up for them.
  even.set(2, {});
  const auto after = routes(even, 6);
  CHECK(std::ranges::count(after, 2U) == 2);

  RouterOptions uneven = options_for(2);
  uneven.weights = {3, 1};
  Bench weighted("round_robin", uneven);
  const auto chosen = routes(weighted, 40);
  CHECK(std::ranges::count(chosen, 1U) == 10);
  // Evenly spread: every fourth, not ten in a row.
  for (std::size_t i = 0; i + 4 <= chosen.size(); ++i) {
    REQUIRE(std::count(chosen.begin() + static_cast<std::ptrdiff_t>(i),
                       chosen.begin() + static_cast<std::ptrdiff_t>(i) + 4, 1U) == 1);
  }
}

TEST_CASE("random choices follow the weights") {
  RouterOptions options = options_for(3);
  options.weights = {1, 2, 5};
  Bench bench("random", options);
  std::map<std::uint32_t, int> count;
  for (const std::uint32_t replica : routes(bench, 80'000)) ++count[replica];
  // Binomial: standard deviations of 94, 122 and 137.
  CHECK(std::abs(count[0] - 10'000) < 400);
  CHECK(std::abs(count[1] - 20'000) < 500);
  CHECK(std::abs(count[2] - 50'000) < 550);
}

TEST_CASE("routers of least load find the least, and take equals in turn") {
  RandomStream stream(3, "loads");
  for (const std::string name : {"least_outstanding", "least_kv", "join_shortest_tokens"}) {
    INFO(name);
    Bench bench(name, options_for(6));
    const auto measure = [&](const ReplicaLoad& load) {
      if (name == "least_kv") return load.kv_tokens;
      return name == "least_outstanding" ? load.outstanding() : load.outstanding_tokens;
    };
    for (int i = 0; i < 500; ++i) {
      const auto changed = static_cast<std::uint32_t>(stream.uniform_int(0, 5));
      bench.set(changed, random_load(stream));
      const std::uint32_t chosen = bench.route();
      for (const ReplicaLoad& load : bench.loads) {
        if (load.up) REQUIRE(measure(bench.loads[chosen]) <= measure(load));
      }
    }
    Bench idle(name, options_for(3));
    CHECK(routes(idle, 5) == std::vector<std::uint32_t>{0, 1, 2, 0, 1});
  }
}

TEST_CASE("the share of a pool decides, not its tokens") {
  Bench bench("least_kv", options_for(2));
  bench.set(0, {.kv_tokens = 100, .kv_capacity = 200});
  bench.set(1, {.kv_tokens = 300, .kv_capacity = 1000});
  CHECK(bench.route() == 1);
}

TEST_CASE("of two choices the less loaded one is taken, and the most loaded one never") {
  Bench bench("power_of_two", options_for(4));
  for (std::uint32_t i = 0; i < 4; ++i) bench.set(i, {.running = i});
  std::map<std::uint32_t, int> count;
  for (const std::uint32_t replica : routes(bench, 60'000)) ++count[replica];
  // Pairs of different ones: 0 wins 3 of 6, 1 wins 2 of 6, 2 wins 1 of 6.
  CHECK(std::abs(count[0] - 30'000) < 500);
  CHECK(std::abs(count[1] - 20'000) < 500);
  CHECK(std::abs(count[2] - 10'000) < 400);
  CHECK(count[3] == 0);
}

TEST_CASE("a session stays where it is, and moves alone when its replica is down") {
  Bench bench("session_affinity", options_for(8));
  std::map<std::uint64_t, std::uint32_t> home;
  const auto go = [&](std::uint64_t session) {
    return bench.route({.prompt_tokens = 1, .session = session});
  };
  std::map<std::uint32_t, int> sessions;
  for (std::uint64_t s = 0; s < 8000; ++s) ++sessions[home[s] = go(s)];
  for (const auto& [replica, count] : sessions) CHECK((count > 600 && count < 1500));
  CHECK(sessions.size() == 8);
  bench.set(3, {.up = false});
  for (std::uint64_t s = 0; s < 8000; ++s) {
    const std::uint32_t now = go(s);
    REQUIRE((home[s] == 3 ? now != 3 : now == home[s]));
  }
  bench.set(3, {});
  for (std::uint64_t s = 0; s < 8000; ++s) REQUIRE(go(s) == home[s]);
  // Without a session: where the fewest are.
  for (std::uint32_t i = 0; i < 8; ++i) bench.set(i, {.running = i == 5 ? 0 : 1});
  CHECK(bench.route() == 5);
}

TEST_CASE("a prompt goes where it began before, unless the fleet is out of balance") {
  RouterOptions options = options_for(3);
  options.prefix.balance_abs = 4;
  options.prefix.balance_rel = 1.5;
  Bench bench("prefix_affinity", options);
  const std::vector<PrefixSegment> text{{1, 60}, {2, 60}};
  const std::vector<PrefixSegment> longer{{1, 60}, {2, 60}, {3, 60}};
  const auto go = [&](const std::vector<PrefixSegment>& prefix, std::int32_t tokens) {
    return bench.route({.prompt_tokens = tokens, .prefix = prefix});
  };
  CHECK(go(text, 130) == 0);  // nothing known: the first of equals
  CHECK(go({{9, 50}}, 60) == 1);
  CHECK(go(longer, 200) == 0);  // 120 of 200 tokens are known there
  CHECK(go(longer, 200) == 0);
  CHECK(go(text, 300) == 2);  // 120 of 300 are not enough: the least recently chosen
  bench.set(0, {.running = 5});
  CHECK(go(longer, 200) == 1);  // 5 - 0 > 4 and 5 > 1.5 x 0: balance comes first
  bench.set(1, {.running = 4});
  bench.set(2, {.running = 4});
  CHECK(go(longer, 200) == 1);  // in balance again; 1 has it now, more recently than 0
  bench.set(1, {.running = 4, .up = false});
  CHECK(go(longer, 200) == 0);
  bench.set(1, {.running = 4});  // it is back with nothing in its cache
  CHECK(go(longer, 200) == 0);
}

TEST_CASE("what was routed is known after the delay") {
  RouterOptions options = options_for(2);
  options.update_delay_ns = 100;
  Bench bench("prefix_affinity", options);
  const std::vector<PrefixSegment> text{{1, 100}};
  const auto go = [&](TimeNs now_ns) {
    return bench.route({.time_ns = now_ns, .prompt_tokens = 100, .prefix = text});
  };
  CHECK(go(0) == 0);
  CHECK(go(99) == 1);   // not known yet: the other one's turn
  CHECK(go(100) == 0);  // the first one is
  CHECK(go(200) == 0);  // 99 + 100: both are, and replica 1 was told of more recently ...
}

TEST_CASE("the weighted router finds the least cost") {
  RandomStream stream(5, "weighted");
  RouterOptions options = options_for(6);
  options.weighted = {.prefix_weight = 1.5, .kv_weight = 0.25, .request_weight = 10};
  Bench bench("weighted", options);
  PrefixIndex known(6, options.prefix.tree_tokens);
  for (int i = 0; i < 500; ++i) {
    ReplicaLoad load = random_load(stream);
    load.up = true;
    bench.set(static_cast<std::uint32_t>(stream.uniform_int(0, 5)), load);
    std::vector<PrefixSegment> prefix;
    for (std::int64_t k = stream.uniform_int(0, 4); k > 0; --k) {
      prefix.push_back({static_cast<std::uint64_t>(stream.uniform_int(1, 2)), 64});
    }
    const auto steps = prefix_steps(prefix);
    const auto cost = [&](std::uint32_t r) {
      const ReplicaLoad& l = bench.loads[r];
      const TokenCount first = l.waiting_tokens - known.overlap(r, steps);
      return 1.5 * static_cast<double>(first) + 0.25 * static_cast<double>(l.kv_tokens) +
             10 * static_cast<double>(l.outstanding());
    };
    const std::uint32_t chosen = bench.route({.prompt_tokens = 300, .prefix = prefix});
    for (std::uint32_t r = 0; r < 6; ++r) REQUIRE(cost(chosen) <= cost(r) + 1e-9);
    known.insert(chosen, steps);
  }
}

}  // namespace headroom::routers_test
