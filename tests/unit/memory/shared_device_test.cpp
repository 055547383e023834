#include "sim/memory/shared_device.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/scenario_file.hpp"

namespace headroom::shared_device_test {
namespace {

SharingEngine engine(const std::string& name, const std::string& kind, const std::string& model,
                     std::vector<std::string> set = {}, std::vector<std::string> devices = {"0"},
                     const std::string& device = "h100-sxm") {
  ScenarioFlags flags;
  flags.set = {"model=" + model, "device=" + device, "engine.name=" + kind};
  flags.set.insert(flags.set.end(), set.begin(), set.end());
  return {name, load_scenario({{name, Json::object(), {}}, {}}, name, flags), std::move(devices)};
}

SharedStarts together(const std::vector<SharingEngine>& engines) {
  return start_together(engines, Catalog::embedded());
}

ByteCount kv_of(const SharedStart& start) { return start.system.budget.kv_pool_bytes; }

const std::string kSmall = "qwen2.5-7b";
const std::string kShort = "engine.max_model_len=8192";
const std::string kHalf = "engine.gpu_memory_utilization=0.4";

}  // namespace

TEST_CASE("an engine that checks free memory against a share of the total fails beside another") {
  const SharedStarts starts = together({engine("first", "vllm", kSmall, {kShort}),
                                        engine("second", "vllm", kSmall, {kShort, kHalf})});
  REQUIRE(starts.failed == std::size_t{1});
  CHECK(starts.starts[0].verdict == StartVerdict::starts);
  const auto& failure = starts.starts[1].system.budget.failure;
  REQUIRE(failure);
  CHECK(failure->stage == StartupStage::free_memory_check);
  CHECK(starts.starts[1].taken_bytes == starts.starts[0].held_bytes);
  CHECK(starts.starts[1].held_bytes == 0);
  // One of two remedies is a smaller share of the first; with it both start.
  const auto less = std::ranges::find(starts.changes, "first", &SharedChange::name);
  REQUIRE(less != starts.changes.end());
  CHECK(less->fix.option == "engine.gpu_memory_utilization");
  CHECK_FALSE(together({engine("first", "vllm", kSmall,
                               {kShort, "engine.gpu_memory_utilization=" + less->fix.to}),
                        engine("second", "vllm", kSmall, {kShort, kHalf})})
                  .failed);
}

TEST_CASE("a budget that is known already is not computed again") {
  const auto budget_of = [](const SharingEngine& one) {
    return budget_system(one.scenario, Catalog::embedded());
  };
  SharingEngine first = engine("first", "vllm", kSmall, {kShort, kHalf});
  const SharingEngine second = engine("second", "vllm", kSmall, {kShort, kHalf});
  const SharedStarts anew = together({first, second});
  first.alone = budget_of(first);
  const SharedStarts known = together({first, second});
  CHECK(known.starts[0].held_bytes == anew.starts[0].held_bytes);
  CHECK(kv_of(known.starts[1]) == kv_of(anew.starts[1]));
  // It is taken as it is, right or wrong.
  first.alone = budget_of(engine("other", "vllm", kSmall, {kShort}));
  CHECK(kv_of(together({first}).starts[0]) > kv_of(anew.starts[0]));
}

TEST_CASE("a share of the total keeps its pool beside others, one of free memory does not") {
  const SharingEngine other = engine("other", "vllm", kSmall, {kShort, kHalf});
  const auto alone = [&](const SharingEngine& one) { return together({one}).starts[0]; };
  const auto beside = [&](const SharingEngine& one) { return together({other, one}).starts[1]; };
  const SharingEngine of_total = engine("total", "vllm", kSmall, {kShort, kHalf});
  CHECK(kv_of(beside(of_total)) == kv_of(alone(of_total)));

  // 0.5 of what is free at the start, of which the weights are a part: of each GiB that the other
  // holds half is missing in the pool.
  const SharingEngine of_start =
      engine("start", "sglang", kSmall, {"engine.mem_fraction_static=0.5"});
  const ByteCount held = together({other}).starts[0].held_bytes;
  const ByteCount lost = kv_of(alone(of_start)) - kv_of(beside(of_start));
  CHECK(lost == Approx(static_cast<double>(held) / 2).margin(4e6));

  // 0.5 of what is free after the load: likewise, but the weights come first.
  const SharingEngine of_rest = engine(
      "rest", "trtllm", kSmall, {"engine.free_gpu_memory_fraction=0.5", "engine.max_seq_len=8192"});
  const ByteCount left = kv_of(alone(of_rest)) - kv_of(beside(of_rest));
  CHECK(left == Approx(static_cast<double>(held) / 2).margin(8e6));
}

TEST_CASE("an engine that takes what it needs leaves layers on the host") {
  const SharedStarts starts =
      together({engine("first", "vllm", kSmall, {kShort, "engine.gpu_memory_utilization=0.8"},
                       {"0"}, "rtx4090"),
                engine("second", "llamacpp", kSmall,
                       {"engine.quantization=q8_0", "engine.ctx_size=8192"}, {"0"}, "rtx4090")});
  CHECK_FALSE(starts.failed);
  const std::vector<std::string>& notes = starts.starts[1].system.budget.notes;
  CHECK(std::ranges::any_of(notes, [](const std::string& note) {
    return note.find("layers on the device") != std::string::npos;
  }));
}

TEST_CASE("changes with which all start come first, the others say whom they stop") {
  // The first asks for a length that its half does not hold; the second needs the other half.
  const SharedStarts starts = together(
      {engine("first", "vllm", "llama-3.1-8b",
              {"engine.max_model_len=131072", "engine.gpu_memory_utilization=0.5"}, {"0"}, "l40s"),
       engine("second", "vllm", kSmall, {kShort, "engine.gpu_memory_utilization=0.45"}, {"0"},
              "l40s")});
  REQUIRE(starts.failed == 0);
  REQUIRE_FALSE(starts.changes.empty());
  CHECK(starts.changes.front().stops.empty());
  const auto share = std::ranges::find_if(starts.changes, [](const SharedChange& change) {
    return change.fix.pointer == "/engine/gpu_memory_utilization";
  });
  REQUIRE(share != starts.changes.end());
  CHECK(share->stops == "second");
  CHECK(std::is_partitioned(starts.changes.begin(), starts.changes.end(),
                            [](const SharedChange& one) { return one.stops.empty(); }));
}

TEST_CASE("engines on different devices do not meet") {
  const SharedStarts starts = together({engine("first", "vllm", kSmall, {kShort}, {"0"}),
                                        engine("second", "vllm", kSmall, {kShort}, {"1"})});
  CHECK_FALSE(starts.failed);
  CHECK(starts.starts[1].taken_bytes == 0);
  // Of all devices an engine takes the first: they meet.
  CHECK(together({engine("first", "vllm", kSmall, {kShort}, {}),
                  engine("second", "vllm", kSmall, {kShort}, {})})
            .failed);
}

TEST_CASE("on shared memory others are processes of the host") {
  const std::vector<std::string> part{kShort, "engine.gpu_memory_utilization=0.3"};
  const SharedStarts starts = together({engine("first", "vllm", kSmall, part, {}, "gb10"),
                                        engine("second", "vllm", kSmall, part, {}, "gb10")});
  const SharedStart& second = starts.starts[1];
  CHECK(second.taken_bytes > 0);
  const ByteCount others = second.system.budget.terms[MemoryPurpose::others] -
                           starts.starts[0].system.budget.terms[MemoryPurpose::others];
  CHECK(others == second.taken_bytes);
}

TEST_CASE("on unified memory what the others hold counts once when a change is sought") {
  const auto of_gb10 = [](const std::string& name, const std::string& share) {
    return engine(name, "vllm", kSmall, {kShort, "engine.gpu_memory_utilization=" + share}, {},
                  "gb10");
  };
  const SharedStarts starts = together({of_gb10("a", "0.4"), of_gb10("b", "0.9")});
  REQUIRE(starts.failed == std::size_t{1});
  const auto less = std::ranges::find(starts.changes, "b", &SharedChange::name);
  REQUIRE(less != starts.changes.end());
  CHECK(less->fix.option == "engine.gpu_memory_utilization");
  CHECK_FALSE(together({of_gb10("a", "0.4"), of_gb10("b", less->fix.to)}).failed);
  const double found = less->fix.value.get<double>();
  CHECK(together({of_gb10("a", "0.4"), of_gb10("b", std::to_string(found + 0.02))}).failed);
}

TEST_CASE("an engine that does not start is named before one that may not") {
  const SharingEngine tight =
      engine("tight", "vllm", kSmall,
             {"engine.max_model_len=32768", "engine.gpu_memory_utilization=0.242"});
  const SharingEngine fails = engine("fails", "vllm", kSmall, {kShort});
  const SharedStarts starts = together({tight, fails});
  CHECK(starts.starts[0].verdict == StartVerdict::may_not_start);
  CHECK(starts.starts[1].verdict == StartVerdict::does_not_start);
  CHECK(starts.failed == std::size_t{1});
}

TEST_CASE("an engine that spreads over more devices than its service sees is refused") {
  const SharingEngine wide =
      engine("wide", "vllm", kSmall, {kShort, "engine.tensor_parallel_size=2"}, {"0"});
  CHECK_THROWS_WITH(together({wide}), Catch::Contains("wide") && Catch::Contains("2 devices"));
}

}  // namespace headroom::shared_device_test
