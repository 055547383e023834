#include "workloads/beam_search.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "scheduler/batching/vllm.hpp"
#include "scheduler/kv/block_identity.hpp"
#include "scheduler/routing/round_robin.hpp"
#include "sim/kernel/check.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"
#include "tests/support/production.hpp"
#include "tests/unit/scheduler/policy_fixture.hpp"
#include "tests/unit/workloads/served_requests.hpp"

namespace headroom::test::beam_search_test {
namespace {

struct Told {
  std::uint64_t index = 0;
  Outcome outcome = Outcome::finished;
  TimeNs time_ns = 0;
  friend constexpr bool operator==(const Told&, const Told&) = default;
};

class ToldSource final : public WorkloadSource {
 public:
  ToldSource(std::vector<Arrival> arrivals, std::vector<Told>& told)
      : list_(std::move(arrivals)), told_(told) {}
  [[nodiscard]] TimeNs next_time() override { return list_.next_time(); }
  [[nodiscard]] Arrival take() override { return list_.take(); }
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override {
    told_.push_back({index, outcome, now_ns});
  }

 private:
  ListSource list_;
  std::vector<Told>& told_;
};

// Searches for `prompts`, and what their workload is told.
struct Searches {
  Searches(std::vector<Arrival> prompts, std::int64_t beam_width, std::uint64_t seed = 1)
      : source(std::make_unique<ToldSource>(std::move(prompts), told), beam_width, seed) {}

  std::vector<Told> told;
  BeamSearch source;
};

// A token by the piece that it is of and its place there.
using Token = std::pair<std::uint64_t, std::int32_t>;
using Tokens = std::vector<Token>;

Tokens tokens_of(const ServedRequest& request) {
  Tokens tokens;
  for (const PrefixSegment& piece : request.prefix) {
    for (std::int32_t i = 0; i < piece.tokens; ++i) tokens.emplace_back(piece.id, i);
  }
  return tokens;
}

// Of one prompt, by round.
std::vector<std::vector<ServedRequest>> rounds_of(std::int32_t prompt, std::int32_t output,
                                                  std::int64_t beam_width, std::uint64_t seed) {
  Searches searches({arrival(0, prompt, output)}, beam_width, seed);
  std::vector<std::vector<ServedRequest>> rounds;
  for (ServedRequest& request : serve(searches.source, after(10))) {
    const auto round = static_cast<std::size_t>(request.arrival.prompt_tokens - prompt);
    if (round == rounds.size()) rounds.emplace_back();
    rounds.at(round).push_back(std::move(request));
  }
  return rounds;
}

TEST_CASE("a search sends each beam for one token in each round", "[workloads][beams]") {
  Searches searches({arrival(5, 20, 4)}, 3);
  const std::vector<ServedRequest> all = serve(searches.source, after(10));
  // 1 + 3 x (4 - 1), the rounds at 5, 15, 25 and 35.
  REQUIRE(all.size() == 10);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    const auto round = static_cast<std::int32_t>((i + 2) / 3);  // from 0
    CHECK(all[i].arrival.time_ns == 5 + 10 * round);
    CHECK(all[i].arrival.prompt_tokens == 20 + round);
    CHECK(all[i].arrival.output_tokens == 1);
    CHECK(all[i].arrival.max_tokens == 1);
    CHECK(all[i].arrival.output_segment == 0);
    CHECK(tokens_of(all[i]).size() == static_cast<std::size_t>(20 + round));
  }
  CHECK(searches.told == std::vector<Told>{{0, Outcome::finished, 45}});
  CHECK(searches.source.totals().rounds == 4);
}

TEST_CASE("a search ends with max_tokens where it is declared", "[workloads][beams]") {
  std::vector<Arrival> prompts = {arrival(0, 20, 9), arrival(0, 20, 9)};
  prompts[0].max_tokens = 2;
  prompts[1].max_tokens = 0;
  Searches searches(std::move(prompts), 2);
  CHECK(serve(searches.source, after(10)).size() == 1 + 2 + 1 + 2 * 8);
}

TEST_CASE("a round begins when the last request of the one before has left", "[workloads][beams]") {
  Searches searches({arrival(0, 20, 3)}, 3);
  // Round 2 is requests 1 to 3, which take 70, 20 and 50 ns from 10 on.
  const TimeNs durations[] = {10, 70, 20, 50, 1, 1, 1};
  const std::vector<ServedRequest> all = serve(
      searches.source, [&](const Arrival&, std::uint64_t i) { return Service{durations[i]}; });
  REQUIRE(all.size() == 7);
  for (std::size_t i = 4; i < 7; ++i) CHECK(all[i].arrival.time_ns == 80);
  CHECK(searches.told == std::vector<Told>{{0, Outcome::finished, 81}});
}

// Prompts of 100, 200, 300 and 400 tokens. Those at 0 leave at 30 (the first) and 20; the first at
// 30 in front of the third one's round 1, which began at 5.
TEST_CASE("at one time prompts come first, then rounds in order", "[workloads][beams]") {
  Searches searches(
      {arrival(0, 100, 2), arrival(0, 200, 2), arrival(5, 300, 2), arrival(30, 400, 1)}, 2);
  const TimeNs durations[] = {30, 20, 25, 0, 0, 0, 0, 0, 0, 0};
  std::vector<std::pair<TimeNs, std::int32_t>> order;
  for (const ServedRequest& request : serve(searches.source, [&](const Arrival&, std::uint64_t i) {
         return Service{durations[i]};
       })) {
    order.emplace_back(request.arrival.time_ns, request.arrival.prompt_tokens);
  }
  CHECK(order == std::vector<std::pair<TimeNs, std::int32_t>>{{0, 100},
                                                              {0, 200},
                                                              {5, 300},
                                                              {20, 201},
                                                              {20, 201},
                                                              {30, 400},
                                                              {30, 101},
                                                              {30, 101},
                                                              {30, 301},
                                                              {30, 301}});
}

TEST_CASE("each beam continues one beam, and no two say the same", "[workloads][beams]") {
  const auto rounds = rounds_of(19, 40, 5, 7);
  REQUIRE(rounds.size() == 40);
  for (std::size_t t = 1; t < rounds.size(); ++t) {
    CAPTURE(t);
    std::set<Tokens> different;
    REQUIRE(rounds[t].size() == 5);
    for (std::size_t beam = 0; beam < 5; ++beam) {
      Tokens tokens = tokens_of(rounds[t][beam]);
      different.insert(tokens);
      tokens.pop_back();
      const auto is_parent = [&](const ServedRequest& one) { return tokens_of(one) == tokens; };
      CHECK(std::ranges::count_if(rounds[t - 1], is_parent) == 1);
      if (beam == 0) CHECK(is_parent(rounds[t - 1][0]));
    }
    CHECK(different.size() == 5);
  }
}

TEST_CASE("the answer is one piece, which later turns go on behind", "[workloads][beams]") {
  const PrefixSegment text{.id = 77, .tokens = 20};
  Arrival turn = arrival(0, 20, 30);
  turn.prefix = {&text, 1};
  turn.output_segment = 78;
  Searches searches({turn}, 4);
  const std::vector<ServedRequest> all = serve(searches.source, after(10));
  const ServedRequest& best = all[all.size() - 4];
  CHECK(best.prefix == std::vector<PrefixSegment>{{77, 20}, {78, 29}});
  // Pieces grow with the rounds since a beam left the answer's line, not with the answer.
  for (const auto& round : rounds_of(20, 2000, 4, 1)) CHECK(round.back().prefix.size() < 20);
}

TEST_CASE("one beam is a request a token", "[workloads][beams]") {
  const auto rounds = rounds_of(20, 30, 1, 1);
  REQUIRE(rounds.size() == 30);
  CHECK(rounds[29].size() == 1);
  CHECK(rounds[29][0].prefix.size() == 2);
}

// Request 2 of round 2 leaves at once, before the third one was taken.
TEST_CASE("a failed round ends the search when all of it have left", "[workloads][beams]") {
  Searches searches({arrival(0, 20, 9)}, 3);
  const std::vector<ServedRequest> all =
      serve(searches.source, [](const Arrival&, std::uint64_t i) {
        if (i == 2) return Service{0, Outcome::rejected};
        if (i == 3) return Service{20, Outcome::lost_to_oom};
        return Service{10};
      });
  CHECK(all.size() == 4);
  CHECK(searches.told == std::vector<Told>{{0, Outcome::rejected, 30}});
  CHECK(searches.source.totals().failed == 1);
  CHECK_THROWS_AS(searches.source.on_done(0, Outcome::finished, 40), InternalError);
}

// The answer is due at 35: the rounds begin at 0, 10, 20 and 30, and the fourth ends too late. An
// engine that cannot be interrupted finishes its requests all the same.
TEST_CASE("deadlines are those of the search", "[workloads][beams]") {
  Arrival prompt = arrival(0, 20, 9);
  prompt.first_token_deadline_ns = 15;
  prompt.deadline_ns = 35;
  Searches searches({prompt}, 2);
  const std::vector<ServedRequest> all = serve(searches.source, after(10));
  REQUIRE(all.size() == 1 + 3 * 2);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].arrival.first_token_deadline_ns == (i == 0 ? 15 : kNever));
    CHECK(all[i].arrival.deadline_ns == 35);
  }
  CHECK(searches.told == std::vector<Told>{{0, Outcome::cancelled, 40}});
}

// What the beams of the second of two prompts are, however long the first one's rounds take.
std::vector<std::vector<PrefixSegment>> beams_of_second(TimeNs first_takes_ns, std::uint64_t seed) {
  Searches searches({arrival(0, 100, 20), arrival(0, 500, 20)}, 4, seed);
  const auto service = [&](const Arrival& request, std::uint64_t) {
    return Service{request.prompt_tokens < 500 ? first_takes_ns : 10};
  };
  std::vector<std::vector<PrefixSegment>> beams;
  for (const ServedRequest& request : serve(searches.source, service)) {
    if (request.arrival.prompt_tokens >= 500) beams.push_back(request.prefix);
  }
  return beams;
}

TEST_CASE("beams depend on the seed and the prompt alone", "[workloads][beams]") {
  const auto beams = beams_of_second(10, 1);
  CHECK(beams.size() == 1 + 19 * 4);
  CHECK(beams_of_second(10, 1) == beams);
  CHECK(beams_of_second(3, 1) == beams);
  CHECK(beams_of_second(1000, 1) == beams);
  CHECK(beams_of_second(10, 2) != beams);
}

// --- how much beams share ---

// P(b of k beams are ancestors d rounds ago | a one round later): a beams throw k ways each.
std::vector<double> ancestors_before(const std::vector<double>& chances) {
  const std::size_t k = chances.size() - 1;
  std::vector<double> before(k + 1, 0.0);
  for (std::size_t a = 1; a <= k; ++a) {
    std::vector<double> hit(k + 1, 0.0);
    hit[0] = 1;
    for (std::size_t thrown = 0; thrown < a; ++thrown) {
      for (std::size_t b = std::min(k, thrown + 1); b > 0; --b) {
        hit[b] = (hit[b] * static_cast<double>(b) + hit[b - 1] * static_cast<double>(k - b + 1)) /
                 static_cast<double>(k);
      }
      hit[0] = 0;
    }
    for (std::size_t b = 1; b <= k; ++b) before[b] += chances[a] * hit[b];
  }
  return before;
}

// Mean number of ancestors that the k beams of a round had d = 0, 1, ... rounds before.
std::vector<double> mean_ancestors(std::size_t k, std::size_t rounds) {
  std::vector<double> chances(k + 1, 0.0);
  chances[k] = 1;
  std::vector<double> means;
  for (std::size_t d = 0; d < rounds; ++d) {
    double mean = 0;
    for (std::size_t b = 1; b <= k; ++b) mean += static_cast<double>(b) * chances[b];
    means.push_back(mean);
    chances = ancestors_before(chances);
  }
  return means;
}

struct BlockSum {
  std::int64_t kept_apart = 0;  // every beam has all its blocks
  std::int64_t shared = 0;      // full blocks once
};

// Blocks of 16 that the beams of a round hold, the last, partly filled one of each included.
BlockSum blocks_of(const std::vector<ServedRequest>& round) {
  constexpr std::int32_t kBlock = 16;
  std::set<ChainId> full;  // by what precedes the next one
  BlockSum sum;
  for (const ServedRequest& beam : round) {
    Request request;
    request.prompt_tokens = beam.arrival.prompt_tokens;
    request.prefix = beam.prefix;
    const std::int32_t blocks = request.prompt_tokens / kBlock;
    ChainId chain = 0;
    RequestBlocks walk(request, kBlock, 0, blocks);
    for (BlockRun run; walk.next(run);) {
      REQUIRE_FALSE(run.is_private);
      const BlockCount last = run.blocks;
      for (run.blocks = 1; run.blocks <= last; ++run.blocks) {
        full.insert(chain_behind(chain, run, kBlock));
      }
      run.blocks = last;
      chain = chain_behind(chain, run, kBlock);
    }
    const std::int32_t part = request.prompt_tokens % kBlock == 0 ? 0 : 1;
    sum.kept_apart += blocks + part;
    sum.shared += part;
  }
  sum.shared += static_cast<std::int64_t>(full.size());
  return sum;
}

// The lengths are Alpaca's means (19.31 and 58.45; PagedAttention paper, ENGINES.md 1.8). In round
// t a beam has 18 + t tokens. The block that ends with token 16 m was filled in round 16 m - 18 and
// is held once for each beam of that round which has descendants: mean_ancestors by so many rounds
// back. Without sharing: sum of ceil((18 + t) / 16) = 2 x 14 + 3 x 16 + 4 x 16 + 5 x 12 = 200, less
// the other beams of round 1.
// The chain gives 34.7 %, 51.0 % and 56.0 % for k = 2, 4, 6. The paper measured 37.6 to 55.2 % on
// the whole data set, sharing the last block, too, until somebody writes to it.
TEST_CASE("beams share what their common ancestors have filled", "[workloads][beams]") {
  const double expected[] = {0.3467, 0.5104, 0.5605};
  for (const std::size_t k : {2U, 4U, 6U}) {
    CAPTURE(k);
    const std::vector<double> ancestors = mean_ancestors(k, 58);
    double shared = 2;  // round 1
    for (std::int32_t t = 2; t <= 58; ++t) {
      for (std::int32_t end = 16; end <= 18 + t; end += 16) {
        const std::int32_t filled = end - 18;
        shared += filled <= 1 ? 1 : ancestors[static_cast<std::size_t>(t - filled)];
      }
      if ((18 + t) % 16 != 0) shared += static_cast<double>(k);
    }
    constexpr std::uint64_t kPrompts = 300;
    BlockSum sum;
    for (std::uint64_t seed = 1; seed <= kPrompts; ++seed) {
      for (const auto& round : rounds_of(19, 58, static_cast<std::int64_t>(k), seed)) {
        const BlockSum one = blocks_of(round);
        sum.kept_apart += one.kept_apart;
        sum.shared += one.shared;
      }
    }
    const auto apart = static_cast<std::int64_t>(200 * k - 2 * (k - 1));
    REQUIRE(sum.kept_apart == static_cast<std::int64_t>(kPrompts) * apart);
    const double saved = 1 - static_cast<double>(sum.shared) / static_cast<double>(sum.kept_apart);
    CHECK(1 - shared / static_cast<double>(apart) == Approx(expected[k / 2 - 1]).margin(1e-4));
    CHECK(saved == Approx(expected[k / 2 - 1]).margin(0.01));
  }
}

// Steps of an engine.
class StepSink final : public MetricsSink {
 public:
  void on_steps(const StepRun& run) override {
    REQUIRE(run.steps == 1);
    chunk_tokens.push_back(run.shape->chunk_tokens);
    used_blocks.push_back(run.state->pool.used_blocks());
  }
  void on_request(const RequestRecord& record) override {
    CHECK(record.outcome == Outcome::finished);
  }
  void on_event(const EngineEvent&) override {}
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  std::vector<TokenCount> chunk_tokens;
  std::vector<BlockCount> used_blocks;
};

// A beam of 18 + t tokens is its parent's request of the round before and one token: it finds all
// full blocks of that, and computes the others.
TEST_CASE("vLLM finds the beams' blocks and computes the rest", "[workloads][beams]") {
  PagedKvOptions pool = plain_pool(500);
  pool.enable_prefix_caching = true;
  PolicySetup setup = paged_setup<VllmScheduler>(seats_and_tokens(8, 256), pool);
  ReplicaParts replica;
  replica.options = setup.options;
  replica.limits.max_request_tokens = 4096;
  replica.scheduler = std::move(setup.scheduler);
  replica.kv = std::move(setup.kv);
  replica.cost = std::make_unique<AffineStepCost>(setup.cost);
  std::vector<ReplicaParts> parts;
  parts.push_back(std::move(replica));
  Searches searches({arrival(0, 19, 58)}, 4, 3);
  StepSink sink;
  Fleet fleet({.full_check_interval = 1}, std::move(parts), std::make_unique<RoundRobinRouter>(),
              searches.source, sink);
  CHECK(fleet.run({}) == StopReason::drained);
  const auto rounds = rounds_of(19, 58, 4, 3);
  REQUIRE(sink.used_blocks.size() == rounds.size());
  CHECK(sink.chunk_tokens[0] == 19);
  for (std::size_t i = 1; i < rounds.size(); ++i) {
    CAPTURE(i);
    CHECK(sink.chunk_tokens[i] == 4 * static_cast<TokenCount>((18 + i) % 16 + 1));
    CHECK(sink.used_blocks[i] == blocks_of(rounds[i]).shared);
  }
}

// Rounds back to the common ancestor: 2.0, 5.78 and 9.66 on average by the chain above. The
// standard deviation is some 1.1 k, so that of the mean of 2000 is below 0.15.
TEST_CASE("all beams descend from one of some 2 (k - 1) rounds ago", "[workloads][beams]") {
  const double expected[] = {2.0, 5.779, 9.656};
  for (const std::int64_t k : {2, 4, 6}) {
    CAPTURE(k);
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
      const std::vector<ServedRequest> last = rounds_of(1, 101, k, seed).back();
      const Tokens best = tokens_of(last[0]);
      std::size_t common = best.size();
      for (const ServedRequest& beam : last) {
        const Tokens tokens = tokens_of(beam);
        const auto split = std::ranges::mismatch(best, tokens).in1 - best.begin();
        common = std::min(common, static_cast<std::size_t>(split));
      }
      sum += static_cast<double>(101 - common);
    }
    CHECK(sum / 2000 == Approx(expected[k / 2 - 1]).margin(0.5));
  }
}

// --- options ---

About error_of(const std::string& more) {
  const std::string text =
      R"({"model": "llama-3.1-8b", "device": "h100-sxm", "engine": "vllm", "workload": {
          "arrivals": {"process": "constant", "request_rate": 10}, "num_requests": 10,
          "prompt": {"tokens": 64}, "output": {"tokens": 8}, )" +
      more + "}}";
  return about([&] { validate(parse_scenario(parse_json(text, "s.json"))); });
}

TEST_CASE("beam search stands alone", "[workloads][beams]") {
  CHECK(error_of(R"("beam_width": 4, "n": 1)") == test::no_error());
  CHECK(error_of(R"("beam_width": 1)") == test::value_at("/workload/beam_width"));
  CHECK(error_of(R"("beam_width": 4, "n": 2)") == test::conflict_at("/workload/beam_width"));
  CHECK(error_of(R"("beam_width": 4, "retries": {"max_attempts": 2, "delay_s": 1})") ==
        test::conflict_at("/workload/beam_width"));
  CHECK(error_of(R"("beam_width": 4, "prompt_logprobs_share": 0.5)") ==
        test::conflict_at("/workload/beam_width"));
}

}  // namespace
}  // namespace headroom::test::beam_search_test
