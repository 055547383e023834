// VERIFICATION V5: whole summaries and digests of six scenarios, frozen. A change of results shows
// up here as a difference to read; `cmake --build --preset release --target refresh_goldens` writes
// the new files and shows what changed. The contracts of V0 run inside every one of these runs, so
// a golden file cannot freeze a lost request.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/report/files/result_files.hpp"
#include "sim/report/json/result_json.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct Golden {
  std::string name;
  std::string scenario;
  std::vector<std::string> set;
};

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> kGoldens{
      {"chat-vllm", "demo", {}},
      {"chat-vllm-sync-kv-bound",
       "demo",
       {"engine.async_scheduling=false", "engine.num_gpu_blocks_override=2000",
        "workload.num_requests=2000"}},
      {"chat-orca",
       "demo",
       {"engine={\"name\":\"orca\",\"max_model_len\":16384}", "workload.num_requests=2000"}},
      {"chat-static",
       "demo",
       {"engine={\"name\":\"static\",\"batch_wait_ms\":200,\"max_model_len\":16384}",
        "workload.num_requests=1000", "workload.arrivals.request_rate=1"}},
      {"llama-70b-does-not-fit", "llama-70b-does-not-fit", {}},
      {"llama-8b-4090-thrash", "llama-8b-4090-thrash", {}},
  };
  return kGoldens;
}

std::string text_of(const Golden& golden) {
  ScenarioFlags flags;
  flags.set = golden.set;
  const RunResult result = run(load_scenario(golden.scenario, flags), Catalog::embedded());
  return summary_json(result, "golden") + "digest " + result.digest + "\n";
}

std::string path_of(const Golden& golden) {
  return fmt::format("{}/tests/golden/expected/{}.txt", HEADROOM_SOURCE_DIR, golden.name);
}

TEST_CASE("summaries and digests are those of the golden files") {
  const bool refresh = std::getenv("HEADROOM_REFRESH_GOLDENS") != nullptr;
  for (const Golden& golden : goldens()) {
    const std::string text = text_of(golden);
    if (refresh) {
      std::ofstream(path_of(golden), std::ios::binary) << text;
      continue;
    }
    std::ifstream file(path_of(golden), std::ios::binary);
    std::stringstream expected;
    expected << file.rdbuf();
    CAPTURE(golden.name);
    CHECK(text == expected.str());
  }
}

TEST_CASE("the golden summary changes with the seed") {
  Golden other = goldens().front();
  other.set = {"seed=2", "workload.num_requests=500"};
  Golden same = goldens().front();
  same.set = {"workload.num_requests=500"};
  CHECK(text_of(other) != text_of(same));
}

}  // namespace
}  // namespace headroom
