// The emulator without a network: who asks is told of every token at its time, and what it served
// is what a run of its trace gives.

#include "sim/server/emulator.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/kernel/random.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/server/served_scenario.hpp"
#include "workloads/listed_arrivals.hpp"

namespace headroom::emulator_test {
namespace {

class Client final : public AnswerListener {
 public:
  explicit Client(const TimeNs& now_ns) : now_ns_(now_ns) {}
  void on_tokens(std::size_t answer, std::int32_t more) override { take(answer, more); }
  void on_end(std::size_t answer, std::int32_t more, const AnswerEnd& end) override {
    if (more > 0) take(answer, more);
    CHECK(ends.emplace(answer, end).second);
    end_ns[answer] = now_ns_;
  }

  std::map<std::size_t, std::int32_t> tokens;
  std::map<std::size_t, TimeNs> first_ns;
  std::map<std::size_t, TimeNs> end_ns;
  std::map<std::size_t, AnswerEnd> ends;
  bool is_gone = false;

 private:
  void take(std::size_t answer, std::int32_t more) {
    CHECK_FALSE(ends.contains(answer));
    tokens[answer] += more;
    first_ns.emplace(answer, now_ns_);
  }
  const TimeNs& now_ns_;
};

struct Served {
  explicit Served(const std::string& name, const std::vector<std::string>& set = {}) {
    ScenarioDocument document = read_scenario_document(name);
    for (const std::string& assignment : set) set_option(document.json, assignment);
    lengths = load_scenario(document, name, {});
    document.json = served_document(document.json);
    scenario = load_scenario(document, name, {});
    emulator.emplace(scenario, lengths, catalog, EmulatorOptions{.keeps_records = true});
  }
  // At each instant at which there is something to tell.
  void advance(TimeNs until_ns) {
    while (emulator->next_ns() <= until_ns) emulator->advance(now_ns = emulator->next_ns());
    emulator->advance(now_ns = until_ns);
  }
  void advance_to_the_end() {
    while (emulator->next_ns() != kNever) emulator->advance(now_ns = emulator->next_ns());
  }

  const Catalog catalog = Catalog::embedded();
  Scenario lengths;
  Scenario scenario;
  std::optional<Emulator> emulator;
  TimeNs now_ns = 0;
};

CompletionAsk asking(std::int32_t prompt, std::int32_t tokens) {
  CompletionAsk ask;
  ask.prompts = {std::vector<TokenId>(static_cast<std::size_t>(prompt), 40)};
  ask.max_tokens = tokens;
  ask.ignore_eos = true;
  return ask;
}

// Who asked for an answer, and its number there; by number of arrival.
using Asked = std::vector<std::pair<std::shared_ptr<Client>, std::size_t>>;

// Requests at random times; some with several answers, and some clients go.
RunResult serve_at_random(Served& served, Asked& asked) {
  RandomStream random(5, "emulator_test");
  TimeNs time_ns = 0;
  for (int i = 0; i < 120; ++i) {
    CompletionAsk ask = asking(static_cast<std::int32_t>(random.uniform_int(1, 900)),
                               static_cast<std::int32_t>(random.uniform_int(1, 80)));
    ask.n = static_cast<std::int32_t>(random.uniform_int(1, 3));
    ask.ignore_eos = i % 3 > 0;
    const auto client = std::make_shared<Client>(served.now_ns);
    for (std::size_t answer = 0; answer < ask.answers(); ++answer) {
      asked.emplace_back(client, answer);
    }
    const std::uint64_t number = served.emulator->ask(ask, *client, time_ns);
    CHECK(number == static_cast<std::uint64_t>(i));
    if (i % 11 == 0) {
      served.advance(time_ns += random.uniform_int(0, 300'000'000));
      served.emulator->drop(number, time_ns);
      client->is_gone = true;
    }
    served.advance(time_ns += random.uniform_int(0, 60'000'000));
  }
  served.advance_to_the_end();
  return served.emulator->finish();
}

RunResult replayed(const Served& served) {
  std::vector<Arrival> arrivals;
  for (const TraceRecord& row : served.emulator->trace()) {
    arrivals.push_back({.time_ns = row.time_ns,
                        .prompt_tokens = row.prompt_tokens,
                        .output_tokens = row.output_tokens,
                        .max_tokens = row.max_tokens,
                        .priority = row.priority,
                        .prefix = row.prefix,
                        .output_segment = row.output_segment});
    if (row.gives_up_ns >= 0) arrivals.back().deadline_ns = row.time_ns + row.gives_up_ns;
  }
  Workload workload;
  workload.source = std::make_unique<ListedArrivals>(arrivals);
  workload.facts.classes = {""};
  workload.account = [](WorkloadFacts&) {};
  return run(served.scenario, served.catalog, std::move(workload));
}

TEST_CASE("what clients are told is what a run of the trace gives", "[server]") {
  for (const char* name : {"demo", "llama-8b-4090-thrash", "fleet-disaggregated"}) {
    INFO(name);
    Served served(name);
    Asked asked;
    const RunResult found = serve_at_random(served, asked);
    const RunResult expected = replayed(served);
    CHECK(found.digest == expected.digest);
    CHECK(expected.summary.requests.cancelled > 0);
    for (const RequestRecord& record : found.recorder->records()) {
      const auto& [client, answer] = asked.at(record.index);
      if (client->is_gone && !client->ends.contains(answer)) continue;  // nobody was told
      REQUIRE(record.outcome == Outcome::finished);
      const TimeNs later_ns = found.cost.client_latency.of(record.prompt_tokens);
      CHECK(client->tokens.at(answer) == record.output_tokens);
      CHECK(client->first_ns.at(answer) == record.first_token_ns + later_ns);
      CHECK(client->end_ns.at(answer) == record.finish_ns + later_ns);
    }
  }
}

TEST_CASE("an answer is as long as asked for, or as the scenario's workload says", "[server]") {
  Served served("demo", {"workload.output={\"tokens\": 30}"});
  CompletionAsk open = asking(10, 50);
  open.ignore_eos = false;
  CompletionAsk cut = asking(10, 20);
  cut.ignore_eos = false;
  CompletionAsk lifted = open;
  lifted.min_tokens = 40;
  const std::vector<std::pair<CompletionAsk, AnswerEnd>> cases = {
      {asking(10, 50), {.finish_reason = "length"}},
      {open, {.finish_reason = "stop"}},
      {cut, {.finish_reason = "length"}},
      {lifted, {.finish_reason = "stop"}}};
  const std::vector<std::int32_t> expected = {50, 30, 20, 40};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Client own(served.now_ns);
    served.emulator->ask(cases[i].first, own, served.now_ns + 1);
    served.advance_to_the_end();
    CHECK(own.tokens.at(0) == expected[i]);
    CHECK(own.ends.at(0).finish_reason == cases[i].second.finish_reason);
  }
}

TEST_CASE("who is turned away is told so, and why", "[server]") {
  const CompletionAsk ask = asking(10, 10);
  Served limited("demo", {"fleet.replicas=1", "fleet.admission.policy=max_in_flight",
                          "fleet.admission.max_in_flight=1"});
  Client first(limited.now_ns);
  Client second(limited.now_ns);
  limited.emulator->ask(ask, first, 0);
  limited.emulator->ask(ask, second, 0);
  limited.advance_to_the_end();
  CHECK(first.ends.at(0).finish_reason == "length");
  CHECK(second.ends.at(0).status == 429);
  CHECK_FALSE(second.tokens.contains(0));
}

TEST_CASE("a crash breaks off what is being made", "[server]") {
  Served served("demo", {"fleet.replicas=1",
                         "fleet.faults.crashes=[{\"replica\": 0, \"at_s\": 0.1, \"down_s\": 5}]"});
  Client client(served.now_ns);
  served.emulator->ask(asking(10, 1000), client, 0);
  served.advance(200 * kNsPerMs);
  CHECK(client.tokens.at(0) > 1);
  CHECK(client.ends.at(0).status == 500);
  CHECK_FALSE(served.emulator->is_up(served.now_ns));
}

TEST_CASE("a page of metrics counts what was served", "[server]") {
  Served served("demo");
  Client client(served.now_ns);
  served.emulator->ask(asking(100, 20), client, 0);
  served.advance_to_the_end();
  served.emulator->ask(asking(100, 20), client, served.now_ns + 1);
  const std::string page = served.emulator->metrics_page(served.now_ns);
  const std::string labels = "{engine=\"0\",model_name=\"llama-3.1-8b\"";
  for (const char* line :
       {"prompt_tokens_total", "generation_tokens_total", "prefix_cache_queries_total"}) {
    CHECK(page.find(std::string("vllm:") + line + labels) != std::string::npos);
  }
  CHECK(page.find("vllm:generation_tokens_total" + labels + "} 20.0") != std::string::npos);
  CHECK(page.find("vllm:request_success_total" + labels + ",finished_reason=\"length\"} 1.0") !=
        std::string::npos);
  CHECK(page.find("vllm:inter_token_latency_seconds_count" + labels + "} 19.0") !=
        std::string::npos);
  CHECK(page.find("# TYPE vllm:time_to_first_token_seconds histogram") != std::string::npos);
}

}  // namespace
}  // namespace headroom::emulator_test
