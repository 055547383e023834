// The parts of `headroom fleet plan` that simulate nothing.

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "sim/intake/from.hpp"
#include "sim/intake/serve_command.hpp"
#include "sim/kernel/in_parallel.hpp"
#include "sim/study/plan/plan_bounds.hpp"
#include "sim/study/plan/plan_front.hpp"
#include "sim/study/plan/plan_targets.hpp"
#include "sim/study/plan/plan_traffic.hpp"
#include "sim/study/plan/smallest_count.hpp"

namespace headroom::plan_parts_test {

namespace {

// 10 ms a step, 0.1 ms a decoding sequence, 0.01 ms a prompt token.
class PlainCost final : public StepCost {
 public:
  void price(const StepShape& shape, StepPrice& price) const override {
    price = StepPrice{};
    const Ticks us = 1000 * kTicksPerNs;
    price.base = us * (10'000 + 100 * shape.decode_rows + 10 * shape.chunk_tokens);
  }
};

// 100 tokens in, 10 out: each decoding sequence brings 10 prompt tokens a step, so that a step with
// B of them takes 10 + 0.2 B ms.
PlanTraffic short_answers() {
  PlanTraffic traffic;
  traffic.mean_prompt = 100;
  traffic.mean_output = 10;
  return traffic;
}

}  // namespace

TEST_CASE("the smallest number that is enough is found from any guess, asking each once") {
  for (const std::int64_t answer : {1, 2, 37, 99, 100}) {
    for (const std::int64_t guess : {0, 1, 30, 37, 38, 60, 100, 1000}) {
      std::map<std::int64_t, int> asked;
      const auto found = smallest_count(guess, 100, [&](std::int64_t n) {
        ++asked[n];
        return n >= answer;
      });
      CAPTURE(answer, guess);
      CHECK(found == answer);
      for (const auto& [n, times] : asked) CHECK(times == 1);
      CHECK(asked.size() <= 16);
    }
  }
  CHECK_FALSE(smallest_count(5, 100, [](std::int64_t) { return false; }));
}

TEST_CASE("a limit that does not bind changes no answer, even of questions that err") {
  // 12 and 19 answer against the rule.
  const auto enough = [](std::int64_t n) { return n == 12 || (n >= 15 && n != 19); };
  for (const std::int64_t guess : {1, 5, 11, 14, 17, 22, 30}) {
    const auto found = smallest_count(guess, 1000, enough);
    for (const std::int64_t most : {20, 22, 37, 64, 128}) {
      CAPTURE(guess, most);
      CHECK(smallest_count(guess, most, enough) == found);
    }
  }
}

TEST_CASE("a good guess costs two questions") {
  int asked = 0;
  const auto found = smallest_count(10, 100, [&](std::int64_t n) {
    ++asked;
    return n >= 10;
  });
  CHECK(found == 10);
  CHECK(asked == 2);
}

TEST_CASE("the front has whom nobody beats in everything") {
  const std::vector<std::vector<double>> points{{1, 5}, {2, 4}, {2, 6}, {3, 4}, {1, 5}};
  CHECK(pareto_front(points) == std::vector<bool>{true, true, false, false, true});
}

TEST_CASE("the interval of the mean keeps a target, misses it, or leaves it open") {
  // Mean 95, deviation 5, 4.303 of it over sqrt(3): 82.6 to 107.4.
  const std::vector<double> three{90, 95, 100};
  CHECK(judge_target(three, 101).upper == Approx(107.42).epsilon(1e-3));
  CHECK(judge_target(three, 108).verdict == Verdict::passes);
  CHECK(judge_target(three, 107).verdict == Verdict::open);
  CHECK(judge_target(three, 83).verdict == Verdict::open);
  CHECK(judge_target(three, 82).verdict == Verdict::fails);
  // Of one run the value decides.
  CHECK(judge_target(std::vector<double>{7}, 7).verdict == Verdict::passes);
  CHECK(judge_target(std::vector<double>{7}, 6).verdict == Verdict::fails);
}

TEST_CASE("the balance of steps stops at whichever limit comes first") {
  const PlainCost cost;
  // 10 + 0.2 B <= 20 ms: B = 50, and 50 / 20 ms / 10 tokens = 250 requests/s.
  const BalanceLimits wide{1000, 1'000'000, 1'000'000, 20.0};
  const StepBalance by_tpot = step_balance(cost, short_answers(), wide);
  CHECK(by_tpot.rows == 50);
  CHECK(by_tpot.step_ms == Approx(20));
  CHECK(by_tpot.requests_per_s == Approx(250));
  CHECK(by_tpot.limited_by == "TPOT");
  // 105 tokens of context each.
  BalanceLimits pool = wide;
  pool.pool_tokens = 1050;
  CHECK(step_balance(cost, short_answers(), pool).rows == 10);
  CHECK(step_balance(cost, short_answers(), pool).limited_by == "KV pool");
  CHECK(step_balance(cost, short_answers(), pool).requests_per_s == Approx(10 / 0.012 / 10));
  // B + 10 B tokens a step.
  BalanceLimits tokens = wide;
  tokens.max_step_tokens = 120;
  CHECK(step_balance(cost, short_answers(), tokens).rows == 10);
  CHECK(step_balance(cost, short_answers(), tokens).limited_by == "step tokens");
  BalanceLimits seqs = wide;
  seqs.max_num_seqs = 4;
  CHECK(step_balance(cost, short_answers(), seqs).rows == 4);
  CHECK(step_balance(cost, short_answers(), seqs).limited_by == "max_num_seqs");
}

TEST_CASE("a trace is laid over itself and thinned") {
  Json workload = {{"trace", {{"file", "a.csv"}}}};
  scale_workload(workload, 2.5, 0, 100);
  CHECK(workload["trace"]["copies"] == 3);
  CHECK(workload["trace"]["keep"].get<double>() == Approx(2.5 / 3));
  CHECK_FALSE(workload["trace"].contains("copy_shift_s"));
  Json again = {{"trace", {{"file", "a.csv"}, {"copies", 4}}}};
  scale_workload(again, 0.5, 1, 100);
  CHECK(again["trace"]["copies"] == 2);
  CHECK(again["trace"]["keep"] == 1.0);
  // The fraction of the root of 2: no number of copies meets again.
  CHECK(again["trace"]["copy_shift_s"].get<double>() == Approx(41.421356));
}

TEST_CASE("generated traffic comes faster, for as long as before, in every class") {
  Json workload = {{"arrivals", {{"process", "poisson"}, {"request_rate", 5}}},
                   {"num_requests", 100},
                   {"classes",
                    {{{"name", "a"}, {"arrivals", {{"request_rate", 2}}}, {"duration_s", 60}},
                     {{"name", "b"}, {"closed_loop", {{"users", 10}}}}}}};
  scale_workload(workload, 4, 0, 60);
  CHECK(workload["arrivals"]["request_rate"] == 20.0);
  CHECK(workload["num_requests"] == 400);
  CHECK(workload["classes"][0]["arrivals"]["request_rate"] == 8.0);
  CHECK(workload["classes"][0]["duration_s"] == 60);
  CHECK(workload["classes"][1]["closed_loop"]["users"] == 40);
}

TEST_CASE("lengths are converted to the tokens of a model") {
  const PlanModel model{"m", {}, 1.5, 2, 1};
  Json workload = {{"prompt", {{"law", "lognormal"}, {"median", 100}, {"sigma", 1}, {"max", 999}}},
                   {"output", {{"tokens", 7}}}};
  convert_tokens(workload, model, "p.json");
  CHECK(workload["prompt"]["median"] == 150.0);
  CHECK(workload["prompt"]["sigma"] == 1);
  CHECK(workload["prompt"]["max"] == 1499);
  CHECK(workload["output"]["tokens"] == 14);
  Json trace = {{"trace", {{"file", "a"}, {"output_tokens_factor", 3}}}};
  convert_tokens(trace, model, "p.json");
  CHECK(trace["trace"]["input_tokens_factor"] == 1.5);
  CHECK(trace["trace"]["output_tokens_factor"] == 6.0);
}

TEST_CASE("the command of an engine says what its section says") {
  const Json engine = {{"name", "vllm"},
                       {"version", "0.19"},
                       {"tensor_parallel_size", 2},
                       {"max_model_len", 16384},
                       {"gpu_memory_utilization", 0.85},
                       {"enable_prefix_caching", false},
                       {"kv_cache_dtype", "fp8"},
                       {"restart_s", 90}};
  const ServeCommand command = serve_command(engine, "meta-llama/Llama-3.1-8B");
  CHECK(command.text ==
        "vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2 --max-model-len 16384 "
        "--gpu-memory-utilization 0.85 --no-enable-prefix-caching --kv-cache-dtype fp8");
  CHECK(command.not_a_flag == std::vector<std::string>{"restart_s"});
  // Read back it is the same scenario.
  const Json read = scenario_from_command(command.text, "command").scenario;
  for (const auto& [key, value] : engine.items()) {
    if (key == "name" || key == "version" || key == "restart_s") continue;
    CAPTURE(key);
    CHECK(read["engine"].value(key, Json()) == value);
  }
  CHECK(serve_command({{"name", "sglang"}, {"tensor_parallel_size", 4}}, "a/b").text ==
        "python3 -m sglang.launch_server --model-path a/b --tensor-parallel-size 4");
  CHECK(serve_command({{"name", "orca"}}, "a/b").text.empty());
}

TEST_CASE("work in parallel is all done once, and the lowest error is told") {
  std::vector<int> done(100);
  in_parallel(done.size(), 3, [&](std::size_t i) { ++done[i]; });
  CHECK(done == std::vector<int>(100, 1));
  CHECK_THROWS_WITH(in_parallel(5, 1,
                                [](std::size_t i) {
                                  if (i >= 2) throw ConfigError(std::to_string(i));
                                }),
                    "2");
}

}  // namespace headroom::plan_parts_test
