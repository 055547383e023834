#include "sim/report/files/observation_files.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace headroom::observation_files_test {
namespace {

Json named(const std::string& told, const std::string& metrics_of, Json scenario) {
  Observation seen;
  seen.server.version = told;
  seen.engine = metrics_of;
  name_release(seen, scenario);
  return scenario;
}

}  // namespace

TEST_CASE("A measured run is replayed as the release that the server told") {
  const Json vllm = {{"model", "llama-3.1-8b"}, {"engine", {{"name", "vllm"}}}};
  CHECK(named("0.10.1.1+cu128", "vllm", vllm)["engine"]["version"] == "0.10.1.1");
  CHECK(named("0.24.0", "vllm", vllm)["engine"]["version"] == "0.24.0");
}

TEST_CASE("A release that the user named, or that may be another engine's, stays as it is") {
  const Json vllm = {{"model", "llama-3.1-8b"}, {"engine", {{"name", "vllm"}}}};
  Json older = vllm;
  older["engine"]["version"] = "0.19";
  CHECK(named("0.24.0", "vllm", older) == older);
  CHECK(named("0.24.0", "sglang", vllm) == vllm);
  CHECK(named("", "vllm", vllm) == vllm);
  CHECK(named("dev", "vllm", vllm) == vllm);
  const Json traffic = {{"workload", {{"prompt", 100}}}};
  CHECK(named("0.24.0", "vllm", traffic) == traffic);
}

}  // namespace headroom::observation_files_test
