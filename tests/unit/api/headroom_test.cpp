#include "sim/api/headroom.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace headroom::headroom_test {
namespace {

using api::Control;
using api::Error;
using api::Scenario;
using api::Simulator;
using nlohmann::json;

Scenario small(const std::string& requests = "200") {
  Scenario scenario = Scenario::ready("demo");
  scenario.set("workload.num_requests", requests);
  return scenario;
}

// What the error of `action` is about.
template <typename Action>
Error::About about(Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK_FALSE(std::string(error.what()).empty());
    return error.about();
  }
  FAIL("no error");
  return {};
}

constexpr const char* kStudy = R"({
  "base": {"model": "llama-3.1-8b", "device": "h100-sxm",
           "workload": {"num_requests": 60, "arrivals": {"request_rate": 5},
                        "prompt": {"law": "fixed", "tokens": 500},
                        "output": {"law": "fixed", "tokens": 50}}},
  "vary": [{"path": "engine.max_num_seqs", "values": [4, 64]}], "replications": 2})";

constexpr const char* kSearch = R"({
  "base": {"model": "llama-3.1-8b", "device": "h100-sxm",
           "workload": {"num_requests": 60, "arrivals": {"request_rate": 5},
                        "prompt": {"law": "fixed", "tokens": 500},
                        "output": {"law": "fixed", "tokens": 50}}},
  "search": [{"name": "rate", "kind": "max_request_rate", "from": 1, "to": 64,
              "limits": {"p99_ttft_ms": 500}}]})";

}  // namespace

TEST_CASE("a command and a compose file become scenarios") {
  const api::FromAnswer command =
      api::from_command("vllm serve Qwen/Qwen2.5-7B-Instruct --max-num-seqs 8 --nonsense 1");
  Scenario scenario = Scenario::from_json(command.scenario);
  CHECK(json::parse(command.scenario)["engine"]["max_num_seqs"] == 8);
  CHECK(command.unknown_flags == std::vector<std::string>{"--nonsense"});
  const api::FromAnswer compose = api::from_compose(
      "services: {chat: {image: 'vllm/vllm-openai:v0.19.0', command: --model a --seed 1}}");
  CHECK(json::parse(compose.scenario)["model"] == "a");
  CHECK(about([] { static_cast<void>(api::from_command("vllm serve 'open")); }).origin ==
        "command");
  CHECK(about([] { static_cast<void>(api::from_compose("a: [")); }).kind == "value");

  // And back.
  const Simulator simulator;
  scenario.set("device", "l40s");
  const api::CommandAnswer again = simulator.command(scenario);
  CHECK(again.text.starts_with("vllm serve Qwen/Qwen2.5-7B-Instruct"));
  CHECK(again.text.find("--max-num-seqs 8") != std::string::npos);
}

TEST_CASE("programs can list what scenarios may name") {
  const Simulator simulator;
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::ranges::find(names, name) != names.end();
  };
  CHECK(has(simulator.models(), "llama-3.1-8b"));
  CHECK(has(simulator.devices(), "h100-sxm"));
  CHECK(has(simulator.environments(), "docker"));
  for (const api::EngineAnswer& engine : api::engines()) {
    for (const std::string& option :
         {engine.share_option, engine.batch_option, engine.length_option}) {
      CHECK((option.empty() || option.starts_with("engine.")));
    }
    if (engine.name != "vllm") continue;
    CHECK(engine.share_option == "engine.gpu_memory_utilization");
    CHECK(engine.batch_option == "engine.max_num_seqs");
    CHECK(engine.length_option == "engine.max_model_len");
  }
}

TEST_CASE("ask says whether a scenario holds, by how much, and what helps") {
  const Simulator simulator;
  const api::AskAnswer answer = simulator.ask(small(), "p99_ttft=1s");
  CHECK(answer.verdict == "holds");
  REQUIRE(answer.largest_load);
  CHECK(*answer.largest_load > 12);
  REQUIRE_FALSE(answer.hardware.empty());
  CHECK(answer.hardware.front().largest_load > *answer.largest_load);
  CHECK(json::parse(answer.json).at("verdict") == answer.verdict);
  CHECK(about([&] { static_cast<void>(simulator.ask(small(), "ttft=1s")); }).origin == "--slo");
}

TEST_CASE("a run answers with metrics, a digest and the summary as JSON", "[api]") {
  const Simulator simulator;
  const api::RunAnswer answer = simulator.run(small());
  CHECK(answer.started);
  CHECK(answer.failure.empty());
  CHECK(answer.metrics.at("p99_ttft_ms") > 0);
  const json summary = json::parse(answer.json);
  CHECK(summary.at("digest") == answer.digest);
  CHECK(summary.at("headroom_version") == api::version());
  CHECK(simulator.run(small()).json == answer.json);
}

TEST_CASE("an engine that does not start says why and has no latency", "[api]") {
  Scenario scenario = small();
  scenario.set("device", "rtx4090");
  scenario.set("model", "llama-3.3-70b");
  const api::RunAnswer answer = Simulator().run(scenario);
  CHECK_FALSE(answer.started);
  CHECK_FALSE(answer.failure.empty());
  CHECK_FALSE(answer.metrics.contains("p99_ttft_ms"));
}

TEST_CASE("errors of the library have a kind, a place and what was meant", "[api]") {
  const Error::About key = about([] {
    static_cast<void>(Simulator().run(
        Scenario::from_json(R"({"model": "llama-3.1-8b", "devise": "h100-sxm"})", "mine")));
  });
  CHECK(key.kind == "unknown");
  CHECK(key.origin == "mine");
  CHECK(key.pointer == "/devise");
  CHECK(key.nearest == "device");
  CHECK(about([] { static_cast<void>(Scenario::from_json("{")); }).kind == "unreadable");
  CHECK(about([] { static_cast<void>(Scenario::ready("dmo")); }).nearest == "demo");
  CHECK(about([] { static_cast<void>(api::ready_study("no-such")); }).kind == "unknown");
  CHECK(about([] { small().set("engine..x", "4"); }).kind == "value");
  Scenario typo = small();
  typo.set("engine.max_num_sequences", "4");
  const Error::About about_typo = about([&] { static_cast<void>(Simulator().run(typo)); });
  CHECK(about_typo.pointer == "/engine/max_num_sequences");
  CHECK(about_typo.nearest == "max_num_seqs");
  Scenario zero = small();
  zero.set("engine.max_num_seqs", "0");
  const Error::About about_zero = about([&] { static_cast<void>(Simulator().run(zero)); });
  CHECK(about_zero.pointer == "/engine/max_num_seqs");
  CHECK(about_zero.value == "0");
  CHECK_THAT(about_zero.allowed, Catch::StartsWith("expected"));
  for (const std::int64_t replications : {-1, 0, 10'001}) {
    CHECK(about([&] {
            static_cast<void>(Simulator().compare(small(), small(), replications));
          }).origin == "replications");
  }
  CHECK(about([] {
          static_cast<void>(Simulator().capacity(small(), {1024, 0}));
        }).origin == "contexts");
  CHECK(about([] { static_cast<void>(Simulator().sweep("[]")); }).origin == "study");
  const Error::About search = about([] { static_cast<void>(Simulator().sweep(kSearch)); });
  CHECK(search.kind == "unsupported");
}

TEST_CASE("a run keeps its tables where they are wanted", "[api]") {
  const Simulator simulator;
  CHECK(simulator.run(small()).tables.requests.rows == 0);
  api::RunAnswer answer = simulator.run(small(), {.tables = true});
  const api::RunTables tables = std::move(answer.tables);
  answer = {};  // what the columns show lives as long as `tables`
  const api::RequestColumns& requests = tables.requests;
  REQUIRE(requests.rows == 200);
  const std::vector<std::string> outcomes = api::outcome_names();
  for (std::size_t i = 0; i < requests.rows; ++i) {
    CHECK(outcomes[requests.outcome[i]] == "finished");
    CHECK(requests.arrival_ns[i] <= requests.queued_ns[i]);
    CHECK(requests.first_token_ns[i] <= requests.finish_ns[i]);
    CHECK(requests.output_tokens[i] <= requests.max_tokens[i]);
  }
  REQUIRE(tables.timeline.rows > 10);  // 200 requests at 12 per second, a sample each second
  CHECK(tables.timeline.time_ns[2] == 2'000'000'000);
  CHECK(tables.timeline.kv_capacity_tokens[2] == 443'552);
  CHECK_FALSE(tables.timeline.oom[2]);
}

TEST_CASE("files that a document names lie in its folder", "[api]") {
  const std::string folder = std::string(HEADROOM_SOURCE_DIR) + "/tests/data/traces";
  constexpr const char* kReplay = R"({"model": "llama-3.1-8b", "device": "h100-sxm",
                                      "workload": {"trace": {"file": "azure.csv"}}})";
  const Simulator simulator;
  const std::string digest =
      simulator.run(Scenario::from_json(kReplay, "mine.json", folder)).digest;
  Scenario replayed = Scenario::from_json(kReplay);
  replayed.replay(folder + "/azure.csv");
  CHECK(simulator.run(replayed).digest == digest);
  const std::string study =
      std::string(R"({"base": )") + kReplay + R"(, "vary": [{"path": "name", "values": ["one"]}]})";
  CHECK(simulator.sweep(study, {}, {"mine.json", folder}).at(0).digest == digest);
  CHECK(about([&] { static_cast<void>(simulator.run(Scenario::from_json(kReplay))); }).kind ==
        "unreadable");
}

TEST_CASE("studies and plans come with the library", "[api]") {
  CHECK(json::parse(api::ready_study("rate-curve"), nullptr, true, true).contains("base"));
  CHECK(json::parse(api::ready_plan("chat-fleet"), nullptr, true, true).contains("traffic"));
}

TEST_CASE("a copy of a scenario goes its own way", "[api]") {
  const Scenario scenario = small();
  Scenario copy = scenario;
  copy.set("engine.max_num_seqs", "7");
  CHECK(json::parse(copy.json()).at("engine").at("max_num_seqs") == 7);
  CHECK_FALSE(json::parse(scenario.json()).value("engine", json::object()).is_string());
  CHECK(scenario.json() != copy.json());
}

TEST_CASE("capacity counts the requests of each length", "[api]") {
  const api::CapacityAnswer answer = Simulator().capacity(small(), {1024, 8192});
  CHECK(answer.starts);
  REQUIRE(answer.contexts.size() == 2);
  CHECK(answer.contexts[0].requests >= answer.contexts[1].requests);
  CHECK(answer.contexts[1].kv_bytes == 8 * answer.contexts[0].kv_bytes);
  CHECK(json::parse(answer.json).is_structured());
}

TEST_CASE("an audit names the bytes, and a fix where it does not fit", "[api]") {
  const Simulator simulator;
  const api::AuditAnswer fits = simulator.audit(small());
  CHECK(fits.verdict == "fits");
  CHECK(fits.bytes.at("weights") > 0);
  CHECK(fits.fixes.empty());
  const api::AuditAnswer many = simulator.audit(small(), 4000, 100'000);
  CHECK(many.verdict != "fits");
}

TEST_CASE("a comparison under the same traffic has intervals, on any number of threads", "[api]") {
  const Simulator simulator;
  Scenario narrow = small();
  narrow.set("engine.max_num_seqs", "4");
  const api::CompareAnswer one = simulator.compare(narrow, small(), 3);
  const api::CompareAnswer two = simulator.compare(narrow, small(), 3, {.threads = 3});
  CHECK(one.json == two.json);
  const api::DifferenceAnswer& throughput = one.metrics.at("output_throughput");
  CHECK(throughput.mean_a < throughput.mean_b);
  CHECK(throughput.difference > throughput.half_width);
}

TEST_CASE("assertions hold or are broken in each scenario", "[api]") {
  const Simulator simulator;
  const api::CheckAnswer held = simulator.check({small(), small()}, {"oom == 0"});
  CHECK(held.holds);
  REQUIRE(held.assertions.size() == 2);
  CHECK(held.assertions.front().verdict == "holds");
  CHECK(held.assertions.front().value == 0);
  const api::CheckAnswer broken = simulator.check({small()}, {"oom == 0", "completed > 200"});
  CHECK_FALSE(broken.holds);
  CHECK(broken.assertions.back().verdict == "broken");
  CHECK(about([&] { static_cast<void>(simulator.check({small()}, {})); }).kind == "missing");
}

TEST_CASE("tuning gives the scenario with the best flags, on any number of threads", "[api]") {
  const Simulator simulator;
  const api::TuneChoices choices{.targets = "p99_ttft=1s",
                                 .tries = {"engine.max_num_seqs=8,64"},
                                 .only_tries = true,
                                 .budget = 40};
  const api::TuneAnswer answer = simulator.tune(small(), choices);
  CHECK(answer.found);
  CHECK(answer.command.starts_with("vllm serve "));
  Scenario best = Scenario::from_json(answer.scenario);
  CHECK(simulator.run(best).started);
  Control two;
  two.threads = 2;
  CHECK(simulator.tune(small(), choices, two).json == answer.json);
  api::TuneChoices wrong;
  wrong.objective = "speed";
  CHECK(about([&] { static_cast<void>(simulator.tune(small(), wrong)); }).value == "speed");
}

TEST_CASE("files to deploy read back as the scenario", "[api]") {
  const Simulator simulator;
  const api::EmitAnswer answer = simulator.emit(small(), "kubernetes");
  REQUIRE(answer.files.size() == 1);
  CHECK(answer.files.front().first == "kubernetes.yaml");
  const json read = json::parse(api::from_deployment(answer.files).scenario);
  CHECK(read["device"] == "h100-sxm");
  CHECK(read["engine"]["max_model_len"] == 16384);
  CHECK(about([&] { static_cast<void>(simulator.emit(small(), "kubernets")); }).nearest ==
        "kubernetes");
}

TEST_CASE("a sweep runs its points in order and says how far it is", "[api]") {
  const Simulator simulator;
  std::uint64_t last = 0;
  Control control;
  control.threads = 2;
  control.progress = [&](std::uint64_t done, std::uint64_t all) {
    CHECK(done >= last);
    CHECK(all == 4);
    last = done;
  };
  const std::vector<api::SweepPoint> points = simulator.sweep(kStudy, control);
  REQUIRE(points.size() == 4);
  CHECK(last == 4);
  CHECK(points[0].parameters.at("engine.max_num_seqs") == "4");
  CHECK(points[3].parameters.at("engine.max_num_seqs") == "64");
  CHECK(points[1].replication == 1);
  CHECK(points[2].digest == simulator.sweep(kStudy)[2].digest);
}

TEST_CASE("work that is stopped before it begins ends at once", "[api]") {
  std::stop_source source;
  source.request_stop();
  const Simulator simulator;
  CHECK(simulator.sweep(kStudy, {.stop = source.get_token()}).empty());
  const api::RunAnswer answer = simulator.run(small("100000"), {.stop = source.get_token()});
  CHECK(answer.started);
  const json summary = json::parse(answer.json);
  CHECK(summary.at("stop") == "interrupted");
  CHECK(answer.stop == "interrupted");
  const Scenario large = small("100000");
  CHECK(simulator.compare(large, large, 2, {.stop = source.get_token()}).metrics.empty());
}

}  // namespace headroom::headroom_test
