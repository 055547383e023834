// A scenario's second tier of KV: where its bytes come from, and what it is worth.

#include "sim/resolve/kv_tier.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "tests/support/about.hpp"

namespace headroom::kv_tier_test {

namespace {

// Conversations of about eight turns; llama-3.1-8b: a block of 16 tokens takes 2 MiB.
std::string sessions(const std::string& device, const std::string& engine) {
  return R"({"model": "llama-3.1-8b", "device": ")" + device + R"(", "engine": {)" + engine + R"(},
    "cost": {"level": "affine", "affine": {"step_us": 10000, "prompt_token_us": 100,
                                           "decode_token_us": 1000}},
    "workload": {"arrivals": {"process": "poisson", "request_rate": 1}, "duration_s": 100,
                 "sessions": {"turns": {"law": "fixed", "tokens": 8},
                              "think_time": {"law": "fixed", "mean_s": 5}},
                 "prompt": {"tokens": 200}, "output": {"tokens": 20}}})";
}

RunResult result_of(const std::string& text) {
  return run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
}

std::string vllm(const std::string& options) { return R"("max_model_len": 4096, )" + options; }

double hit_ratio(const RunResult& result) {
  const EngineSummary& engine = result.summary.engine;
  return static_cast<double>(engine.prefix_cache_hits) /
         static_cast<double>(engine.prefix_cache_queries);
}

double transfer_s(const RunResult& result) {
  return result.summary.engine.time_s[static_cast<std::size_t>(CostTerm::transfer)];
}

test::About refusal_of(const std::string& text) {
  return test::about([&] { return result_of(text); });
}

}  // namespace

TEST_CASE("on unified memory the second tier is taken out of the pool") {
  const ByteCount tier = bytes_from_gib(8);
  const auto pool = [](const std::string& device, const std::string& size) {
    return result_of(sessions(device, vllm(R"("kv_offloading_size_gib": )" + size)))
        .budget.kv_pool_bytes;
  };
  const ByteCount block = ByteCount{2} << 20;
  CHECK(std::abs(pool("gb10", "0") - pool("gb10", "8") - tier) <= block);
  CHECK(std::abs(pool("m3-ultra", "0") - pool("m3-ultra", "8") - tier) <= block);
  CHECK(pool("h100-sxm", "0") == pool("h100-sxm", "8"));
}

TEST_CASE("on unified memory a pool and a tier are worth no more than one pool of both") {
  // 500 blocks and 2 GiB (1024 blocks) of tier, or 1524 blocks; the first block is the null block.
  const RunResult small = result_of(sessions("gb10", vllm(R"("num_gpu_blocks_override": 501)")));
  const RunResult both = result_of(
      sessions("gb10", vllm(R"("num_gpu_blocks_override": 501, "kv_offloading_size_gib": 2)")));
  const RunResult one = result_of(sessions("gb10", vllm(R"("num_gpu_blocks_override": 1525)")));
  REQUIRE(both.totals.tier);
  CHECK(both.totals.tier->loaded_blocks > 0);
  CHECK(hit_ratio(small) < hit_ratio(both));
  // A tier holds each content once, a pool its copies, too: that is worth a little.
  CHECK(hit_ratio(both) <= 1.01 * hit_ratio(one));
  CHECK(transfer_s(one) == 0);
  CHECK(transfer_s(both) > 0);
  CHECK(both.summary.metrics.mean_ttft_ms > one.summary.metrics.mean_ttft_ms);
  CHECK_FALSE(one.totals.tier);
  const auto warns = [](const std::string& warning) {
    return warning.find("gb10 has one memory for host and device: the 2.00 GiB") == 0;
  };
  CHECK(std::ranges::count_if(both.warnings, warns) == 1);
  CHECK(std::ranges::count_if(one.warnings, warns) == 0);
}

TEST_CASE("copies within unified memory take twice their bytes of its bandwidth") {
  // 273 GB/s: 2 MiB are read and written in 15.36 us, over one path; the H100's PCIe moves them at
  // 63 GB/s in 33.29 us each way at once.
  const auto links = [](const std::string& device) {
    RunResult result =
        check(parse_scenario(
                  parse_json(sessions(device, vllm(R"("kv_offloading_size_gib": 2)")), "s.json")),
              Catalog::embedded());
    return tier_links(result.resolved, result.budget.layout);
  };
  const TierLinks unified = links("gb10");
  CHECK(unified.block_bytes == 2 << 20);
  CHECK(unified.to_host == nullptr);
  CHECK(unified.to_device->transfer(unified.block_bytes, 0) == 10'000 + 15'364);
  const TierLinks discrete = links("h100-sxm");
  CHECK(discrete.to_host != nullptr);
  CHECK(discrete.to_device->transfer(discrete.block_bytes, 0) == 10'000 + 33'289);
}

TEST_CASE("TensorRT-LLM's host cache keeps what its pool overwrites") {
  // 16 000 tokens are 500 blocks of 32; 4 GiB on the host hold 1024 more.
  const std::string engine = R"("name": "trtllm", "max_seq_len": 4096, "max_tokens": 16000)";
  const RunResult without = result_of(sessions("h100-sxm", engine));
  const RunResult with =
      result_of(sessions("h100-sxm", engine + R"(, "host_cache_size": 4294967296)"));
  REQUIRE(with.totals.tier);
  CHECK(tier_options(with.resolved, with.budget.layout).host_blocks == 1024);
  CHECK(hit_ratio(with) > hit_ratio(without));
  CHECK(with.budget.kv_pool_bytes == without.budget.kv_pool_bytes);
}

TEST_CASE("a tier that nothing could find, or reach, is refused") {
  CHECK(refusal_of(sessions("h100-sxm", vllm(R"("kv_offloading_size_gib": 4,
                                                "enable_prefix_caching": false)"))) ==
        test::conflict_at("/engine/kv_offloading_size_gib"));
  CHECK(refusal_of(sessions("h100-sxm", vllm(R"("kv_offloading_disk_gib": 4)"))) ==
        test::missing_at("/engine/kv_offloading_disk_gib"));
  CHECK(refusal_of(sessions("h100-sxm", R"("name": "trtllm", "scheduler": "tgi",
                                           "host_cache_size": 4294967296)")) ==
        test::conflict_at("/engine/host_cache_size"));
  CHECK(refusal_of(sessions("h100-sxm", R"("name": "trtllm", "enable_block_reuse": false,
                                           "host_cache_size": 4294967296)")) ==
        test::conflict_at("/engine/host_cache_size"));
  const test::About other = refusal_of(sessions(
      "h100-sxm", R"("name": "trtllm", "scheduler": "vllm", "host_cache_size": 4294967296)"));
  CHECK(other == test::conflict_at("/engine/host_cache_size"));
  CHECK_THAT(other.complaint.problem, Catch::Contains("/engine/kv_offloading_size_gib"));
  const std::string no_rate = R"("kv_offloading_size_gib": 4)";
  CHECK(refusal_of(sessions("a40", vllm(no_rate))) ==
        test::missing_at("/engine/kv_offloading_size_gib"));
  CHECK(refusal_of(sessions("a40", vllm(no_rate + R"(, "kv_offloading_gb_per_s": 25)"))) ==
        test::no_error());
}

TEST_CASE("what a run has stored when it is ended does not depend on jumps") {
  const auto stored = [](int until_ms, const std::string& single_step) {
    std::string text = sessions("h100-sxm", vllm(R"("num_gpu_blocks_override": 301,
                                                   "kv_offloading_size_gib": 1)"));
    text.pop_back();
    const RunResult result =
        result_of(text + R"(, "run": {"until_s": )" + std::to_string(until_ms) + "e-3" +
                  R"(, "single_step": )" + single_step + "}}");
    REQUIRE(result.totals.tier);
    return result.totals.tier->stored_blocks;
  };
  CHECK(stored(60'000, "false") > 0);
  for (int until_ms = 60'000; until_ms < 61'000; until_ms += 23) {
    CAPTURE(until_ms);
    CHECK(stored(until_ms, "false") == stored(until_ms, "true"));
  }
}

TEST_CASE("V0 swaps its victims instead of computing them again") {
  // 100 blocks admit 14 prompts of 7 blocks, which grow to 19 blocks each.
  const auto crowd = [](const std::string& options) {
    return R"({"model": "llama-3.1-8b", "device": "h100-sxm",
      "engine": {"version": "0.7", "max_model_len": 1024, "num_gpu_blocks_override": 100)" +
           options + R"(},
      "cost": {"level": "affine", "affine": {"step_us": 10000, "prompt_token_us": 100,
                                             "decode_token_us": 1000}},
      "workload": {"arrivals": {"process": "all_at_once"}, "num_requests": 40,
                   "prompt": {"tokens": 100}, "output": {"tokens": 200}}})";
  };
  const RunResult recompute = result_of(crowd(""));
  const RunResult swap = result_of(crowd(R"(, "preemption_mode": "swap")"));
  CHECK(recompute.summary.engine.recomputed_tokens > 0);
  CHECK_FALSE(recompute.totals.tier);
  CHECK(swap.summary.engine.preemptions > 0);
  CHECK(swap.summary.engine.recomputed_tokens == 0);
  REQUIRE(swap.totals.tier);
  // All that went out came back.
  CHECK(swap.totals.tier->stored_blocks == swap.totals.tier->loaded_blocks);
  CHECK(swap.totals.tier->stored_blocks > 0);
  CHECK(tier_options(swap.resolved, swap.budget.layout).host_blocks == 2048);  // of 2 MiB in 4 GiB
  CHECK(refusal_of(crowd(R"(, "preemption_mode": "swap", "enable_prefix_caching": true)")) ==
        test::conflict_at("/engine/preemption_mode"));
}

}  // namespace headroom::kv_tier_test
