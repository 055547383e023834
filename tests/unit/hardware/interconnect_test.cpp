#include "hardware/cost/interconnect.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "hardware/catalog.hpp"
#include "hardware/cost/expert_share.hpp"
#include "hardware/cost/roofline.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::interconnect_test {
namespace {

// NVLink at 450 GB/s per direction, 3 us + 2 us per doubling; ports of 50 GB/s and 10 us.
Calibration links() {
  Calibration row = spec_calibration(EngineMode::async);
  row.nvlink_latency_ns = 3000;
  row.nvlink_latency_log2_ns = 2000;
  return row;
}

struct Sent {
  double step_us;
  double token_ns;
  double all_token_ns;
};

Sent in_time(const CommunicationTicks& ticks) {
  const auto per_ns = static_cast<double>(kTicksPerNs);
  return {static_cast<double>(ticks.step) / per_ns / 1e3, static_cast<double>(ticks.token) / per_ns,
          static_cast<double>(ticks.all_token) / per_ns};
}

Sent sent(const char* model, const ParallelOptions& parallel) {
  const Catalog catalog = Catalog::embedded();
  return in_time(
      communication_ticks(catalog.model(model), catalog.device("h100-sxm"), links(), parallel));
}

}  // namespace

TEST_CASE("an all-reduce over two nodes adds each device's share over its port") {
  // Llama-3.1-70B: 160 all-reduces of 8192 x 2 bytes. TP16 on nodes of 8: 3 + 2 * 3 us inside,
  // 10 us between; 2 * 7/8 / 450 GB/s inside, 2 * 1/2 of an eighth / 50 GB/s between.
  ParallelOptions parallel;
  parallel.sharding.tensor = 16;
  const Sent two = sent("llama-3.1-70b", parallel);
  CHECK(two.step_us == Approx(160 * 19.0));
  CHECK(two.token_ns == Approx(160 * 16384 * (1.75 / 450 + 1.0 / 8 / 50)).epsilon(1e-6));
  parallel.nodes.devices_per_node = 16;  // one node: 3 + 2 * 4 us
  const Sent one = sent("llama-3.1-70b", parallel);
  CHECK(one.step_us == Approx(160 * 11.0));
  CHECK(one.token_ns == Approx(160 * 16384 * (2 * 15.0 / 16 / 450)).epsilon(1e-6));
}

TEST_CASE("without a switch a device has the links to its group alone") {
  // MI300X: 448 GB/s over seven links; 2 x 1/2 over one of them, 2 x 3/4 over three, 2 x 7/8 over
  // all.
  const Catalog catalog = Catalog::embedded();
  const auto token_ns = [&](std::int64_t tensor) {
    ParallelOptions parallel;
    parallel.sharding.tensor = tensor;
    return in_time(communication_ticks(catalog.model("llama-3.1-70b"), catalog.device("mi300x"),
                                       links(), parallel))
        .token_ns;
  };
  CHECK(token_ns(2) == Approx(160 * 16384 * 1.0 / 64).epsilon(1e-6));
  CHECK(token_ns(4) == Approx(160 * 16384 * 1.5 / 192).epsilon(1e-6));
  CHECK(token_ns(8) == Approx(160 * 16384 * 1.75 / 448).epsilon(1e-6));
}

TEST_CASE("data ranks gather and scatter the tokens of all, once each per layer with experts") {
  // Qwen3-30B-A3B: 48 layers, all with experts, 2048 wide. Two collectives of 3 + 2 * 2 us; of each
  // token, whosever it is, 2 * 3/4 of 4096 bytes over 450 GB/s.
  ParallelOptions parallel;
  parallel.sharding = {.tensor = 1, .pipeline = 1, .data = 4, .expert_parallel = true};
  const Sent gathered = sent("qwen3-30b-a3b", parallel);
  CHECK(gathered.step_us == Approx(48 * 2 * 7.0));
  CHECK(gathered.token_ns == 0);
  CHECK(gathered.all_token_ns == Approx(48 * 4096 * 1.5 / 450).epsilon(1e-5));
  // So they do where every rank has a part of each expert.
  parallel.sharding.expert_parallel = false;
  CHECK(sent("qwen3-30b-a3b", parallel).all_token_ns == gathered.all_token_ns);
  parallel.sharding.expert_parallel = true;
  // A token's 8 experts lie on 3 (1 - (3/4)^8) = 2.7 of the other ranks: 2 bytes there, 2 back.
  parallel.all2all = All2All::deepep;
  const Sent routed = sent("qwen3-30b-a3b", parallel);
  const double copies = 3 * (1 - 0.75 * 0.75 * 0.75 * 0.75 * 0.75 * 0.75 * 0.75 * 0.75);
  CHECK(routed.all_token_ns == 0);
  CHECK(routed.token_ns == Approx(48 * copies * 2048 * 4 / 450).epsilon(1e-5));
}

TEST_CASE("stages hand on over the port where the next one is on another node") {
  // Llama-3.1-70B, TP4 PP3: stages at devices 0-3, 4-7, 8-11; the second hand-over leaves the node.
  // Two ranks each: 3 + 2 us over NVLink, 3 + 0 + 10 us over ports; 2 x 16384 / 4 bytes.
  const Catalog catalog = Catalog::embedded();
  ParallelOptions parallel;
  parallel.sharding = {.tensor = 4, .pipeline = 3};
  const Sent handed = in_time(hand_over_ticks(catalog.model("llama-3.1-70b"),
                                              catalog.device("h100-sxm"), links(), parallel));
  CHECK(handed.step_us == Approx(5.0 + 13.0));
  CHECK(handed.token_ns == Approx(8192 / 450.0 + 8192 / 50.0).epsilon(1e-5));
}

TEST_CASE("one rank sends nothing, and ranks without a link are refused") {
  const Catalog catalog = Catalog::embedded();
  CHECK(sent("llama-3.1-8b", {}).step_us == 0);
  ParallelOptions parallel;
  parallel.sharding.tensor = 2;
  DeviceSpec alone = catalog.device("h100-sxm");
  alone.nvlink_bytes_per_s.reset();
  alone.pcie_bytes_per_s.reset();
  CHECK_THROWS_AS(communication_ticks(catalog.model("llama-3.1-8b"), alone,
                                      spec_calibration(EngineMode::async), parallel),
                  ConfigError);
}

TEST_CASE("the largest of n normal variables") {
  CHECK(largest_of_normals(1) == 0);
  CHECK(largest_of_normals(2) == Approx(0.56419).epsilon(1e-4));  // 1 / sqrt(pi)
  CHECK(largest_of_normals(8) == Approx(1.42360).epsilon(1e-4));
  CHECK(largest_of_normals(6) > largest_of_normals(4));
  CHECK(largest_of_normals(1 << 20) > largest_of_normals(2048));
}

TEST_CASE("whole experts on a rank cost what its busiest one is asked for") {
  // Qwen3-30B-A3B over 4 ranks of an H100, data sheet: each draws 8/4 = 2 experts per token of all
  // ranks. With 1000 tokens: 2000 draws, the busiest 2000 + 1.0294 sqrt(2000) = 2046.
  const Catalog catalog = Catalog::embedded();
  const ModelSpec model = catalog.model("qwen3-30b-a3b");
  const auto compute_ms = [&](bool whole, double load_factor) {
    RooflineOptions options;
    options.parallel.sharding.tensor = 4;
    options.parallel.sharding.expert_parallel = whole;
    options.parallel.expert_load_factor = load_factor;
    Calibration sheet = spec_calibration(EngineMode::async);
    sheet.shape = RooflineShape::sum;
    StepShape shape;
    shape.chunk_rows = shape.sampled_rows = 1;
    shape.chunk_tokens = shape.chunk_context = 1000;
    StepPrice price;
    RooflineCost(model, catalog.device("h100-sxm"), sheet, options).price(shape, price);
    return static_cast<double>(price.base_terms[CostTerm::linear_memory] +
                               price.base_terms[CostTerm::linear_compute]) /
           1048576e6;
  };
  // 48 layers, 8 experts of 3 x 2048 x 768 for each of 1000 tokens, over 4 ranks.
  const double experts_ms = 2.0 * 48 * 8 * 3 * 2048 * 768 * 1000 / 4 / 989.4e12 * 1e3;
  const double even = compute_ms(false, 1);
  CHECK(compute_ms(true, 1) - even ==
        Approx(experts_ms * 1.0294 / std::sqrt(2000.0)).epsilon(1e-3));
  CHECK(compute_ms(true, 1.5) - compute_ms(true, 1) ==
        Approx(0.5 * experts_ms * (1 + 1.0294 / std::sqrt(2000.0))).epsilon(1e-3));
}

}  // namespace headroom::interconnect_test
