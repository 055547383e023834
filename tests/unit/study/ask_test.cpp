#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/study/ask/ask.hpp"
#include "sim/study/ask/ask_candidates.hpp"
#include "sim/study/ask/ask_target.hpp"
#include "sim/study/search/verdict.hpp"
#include "sim/study/sweep/run_row.hpp"

namespace headroom::ask_test {
namespace {

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

ScenarioDocument document_of(const std::string& device, const std::string& engine,
                             double rate = 4) {
  const std::string text =
      R"({"model": "llama-3.1-8b", "device": ")" + device + R"(", "engine": {"name": "vllm")" +
      engine + R"(}, "workload": {"arrivals": {"request_rate": )" + std::to_string(rate) +
      R"(}, "num_requests": 300, "prompt": {"tokens": 1500},
                           "output": {"tokens": 100}}})";
  return {parse_json(text, "test"), ""};
}

AskQuery query_of(ScenarioDocument document, const std::string& targets) {
  AskQuery query;
  query.document = std::move(document);
  if (!targets.empty()) query.targets = parse_targets({targets});
  return query;
}

// Whether the load passes, by a run of its own.
bool passes(const AskQuery& query, const AskLoad& load, std::vector<Setting> settings,
            double value) {
  settings.push_back({load.path, value});
  const RunResult result = run(with_settings(query.document, settings), catalog());
  return judge(load_search(load, query.targets), {row_of(result, "")}).verdict == Verdict::passes;
}

// The largest of rates that grow by `step`, from the first; 0: not even that one.
double swept_edge(const AskQuery& query, const std::vector<Setting>& settings, double from,
                  double step) {
  const AskLoad load = load_of(with_settings(query.document, {}));
  double last = 0;
  for (double rate = from; passes(query, load, settings, rate); rate *= step) last = rate;
  return last;
}

TEST_CASE("targets are read as people write them", "[ask]") {
  const std::vector<Limit> targets =
      parse_targets({"p99 TTFT < 2s", "ttft_p95=1sec", "TPOT-p95: 50ms", "mean e2e=9s"});
  REQUIRE(targets.size() == 4);
  CHECK(targets[0].metric == "p99_ttft_ms");
  CHECK(targets[1].metric == "p95_ttft_ms");
  CHECK(targets[2].metric == "p95_tpot_ms");
  CHECK(targets[3].metric == "mean_e2el_ms");
  CHECK(parse_targets({"p99_e2el=2min"}).front().bound == 120'000);
  CHECK_THROWS_AS(parse_targets({"ttft_p98=1s"}), ConfigError);
}

TEST_CASE("requests that the engine cuts or rejects do not hold", "[ask]") {
  AskQuery query = query_of(document_of("h100-sxm", R"(, "max_model_len": 1550)", 0.2), "");
  query.with_changes = false;
  const AskAnswer answer = ask(query, catalog(), {});
  CHECK(answer.verdict == HoldVerdict::does_not_hold);
  CHECK(answer.reason ==
        "requests of 1600 tokens are longer than the 1550 that the engine accepts (--in, --out)");
}

TEST_CASE("targets are read with their units", "[ask]") {
  const std::vector<Limit> targets =
      parse_targets({"p99_ttft=2s,p95_tpot = 50", "mean_itl_ms<9us"});
  REQUIRE(targets.size() == 3);
  CHECK(targets[0].metric == "p99_ttft_ms");
  CHECK(targets[0].bound == 2000);
  CHECK(targets[1].metric == "p95_tpot_ms");
  CHECK(targets[1].bound == 50);
  CHECK(targets[2].metric == "mean_itl_ms");
  CHECK(targets[2].bound == Approx(0.009));
  CHECK(latency_title("p99_ttft_ms") == "p99 TTFT");
  CHECK(latency_title("mean_e2el_ms") == "mean latency");
  for (const char* wrong : {"ttft=2s", "p99_tfft=2s", "p99_ttft", "p99_ttft=0", "p99_ttft=two",
                            "p99_ttft=1s,p99_ttft=2s", "", " , "}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_targets({wrong}), ConfigError);
  }
}

TEST_CASE("a time without a unit is milliseconds, and said to be", "[ask]") {
  CHECK(unit_notes({"p99_ttft=2,p95_tpot=50ms", "mean_itl <= 3"}) ==
        std::vector<std::string>{"p99_ttft=2 is taken as 2 ms; write 2s for seconds",
                                 "mean_itl <= 3 is taken as 3 ms; write 3s for seconds"});
  CHECK(unit_notes({"p99_ttft_ms=2", "p99_ttft=2s", "p99_ttft"}).empty());
}

TEST_CASE("an engine that refuses to start holds nothing", "[ask]") {
  AskQuery query = query_of(document_of("h100-sxm", ""), "p99_ttft=2s");
  query.refusal = "the flags use 4 of 2 devices";
  const AskAnswer answer = ask(query, catalog(), {});
  CHECK(answer.verdict == HoldVerdict::does_not_start);
  CHECK(answer.reason == query.refusal);
  CHECK_FALSE(answer.run.started);
  CHECK_FALSE(answer.largest_load);
}

TEST_CASE("a tight target without measured runs does not speak of them", "[ask]") {
  AskQuery query = query_of(document_of("thor-128", R"(, "max_model_len": 8192)", 0.5), "");
  query.with_changes = false;
  const AskAnswer open = ask(query, catalog(), {});
  REQUIRE(open.run.expected_error.runs == 0);
  const AskLatency& first = open.latencies.front();
  REQUIRE(first.high_ms > first.ms);
  Limit target;
  target.metric = first.metric;
  target.bound = (first.ms + first.high_ms) / 2;
  query.targets = {target};
  const AskAnswer tight = ask(query, catalog(), {});
  CHECK(tight.verdict == HoldVerdict::tight);
  CHECK(tight.reason.find("constants of other devices give up to") != std::string::npos);
}

// What binds the largest rate on one L40S.
Binds binds_with(const std::string& engine, const std::string& targets, TokenCount prompt = 1500,
                 TokenCount output = 100) {
  AskQuery query = query_of(document_of("l40s", engine), targets);
  query.with_changes = false;
  query.document.json.root["workload"]["prompt"]["tokens"] = prompt;
  query.document.json.root["workload"]["output"]["tokens"] = output;
  const AskAnswer answer = ask(query, catalog(), {});
  REQUIRE(answer.largest_load);
  REQUIRE(answer.largest_load->largest);
  return answer.largest_load->binds;
}

TEST_CASE("what binds is what more of it would move", "[ask]") {
  // A full batch is no limit where prompts take the time: with twice the seats nothing changes.
  const std::string seats = R"(, "max_model_len": 8192, "max_num_seqs": 32)";
  CHECK(binds_with(seats, "", 6000, 20) == Binds::prefill);
  CHECK(binds_with(R"(, "max_model_len": 8192, "max_num_seqs": 2)", "") == Binds::batch_limit);
  CHECK(binds_with(R"(, "max_model_len": 4096, "gpu_memory_utilization": 0.42)", "") ==
        Binds::pool);
  // A first token that nothing full holds up waits for prompts, although decodes take most time.
  CHECK(binds_with(R"(, "max_model_len": 8192)", "p99_ttft=400ms") == Binds::prefill);
}

TEST_CASE("flags that the engine may refuse make the answer tight", "[ask]") {
  AskQuery query = query_of(document_of("h100-sxm", ""), "p99_ttft=20s");
  query.with_changes = false;
  query.doubt = "may not start: no --max-modl-len is known";
  const AskAnswer answer = ask(query, catalog(), {});
  CHECK(answer.verdict == HoldVerdict::tight);
  CHECK(answer.reason == query.doubt);
}

TEST_CASE("where the device has no back end no change is tried", "[ask]") {
  AskQuery query = query_of(document_of("mi300x", ""), "p99_ttft=2s");
  query.document.json.root["engine"] = {{"name", "trtllm"}};
  const AskAnswer answer = ask(query, catalog(), {});
  CHECK(answer.verdict == HoldVerdict::does_not_start);
  CHECK(answer.tried == 0);
}

TEST_CASE("what is promised counts at once", "[ask]") {
  AskQuery query = query_of(document_of("h100-sxm", ""), "");
  query.with_changes = false;
  query.document.json.root["engine"] = {{"name", "trtllm"}};
  const AskAnswer open = ask(query, catalog(), {});
  REQUIRE(open.at_once);
  query.document.json.root["workload"]["max_tokens"] = {{"rule", "value"}, {"value", 100}};
  const AskAnswer bounded = ask(query, catalog(), {});
  REQUIRE(bounded.at_once);
  CHECK(open.at_once->requests < 5);
  CHECK(bounded.at_once->requests > 100);
}

TEST_CASE("the largest rate is that of a fine sweep", "[ask]") {
  AskQuery query =
      query_of(document_of("a10g", R"(, "max_model_len": 8192)"), "p99_ttft=2s,p95_tpot=80ms");
  query.with_changes = false;
  const AskAnswer answer = ask(query, catalog(), {});
  REQUIRE(answer.largest_load);
  REQUIRE(answer.largest_load->largest);
  const double found = *answer.largest_load->largest;
  // Steps of half a per cent, from 10 % below.
  const double swept = swept_edge(query, {}, 0.9 * found, 1.005);
  CHECK(std::abs(found / swept - 1) < 0.03);
}

TEST_CASE("a rate whose run would have no request is not the smallest load", "[ask]") {
  ScenarioDocument document = document_of("h100-sxm", "", 4);
  Json& workload = document.json.root["workload"];
  workload.erase("num_requests");
  workload["duration_s"] = 60;
  AskQuery query = query_of(std::move(document), "p99_ttft=2s");
  query.with_changes = false;
  const AskAnswer answer = ask(query, catalog(), {});
  CHECK(answer.load.least == 4.0 / 20);
  REQUIRE(answer.largest_load->largest);
  CHECK(*answer.largest_load->largest > 4);
  // Lower than what was asked for there is something to find, however few requests that was.
  document = document_of("h100-sxm", "", 0.3);
  document.json.root["workload"].erase("num_requests");
  document.json.root["workload"]["duration_s"] = 60;
  CHECK(load_of(with_settings(document, {})).least < 0.1);
}

TEST_CASE("the best change of a brute force is among those shown", "[ask]") {
  const AskQuery query =
      query_of(document_of("a10g", R"(, "max_model_len": 8192, "max_num_seqs": 4)"),
               "p99_ttft=2s,p95_tpot=80ms");
  const AskAnswer answer = ask(query, catalog(), {});
  REQUIRE(answer.largest_load);
  CHECK(answer.largest_load->binds == Binds::batch_limit);
  REQUIRE(answer.largest_load->largest);
  std::string best;
  double best_rate = 0;
  for (const AskCandidate& candidate : ask_candidates(answer.run, 1600, catalog())) {
    if (candidate.cost == FixCost::hardware) continue;
    double rate = 0;
    try {
      rate = swept_edge(query, {candidate.setting}, *answer.largest_load->largest, 1.02);
    } catch (const ConfigError&) {
      continue;  // not possible here
    }
    if (rate <= best_rate) continue;
    best_rate = rate;
    best = candidate.setting.path;
  }
  CHECK(best == "engine.max_num_seqs");
  REQUIRE_FALSE(answer.changes.empty());
  CHECK(answer.changes.front().candidate.setting.path == best);
  CHECK(*answer.changes.front().largest == Approx(best_rate).epsilon(0.03));
  CHECK(answer.changes.size() <= kShownChanges);
  CHECK_FALSE(answer.hardware.empty());
}

TEST_CASE("verdicts: holds, tight, does not hold, does not start", "[ask]") {
  const auto verdict = [](const AskQuery& query) {
    AskQuery plain = query;
    plain.with_changes = false;
    return ask(plain, catalog(), {}).verdict;
  };
  AskQuery query = query_of(document_of("h100-sxm", "", 2), "p99_ttft=20s");
  CHECK(verdict(query) == HoldVerdict::holds);
  // A target as far above the simulated figure as measured runs were at most.
  const AskAnswer answer = ask(query, catalog(), {});
  REQUIRE(answer.latencies.front().high_ms > answer.latencies.front().ms);
  query.targets.front().bound =
      (answer.latencies.front().ms + answer.latencies.front().high_ms) / 2;
  CHECK(verdict(query) == HoldVerdict::tight);
  query.targets.front().bound = answer.latencies.front().ms * 0.9;
  CHECK(verdict(query) == HoldVerdict::does_not_hold);
  CHECK(verdict(query_of(document_of("h100-sxm", "", 500), "")) == HoldVerdict::does_not_hold);
  query.targets.clear();
  query.context = 200'000;  // the model takes 131,072
  CHECK(verdict(query) == HoldVerdict::does_not_hold);
}

TEST_CASE("to go without graphs is not offered as a gain", "[ask]") {
  const auto offers_eager = [](const std::string& device) {
    const RunResult result =
        run(with_settings(document_of(device, R"(, "max_model_len": 8192)"), {}), catalog());
    REQUIRE(result.started);
    const std::vector<AskCandidate> candidates = ask_candidates(result, 1600, catalog());
    return std::ranges::any_of(candidates, [](const AskCandidate& candidate) {
      return candidate.setting.path == "engine.enforce_eager";
    });
  };
  CHECK_FALSE(offers_eager("h200-sxm"));
  CHECK_FALSE(offers_eager("rtx4090"));
}

TEST_CASE("the devices of a change are those of all replicas", "[ask]") {
  ScenarioDocument document = document_of("l40s", R"(, "max_model_len": 8192)");
  document.json.root["fleet"] = {{"replicas", 3}};
  const RunResult result = run(with_settings(document, {}), catalog());
  REQUIRE(result.started);
  const std::vector<AskCandidate> candidates = ask_candidates(result, 1600, catalog());
  const auto wider = std::ranges::find_if(candidates, [](const AskCandidate& candidate) {
    return candidate.setting.path == "engine.tensor_parallel_size" && candidate.setting.value == 2;
  });
  REQUIRE(wider != candidates.end());
  CHECK(wider->cost_text == "6 devices instead of 3");
}

TEST_CASE("a share of memory is raised to what others leave of the device", "[ask]") {
  const RunResult result =
      run(with_settings(
              document_of("l40s", R"(, "gpu_memory_utilization": 0.5, "max_model_len": 8192)"), {}),
          catalog());
  REQUIRE(result.started);
  const auto share = [&](double largest) {
    for (const AskCandidate& one : ask_candidates(result, 1600, catalog(), largest)) {
      if (one.setting.path == "engine.gpu_memory_utilization") return one.setting.value;
    }
    return Json();
  };
  CHECK(share(1) == 0.95);
  CHECK(share(0.7) == 0.7);
  CHECK(share(0.4).is_null());
}

TEST_CASE("a context that is allocated at the start shrinks to what is free for it", "[ask]") {
  ScenarioDocument document = document_of("rtx4090", "");
  document.json.root["engine"] = {{"name", "llamacpp"}, {"ctx_size", 131072}, {"n_gpu_layers", 33}};
  const RunResult result = check(with_settings(document, {}), catalog());
  REQUIRE(result.budget.failure);
  REQUIRE(result.budget.failure->stage == StartupStage::kv_allocation);
  std::optional<std::int64_t> cells;
  for (const AskCandidate& one : ask_candidates(result, 1600, catalog())) {
    if (one.setting.path == "engine.ctx_size") cells = one.setting.value.get<std::int64_t>();
  }
  REQUIRE(cells);
  const StartupFailure& failure = *result.budget.failure;
  const double free =
      static_cast<double>(failure.free_bytes) / static_cast<double>(failure.wanted_bytes) * 131072;
  CHECK(*cells % 1024 == 0);
  CHECK(static_cast<double>(*cells) <= 0.9 * free);
  CHECK(static_cast<double>(*cells) > 0.9 * free - 1024);
}

TEST_CASE("slots that nobody set are offered, too", "[ask]") {
  ScenarioDocument document = document_of("m4-max", "", 0.05);
  document.json.root["engine"] = {{"name", "llamacpp"}};
  const RunResult result = run(with_settings(document, {}), catalog());
  REQUIRE(result.started);
  const std::vector<AskCandidate> candidates = ask_candidates(result, 1600, catalog());
  CHECK(std::ranges::any_of(candidates, [](const AskCandidate& one) {
    return one.setting.path == "engine.parallel" && one.setting.value == 8;
  }));
}

TEST_CASE("what does not start is answered with what starts", "[ask]") {
  const AskAnswer answer =
      ask(query_of(document_of("rtx4090", R"(, "max_model_len": 131072)", 0.5), ""), catalog(), {});
  CHECK(answer.verdict == HoldVerdict::does_not_start);
  CHECK_FALSE(answer.largest_load);
  CHECK(std::ranges::any_of(answer.changes, [](const AskChange& change) {
    return change.candidate.setting.path == "engine.max_model_len" && change.holds;
  }));
}

TEST_CASE("an answer does not depend on the number of threads", "[ask]") {
  const AskQuery query = query_of(document_of("l40s", ""), "p99_ttft=2s");
  const AskAnswer one = ask(query, catalog(), {.threads = 1});
  const AskAnswer three = ask(query, catalog(), {.threads = 3});
  CHECK(one.largest_load->largest == three.largest_load->largest);
  CHECK(one.largest_users->largest == three.largest_users->largest);
  CHECK(one.largest_context->largest == three.largest_context->largest);
  REQUIRE(one.changes.size() == three.changes.size());
  for (std::size_t i = 0; i < one.changes.size(); ++i) {
    CHECK(one.changes[i].candidate.setting.path == three.changes[i].candidate.setting.path);
    CHECK(one.changes[i].largest == three.changes[i].largest);
  }
}

}  // namespace
}  // namespace headroom::ask_test
