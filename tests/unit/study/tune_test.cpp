#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/study/search/verdict.hpp"
#include "sim/study/sweep/run_row.hpp"
#include "sim/study/tune/tune.hpp"
#include "sim/study/tune/tune_meter.hpp"
#include "sim/study/tune/tune_race.hpp"

namespace headroom::tune_test {
namespace {

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

ScenarioDocument document_of(const std::string& engine, const std::string& more = "",
                             double rate = 2) {
  const std::string text =
      R"({"model": "llama-3.1-8b", "device": "a10g", "engine": {"name": "vllm",
          "max_model_len": 8192)" +
      engine + R"(}, "workload": {"arrivals": {"request_rate": )" + std::to_string(rate) +
      R"(}, "num_requests": 300,
          "prompt": {"tokens": 1500}, "output": {"tokens": 100}},
          "slo": {"ttft_ms": 2000, "tpot_ms": 80})" +
      more + "}";
  return {parse_json(text, "test"), ""};
}

TuneQuery small_query() {
  TuneQuery query;
  query.document = document_of(R"(, "max_num_seqs": 8)");
  query.choice.only_tries = true;
  query.choice.tries = {parse_tried_values("engine.max_num_seqs=2,4,16,32"),
                        parse_tried_values("engine.max_num_batched_tokens=512,1024,4096"),
                        parse_tried_values("engine.kv_cache_dtype=fp8"),
                        parse_tried_values("engine.enable_chunked_prefill=false")};
  return query;
}

TEST_CASE("the best of an exhaustive search is found", "[tune]") {
  const TuneQuery query = small_query();
  const TuneAnswer answer = tune(query, catalog(), {.threads = 2});
  REQUIRE(answer.best.merit);
  REQUIRE(answer.as_it_stands.merit);
  // 5 x 4 x 2 x 2 configurations, each at its own largest load.
  TuneConfig config(answer.levers.size(), 0);
  REQUIRE(config.size() == 4);
  TuneMeter meter(query, with_settings(query.document, {}), catalog(), {.threads = 2});
  std::vector<TuneRacer> racers;
  std::size_t all = 1;
  for (const TuneLever& lever : answer.levers) all *= lever.levels.size();
  CHECK(all == 80);
  double best = 0;
  for (std::size_t number = 0; number < all; ++number) {
    std::size_t rest = number;
    for (std::size_t i = 0; i < config.size(); ++i) {
      config[i] = rest % answer.levers[i].levels.size();
      rest /= answer.levers[i].levels.size();
    }
    const RaceEnd end = race(meter, query.objective, {{settings_of(answer.levers, config), 1}},
                             {.from = 2, .may_fall = true});
    best = std::max(best, end.merit.value_or(0));
  }
  // Two per cent are what the search takes for no difference; one is its tolerance.
  CHECK(*answer.best.merit >= 0.97 * best);
  CHECK(answer.search_runs < 400);
  // What is reported holds, and clearly more does not.
  const std::vector<Setting> settings = settings_of(answer.levers, answer.best.config);
  const std::vector<TuneOutcome> outcomes =
      meter.at({{settings, *answer.best.merit}, {settings, 1.05 * *answer.best.merit}});
  CHECK(outcomes[0].holds);
  CHECK_FALSE(outcomes[1].holds);
  // Shares are of the changes, and no change is one that gains nothing.
  const auto changed = std::ranges::count_if(answer.best.config, [](auto level) { return level; });
  CHECK(std::ssize(answer.shares) == changed);
  CHECK(answer.shares.size() + answer.left.size() == 4);
  for (const TuneShare& share : answer.shares) CHECK(share.share > 0);
}

TEST_CASE("an answer does not depend on the number of threads, but on the seed alone", "[tune]") {
  TuneQuery query = small_query();
  query.choice.only_tries = false;
  const TuneAnswer one = tune(query, catalog(), {.threads = 1});
  const TuneAnswer three = tune(query, catalog(), {.threads = 3});
  CHECK(one.best.config == three.best.config);
  CHECK(one.best.merit == three.best.merit);
  CHECK(one.runs == three.runs);
  CHECK(one.gain == three.gain);
  REQUIRE(one.shares.size() == three.shares.size());
  for (std::size_t i = 0; i < one.shares.size(); ++i) {
    CHECK(one.shares[i].merit == three.shares[i].merit);
  }
  CHECK(one.best.merit >= one.as_it_stands.merit);
  CHECK(one.best.merit >= one.defaults.merit);
}

TEST_CASE("a race ends with the configuration that holds most", "[tune]") {
  const TuneQuery query = small_query();
  TuneMeter meter(query, with_settings(query.document, {}), catalog(), {});
  std::vector<TuneRacer> racers;
  for (const int seqs : {2, 32, 4, 1'000'000'000}) {
    racers.push_back({{{"engine.max_num_seqs", seqs}}, 1});
  }
  const RaceEnd end = race(meter, query.objective, racers, {.from = 100, .may_fall = true});
  CHECK(end.winners == std::vector<std::size_t>{1});
  CHECK_FALSE(end.possible[3]);
  const RaceEnd none = race(meter, query.objective, racers, {.from = 100});
  CHECK(none.winners.empty());
  CHECK_FALSE(none.merit);
  const RaceEnd short_one = race(meter, query.objective, racers, {.from = 0.1, .budget = 3});
  CHECK(short_one.out_of_budget);
}

TEST_CASE("a system whose times are all longer serves as a slower clock would", "[tune]") {
  const TuneQuery query = small_query();
  TuneMeter meter(query, with_settings(query.document, {}), catalog(), {});
  const std::vector<TuneRacer> racers{{{}, 1}};
  const auto merit = [&](double slower) {
    return *race(meter, query.objective, racers, {.from = 1, .may_fall = true, .slower = slower})
                .merit;
  };
  // Without limits the rate would be exactly inverse; limits make it fall faster.
  CHECK(merit(2) < merit(1) / 2 * 1.01);
  CHECK(merit(0.5) > merit(1) * 2 / 1.01);
}

TEST_CASE("levers are those of ask, with the engine's own values", "[tune]") {
  const RunResult run = headroom::run(
      with_settings(document_of(R"(, "max_num_seqs": 8)", R"(, "fleet": {"replicas": 4})"), {}),
      catalog());
  const std::vector<TuneLever> levers = tune_levers(run, {}, catalog());
  const auto lever = [&levers](std::string_view name) {
    const auto found = std::ranges::find(levers, name, &TuneLever::name);
    REQUIRE(found != levers.end());
    return *found;
  };
  CHECK(lever("engine.max_num_seqs").default_level > 0);
  CHECK(lever("engine.kv_cache_dtype").default_level == 0);
  std::vector<std::string> splits;
  for (const TuneLevel& level : lever(kDevicesLever).levels) splits.push_back(level.text);
  for (const char* split :
       {"tp 1 x 4 replicas", "tp 2 x 2 replicas", "tp 4", "tp 1, 2 for prefill and 2 for decode"}) {
    CAPTURE(split);
    CHECK(std::ranges::find(splits, split) != splits.end());
  }
  ScenarioFlags few;
  few.set = {"num_requests=20"};
  const RunResult apart = headroom::run(load_scenario("fleet-disaggregated", few), catalog());
  const std::vector<TuneLever> roles = tune_levers(apart, {}, catalog());
  const auto devices = std::ranges::find(roles, kDevicesLever, &TuneLever::name);
  REQUIRE(devices != roles.end());
  CHECK(devices->levels[3].text == "3 for prefill and 5 for decode");
  for (const TuneLever& one : levers) CHECK(one.name != "engine.quantization");
  CHECK_THROWS_AS(tune_levers(run, {.keep = {"engine.max_num_sqs"}}, catalog()), ConfigError);
  CHECK_THROWS_AS(parse_tried_values("engine.max_num_seqs"), ConfigError);
  CHECK_THROWS_AS(parse_tried_values("=1"), ConfigError);
}

TEST_CASE("joules and dollars have their own best", "[tune]") {
  TuneQuery query = small_query();
  query.document = document_of(R"(, "max_num_seqs": 8)", "", 0.3);
  query.objective = TuneObjective::joules;
  const TuneAnswer joules = tune(query, catalog(), {.threads = 2});
  CHECK_FALSE(joules.by_load);
  REQUIRE(joules.best.joules_per_token);
  CHECK(*joules.best.joules_per_token <= *joules.as_it_stands.joules_per_token);
  query.objective = TuneObjective::dollars;
  CHECK_THROWS_AS(tune(query, catalog(), {}), ConfigError);
  query.device_price = 1;
  const TuneAnswer dollars = tune(query, catalog(), {.threads = 2});
  REQUIRE(dollars.best.dollars_per_million_tokens);
  CHECK(*dollars.best.dollars_per_million_tokens <=
        *dollars.as_it_stands.dollars_per_million_tokens);
}

}  // namespace
}  // namespace headroom::tune_test
