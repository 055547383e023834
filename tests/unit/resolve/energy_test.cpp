// Power of devices, and the energy of runs.

#include "sim/resolve/energy.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/scenario/options.hpp"

namespace headroom::energy_test {

namespace {

// One request of 100 prompt and 11 output tokens: a step of 1 ms + 100 x 10 us, and ten decode
// steps of 1 ms + 100 us. Arithmetic bounds 1 ms of that (the prompt), memory 1 + 10 x 1.1 = 12 ms.
RunResult affine_run(const std::string& more) {
  const std::string text = R"({"model": "llama-3.1-8b",
      "device": {"name": "h100-sxm",
                 "power": {"idle_w": 100, "memory_bound_w": 300, "compute_bound_w": 500}},
      "engine": {"name": "vllm", "max_model_len": 4096, "async_scheduling": false)" +
                           more + R"(,
      "cost": {"level": "affine",
               "affine": {"step_us": 1000, "prompt_token_us": 10, "decode_token_us": 100}},
      "workload": {"arrivals": {"process": "constant", "request_rate": 10}, "num_requests": 1,
                   "prompt": {"tokens": 100}, "output": {"tokens": 11}}})";
  return run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
}

}  // namespace

TEST_CASE("power that no source gives is a share of the TDP") {
  DeviceSpec device;
  CHECK_FALSE(power_draw(device, {}));
  device.power.tdp_w = 400;
  const auto assumed = power_draw(device, {});
  REQUIRE(assumed);
  CHECK(assumed->idle_w == Approx(48));
  CHECK(assumed->memory_bound_w == Approx(280));
  CHECK(assumed->compute_bound_w == Approx(380));
  CHECK(assumed->assumed);
  CHECK(assumed->source ==
        "idle assumed: 0.12 of TDP; memory-bound assumed: 0.7 of TDP; "
        "compute-bound assumed: 0.95 of TDP");
}

TEST_CASE("the scenario's power comes before the catalog's, and that before the TDP's share") {
  DeviceSpec device;
  device.power.tdp_w = 400;
  device.power.idle_w = 60;
  device.power.memory_bound_w = 300;
  device.power.source = "a paper";
  PowerSection given;
  given.memory_bound_w = 250;
  given.compute_bound_w = 390;
  const auto draw = power_draw(device, given);
  REQUIRE(draw);
  CHECK(draw->idle_w == 60);
  CHECK(draw->memory_bound_w == 250);
  CHECK(draw->compute_bound_w == 390);
  CHECK_FALSE(draw->assumed);
  CHECK(draw->source == "idle a paper; memory-bound scenario; compute-bound scenario");
}

TEST_CASE("energy is power by cost term, and idle power for the rest of the time") {
  const RunResult result = affine_run("}");
  const double end_s = static_cast<double>(result.totals.end_ns) / 1e9;
  const auto use = energy_of(result);
  REQUIRE(use);
  CHECK(use->devices == 1);
  CHECK(use->joules == Approx(100 * (end_s - 0.013) + 300 * 0.012 + 500 * 0.001));
  CHECK(use->mean_w() == Approx(use->joules / end_s));
  CHECK_FALSE(use->assumed);
}

TEST_CASE("every device of a replica draws, and every replica of a fleet") {
  const RunResult alone = affine_run("}");
  const double end_s = static_cast<double>(alone.totals.end_ns) / 1e9;
  const RunResult two = affine_run(R"(, "tensor_parallel_size": 2})");
  REQUIRE(energy_of(two));
  CHECK(energy_of(two)->devices == 2);
  CHECK(energy_of(two)->joules == Approx(2 * energy_of(alone)->joules));
  const RunResult fleet = affine_run(R"(}, "fleet": {"replicas": 3})");
  REQUIRE(energy_of(fleet));
  CHECK(energy_of(fleet)->devices == 3);
  CHECK(energy_of(fleet)->joules == Approx(energy_of(alone)->joules + 2 * 100 * end_s));
}

TEST_CASE("replicas that come and go draw for the time that they are there") {
  const std::string text = R"({"model": "llama-3.1-8b",
      "device": {"name": "h100-sxm",
                 "power": {"idle_w": 100, "memory_bound_w": 100, "compute_bound_w": 100}},
      "engine": {"name": "vllm", "max_model_len": 4096, "max_num_seqs": 64},
      "workload": {"arrivals": {"process": "constant", "request_rate": 40}, "num_requests": 800,
                   "prompt": {"tokens": 200}, "output": {"tokens": 50}},
      "fleet": {"autoscaling": [{"metric": "in_flight", "interval_s": 5, "min_replicas": 1,
                                 "max_replicas": 4, "target": 5, "start_s": 1}]}})";
  const RunResult result = run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
  REQUIRE(result.totals.lifecycle);
  double seconds = 0;
  for (const TimeNs time_ns : result.totals.lifecycle->exists_ns) {
    seconds += static_cast<double>(time_ns) / 1e9;
  }
  REQUIRE(result.totals.lifecycle->most_at_once.front() > 1);
  const auto use = energy_of(result);
  REQUIRE(use);
  CHECK(use->joules == Approx(100 * seconds));
  CHECK(use->devices == result.totals.lifecycle->most_at_once.front());
}

}  // namespace headroom::energy_test
