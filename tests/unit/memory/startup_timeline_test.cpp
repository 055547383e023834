#include "sim/memory/startup_timeline.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <string>

#include "sim/engines/engines.hpp"
#include "sim/memory/what_if.hpp"

namespace headroom::startup_timeline_test {
namespace {

Scenario scenario_of(const std::string& engine, const std::string& model,
                     const std::string& device) {
  Scenario s;
  s.file = "test";
  s.model = model;
  s.device.name = device;
  s.engine.name = engine;
  return s;
}

StartupTimeline timeline_of(const Scenario& scenario) {
  return startup_timeline(budget_system(scenario, Catalog::embedded()));
}

}  // namespace

TEST_CASE("the moments of every engine's start add up to its terms") {
  const Catalog catalog = Catalog::embedded();
  for (const Engine* engine : engines()) {
    for (const char* device : {"h100-sxm", "gb10"}) {
      CAPTURE(engine->name, device);
      const BudgetedSystem system =
          budget_system(scenario_of(std::string(engine->name), "llama-3.1-8b", device), catalog);
      if (system.budget.failure) continue;
      const StartupTimeline line = startup_timeline(system);
      REQUIRE_FALSE(line.moments.empty());
      CHECK_FALSE(line.fails);
      std::array<ByteCount, kMemoryPurposeCount> taken{};
      ByteCount held = 0;
      for (const StartupMoment& moment : line.moments) {
        taken.at(static_cast<std::size_t>(moment.purpose.value())) += moment.bytes;
        held += moment.bytes;
        CHECK(moment.held_bytes == held);
        CHECK(held + moment.cached_bytes.value_or(0) <= line.capacity_bytes);
      }
      taken.at(static_cast<std::size_t>(MemoryPurpose::margin)) = line.capacity_bytes - held;
      CHECK(taken == system.budget.terms.bytes);
    }
  }
}

TEST_CASE("engines take their memory in their own order") {
  const auto place = [](const StartupTimeline& line, MemoryPurpose purpose) {
    for (std::size_t i = 0; i < line.moments.size(); ++i) {
      if (line.moments[i].purpose == purpose) return i;
    }
    return line.moments.size();
  };
  // vLLM profiles before it sizes the pool; SGLang sizes it by what the weights leave.
  const StartupTimeline vllm = timeline_of(scenario_of("vllm", "llama-3.1-8b", "h100-sxm"));
  CHECK(place(vllm, MemoryPurpose::weights) < place(vllm, MemoryPurpose::activations));
  CHECK(place(vllm, MemoryPurpose::activations) < place(vllm, MemoryPurpose::kv_pool));
  CHECK(place(vllm, MemoryPurpose::kv_pool) < place(vllm, MemoryPurpose::graphs));
  const StartupTimeline sglang = timeline_of(scenario_of("sglang", "llama-3.1-8b", "h100-sxm"));
  CHECK(place(sglang, MemoryPurpose::kv_pool) < place(sglang, MemoryPurpose::graphs));
  CHECK(place(sglang, MemoryPurpose::graphs) < place(sglang, MemoryPurpose::activations));
}

TEST_CASE("a start that fails ends with what was wanted") {
  const StartupTimeline line = timeline_of(scenario_of("vllm", "llama-3.1-70b", "h100-sxm"));
  REQUIRE(line.fails);
  const StartupMoment& last = line.moments.back();
  CHECK_FALSE(last.purpose.has_value());
  CHECK(last.stage == StartupStage::weights);
  CHECK(last.bytes > line.capacity_bytes - last.held_bytes);
}

TEST_CASE("a pool in the user's size is the pool of the timeline") {
  Scenario scenario = scenario_of("orca", "llama-3.1-8b", "h100-sxm");
  scenario.engine.max_model_len = 4096;
  scenario.engine.kv_cache_memory_bytes = std::int64_t{4} << 30;
  const StartupTimeline line = timeline_of(scenario);
  REQUIRE(line.moments.back().purpose == MemoryPurpose::kv_pool);
  CHECK(line.moments.back().bytes <= std::int64_t{4} << 30);
}

TEST_CASE("on shared memory the files that are read stand beside what is held") {
  Scenario scenario = scenario_of("vllm", "gpt-oss-120b", "gb10");
  const StartupTimeline line = timeline_of(scenario);
  REQUIRE_FALSE(line.fails);
  const StartupMoment& first = line.moments.front();
  CHECK(first.cached_bytes == 0);  // before the weights are read
  // 61 GiB of files, and no more than is free.
  const StartupMoment& last = line.moments.back();
  CHECK(last.cached_bytes == line.capacity_bytes - last.held_bytes);
  CHECK_FALSE(timeline_of(scenario_of("vllm", "llama-3.1-8b", "h100-sxm"))
                  .moments.front()
                  .cached_bytes.has_value());
}

}  // namespace headroom::startup_timeline_test
