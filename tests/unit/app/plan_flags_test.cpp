// `headroom fleet plan` by flags: the plan that they describe.

#include "sim/app/plan_flags.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/study/plan/plan_candidates.hpp"
#include "tests/support/about.hpp"

namespace headroom::plan_flags_test {
namespace {

PlanFlags chat_flags() {
  PlanFlags flags;
  flags.models = {"qwen3-14b,llama-3.1-8b"};
  flags.devices = {"8xl40s,h100-sxm"};
  flags.prices = {"8,2.5"};
  flags.traffic.rate = 200;
  flags.traffic.prompt = "900";
  flags.traffic.output = "150";
  flags.targets = {"p99_ttft=1s,p99_tpot=50ms"};
  return flags;
}

DescribedPlan described(const PlanFlags& flags) {
  return plan_of_flags(flags, Catalog::embedded());
}

// What reading the plan of `flags` complains about.
test::About read_error(const PlanFlags& flags, const std::vector<std::string>& set = {}) {
  return test::about([&] {
    JsonDocument document = described(flags).document;
    return plan_candidates(set_fleet_plan(document, set), Catalog::embedded());
  });
}

Json workload_of(const PlanFlags& flags) {
  return described(flags).document.root["traffic"]["scenario"]["workload"];
}

}  // namespace

TEST_CASE("flags describe the plan that a file would") {
  const DescribedPlan plan = described(chat_flags());
  CHECK(plan.assumed.empty());
  CHECK(plan.document.root == Json::parse(R"({
    "name": "fleet",
    "traffic": {"scenario": {"workload": {
      "arrivals": {"request_rate": 200}, "duration_s": 300,
      "prompt": {"tokens": 900}, "output": {"tokens": 150},
      "max_tokens": {"rule": "times_output", "times_output": 1}}}},
    "slo": {"p99_ttft_ms": 1000, "p99_tpot_ms": 50},
    "models": ["qwen3-14b", "llama-3.1-8b"],
    "instances": [
      {"name": "8xl40s", "device": "l40s", "gpus": 8, "price_per_hour": 8,
       "price_source": "--price"},
      {"name": "h100-sxm", "device": "h100-sxm", "gpus": 1, "price_per_hour": 2.5,
       "price_source": "--price"}],
    "engines": [{"name": "vllm"}],
    "tensor_parallel_size": [1, 2, 4, 8]})"));
}

TEST_CASE("traffic by flags lasts for enough requests, and for several of the answers") {
  PlanFlags flags = chat_flags();
  CHECK(workload_of(flags)["duration_s"] == 300);
  flags.traffic.rate = 0.5;  // 2,000 requests
  CHECK(workload_of(flags)["duration_s"] == 4000);
  flags.traffic.rate = 200;
  flags.traffic.output = "8000";  // 0.1 s a token
  CHECK(workload_of(flags)["duration_s"] == 800);
}

TEST_CASE("a plan by flags says what it assumes") {
  PlanFlags flags = chat_flags();
  flags.traffic.prompt.clear();
  flags.targets = {"p99_ttft=800"};
  CHECK(described(flags).assumed ==
        std::vector<std::string>{"requests of 1024 tokens in and 150 out (--in, --out)",
                                 "p99_ttft=800 is taken as 800 ms; write 800s for seconds"});
}

TEST_CASE("the engine of a plan by flags is the one that the device has a back end for") {
  PlanFlags flags = chat_flags();
  flags.devices = {"m3-ultra-256", "2xl40s"};
  const DescribedPlan plan = described(flags);
  CHECK(plan.document.root["engines"] ==
        Json::parse(R"([{"name": "llamacpp"}, {"name": "vllm"}])"));
  CHECK(plan.document.root["tensor_parallel_size"] == Json::parse("[1, 2]"));
  CHECK(plan.assumed.size() == 1);

  flags.engines = {"vLLM@0.19,sglang"};
  CHECK(described(flags).document.root["engines"] ==
        Json::parse(R"([{"name": "vllm", "version": "0.19"}, {"name": "sglang"}])"));
}

TEST_CASE("a plan by flags for models that make vectors is about prompts alone") {
  PlanFlags flags = chat_flags();
  flags.models = {"qwen3-embedding-8b"};
  flags.traffic.output.clear();
  CHECK(workload_of(flags)["output"] == Json{{"tokens", 1}});
  CHECK(described(flags).assumed.size() == 1);
  flags.traffic.output = "150";
  CHECK(test::about([&] { return described(flags); }).complaint.origin == "--out");
  flags.models = {"qwen3-embedding-8b,llama-3.1-8b"};
  CHECK(test::about([&] { return described(flags); }).complaint.origin == "--model");
}

TEST_CASE("a recorded trace takes the place of rate and lengths in a plan by flags") {
  PlanFlags flags = chat_flags();
  flags.traffic = {};
  flags.traffic.trace = "chat.csv";
  CHECK(workload_of(flags) == Json::parse(R"({"trace": {"file": "chat.csv"}})"));
  flags.traffic.prompt = "900";
  CHECK(test::about([&] { return described(flags); }) == test::conflict_at(""));
}

TEST_CASE("all flags that a plan lacks are named at once, prices with the user's devices") {
  PlanFlags flags;
  flags.devices = {"8xl40s,h100"};
  const test::About about = test::about([&] { return described(flags); });
  CHECK(about == test::missing_at(""));
  for (const char* text : {"--model", "--rate", "--slo", "--price PRICE_OF_8xl40s,PRICE_OF_h100"}) {
    CHECK_THAT(about.text, Catch::Contains(text));
  }
  CHECK_THAT(about.text, !Catch::Contains("--device"));
}

TEST_CASE("a wrong value of a plan by flags is told with its flag") {
  const auto origin = [](const PlanFlags& flags, const std::vector<std::string>& set = {}) {
    return read_error(flags, set).complaint.origin;
  };
  PlanFlags flags = chat_flags();
  CHECK(read_error(flags) == test::no_error());
  CHECK(origin(flags, {"failuers=1"}) == "--set failuers=1");
  flags.models = {"lama-3.1-8b"};
  CHECK(origin(flags) == "--model lama-3.1-8b");
  flags = chat_flags();
  flags.devices = {"8xl40s,h101"};
  CHECK(origin(flags) == "--device h101");
  flags.devices = {"8xl40s,0xl40s"};
  CHECK(origin(flags) == "--device 0xl40s");
  flags.devices = {"8xl40s,8xl40s"};
  CHECK(read_error(flags) == test::conflict_at("/instances/1/name"));
  flags = chat_flags();
  flags.prices = {"8,free"};
  CHECK(origin(flags) == "--price free");
  flags.prices = {"8"};
  CHECK(origin(flags) == "--price");
  flags = chat_flags();
  flags.failures = -1;
  CHECK(origin(flags) == "--failures -1");
}

}  // namespace headroom::plan_flags_test
