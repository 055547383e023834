#include "sim/memory/capacity.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/memory/capacity_systems.hpp"
#include "tests/support/about.hpp"

namespace headroom::capacity_test {

namespace {

using Catch::Matchers::Contains;
using Numbers = std::vector<std::int64_t>;

CapacityQuery query_of(const SystemSelection& selection, Numbers contexts) {
  CapacityQuery query;
  query.systems = select_systems(selection);
  query.contexts = std::move(contexts);
  return query;
}

SystemSelection on(const std::string& model, const std::string& device,
                   std::vector<std::string> set = {}) {
  SystemSelection selection;
  selection.models = {model};
  selection.devices = {device};
  selection.set = std::move(set);
  return selection;
}

CapacityRow only_row(const CapacityQuery& query) {
  std::vector<CapacityRow> rows = capacity(query, Catalog::embedded());
  REQUIRE(rows.size() == 1);
  return rows.front();
}

Numbers requests_of(const CapacityRow& row) {
  Numbers requests;
  for (const ContextCapacity& c : row.contexts) requests.push_back(c.requests);
  return requests;
}

// ENGINES.md 12.1, vector 1: Llama-3.1-8B, bf16, block 16, 60 GiB of KV. An H200, because an 80 GB
// device has too little left beside it.
CapacityQuery vector_one(Numbers contexts) {
  return query_of(on("llama-3.1-8b", "h200-sxm",
                     {"engine.kv_cache_memory_bytes=64424509440", "engine.max_model_len=8192"}),
                  std::move(contexts));
}

bool says(const CapacityRow& row, const std::string& text) {
  for (const std::string& warning : row.warnings) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("60 GiB of KV are the blocks and the concurrency that vLLM prints") {
  const CapacityRow row = only_row(vector_one({8192, 16, 32768}));
  // 32 layers x 2 x 8 heads x 128 x 2 B = 131,072 B per token; 16 tokens are 2 MiB; 60 GiB / 2 MiB.
  CHECK(row.budget.total_blocks == 30720);
  CHECK(row.budget.usable_blocks == 30719);
  CHECK(row.budget.kv_pool_bytes == std::int64_t{60} << 30);
  CHECK(row.budget.kv_tokens == 491520);
  CHECK(row.budget.max_concurrency == 60.0);
  CHECK(row.pool_tokens == 491504);  // the null block holds nothing
  // 8,192 tokens are 512 blocks: 30,719 / 512 = 59.998.
  CHECK(row.contexts[0].kv_bytes == std::int64_t{1} << 30);
  CHECK(row.contexts[0].requests == 59);
  CHECK(row.contexts[0].limit == ContextLimit::blocks);
  // One block each: 30,719 fit, the API server on an H200 seats 1,024 (ENGINES.md 6.1).
  CHECK(row.contexts[1].pool_holds == 30719);
  CHECK(row.contexts[1].requests == 1024);
  CHECK(row.contexts[1].limit == ContextLimit::max_num_seqs);
  // 32,768 tokens are 2,048 blocks; refused before memory is asked.
  CHECK(row.contexts[2].pool_holds == 14);
  CHECK(row.contexts[2].requests == 0);
  CHECK(row.contexts[2].limit == ContextLimit::max_model_len);
}

TEST_CASE("the capacity table of the H100 experiments comes from its margin of 0.85") {
  CapacityQuery query = query_of(
      on("qwen2.5-7b", "h100-sxm", {"device.memory_total_gib=79.1", "engine.dtype=float16"}),
      {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072});
  query.usable_fraction = 0.85;
  const CapacityRow row = only_row(query);
  // FACTS.md 003: floor(0.85 x (79.1 - 14.185) GiB / (57,344 B x context)).
  CHECK(requests_of(row) == Numbers{2017, 1008, 504, 252, 126, 63, 31, 15, 7});
  CHECK(row.weights.wanted_bytes == 2 * std::int64_t{7'615'616'512});
  CHECK(says(row, "trained for 32768 tokens"));
  CHECK(says(row, "not from an engine's rule"));
  query.usable_fraction = 0.80;  // 0.80 / 0.85 x 504.6 = 474.9
  CHECK(only_row(query).contexts[2].requests == 474);
}

TEST_CASE("KV per token and what grouped heads save") {
  const auto token_of = [](const std::string& model) {
    return only_row(query_of(on(model, "h200-sxm"), {131072}));
  };
  // FACTS.md 003: 56, 128, 320 KiB; 7, 16, 40 GiB at 128K; saved 6/7, 3/4, 7/8.
  const CapacityRow small = token_of("qwen2.5-7b");
  CHECK(small.token.model == 56 * 1024);
  CHECK(small.contexts[0].model_kv_bytes == std::int64_t{7} << 30);
  CHECK(small.token.saved() == Approx(6.0 / 7));
  const CapacityRow middle = token_of("mistral-7b-v0.3");
  CHECK(middle.token.model == 128 * 1024);
  CHECK(middle.contexts[0].model_kv_bytes == std::int64_t{16} << 30);
  CHECK(middle.token.saved() == Approx(0.75));
  const CapacityRow large = token_of("qwen2.5-72b");
  CHECK(large.token.model == 320 * 1024);
  CHECK(large.contexts[0].model_kv_bytes == std::int64_t{40} << 30);
  CHECK(large.token.saved() == Approx(0.875));
}

TEST_CASE("latent attention is compared with heads of its own width") {
  CapacityQuery query =
      query_of(on("deepseek-v3", "h200-sxm", {"engine.tensor_parallel_size=8"}), {2048});
  const CapacityRow row = only_row(query);
  // 61 layers x 576 x 2 B; without the latent 61 x 128 heads x (192 + 128) x 2 B. Each rank keeps
  // the latents whole (ENGINES.md 12.1, vector 3).
  CHECK(row.token.rank == 70272);
  CHECK(row.token.model == 70272);
  CHECK(row.token.multi_head == 61 * 128 * 320 * 2);
}

TEST_CASE("given KV bytes replace the geometry's and cut the same pool into larger blocks") {
  CapacityQuery query = vector_one({8192});
  query.kv_bytes_per_token = 262144;  // twice the geometry's
  const CapacityRow row = only_row(query);
  CHECK(row.budget.layout.bytes_per_token == 262144);
  CHECK(row.token.rank == 131072);
  CHECK(row.budget.total_blocks == 15360);  // 60 GiB / 4 MiB
  CHECK(row.budget.max_concurrency == 30.0);
  CHECK(row.contexts[0].requests == 29);  // 15,359 / 512
  CHECK(row.contexts[0].kv_bytes == std::int64_t{2} << 30);
  CHECK(row.budget.terms.sum() == row.budget.capacity_bytes);
  CHECK(says(row, "by geometry llama-3.1-8b would need 131072"));
}

TEST_CASE("given KV bytes are the whole model's and divided like the geometry's") {
  CapacityQuery query =
      query_of(on("llama-3.1-70b", "h100-sxm", {"engine.tensor_parallel_size=4"}), {8192});
  query.kv_bytes_per_token = 2'500'000;
  // 8 KV heads over 4 ranks: a quarter each.
  CHECK(only_row(query).budget.layout.bytes_per_token == 625'000);
  query.systems = select_systems(on("deepseek-v3", "b200", {"engine.tensor_parallel_size=8"}));
  query.kv_bytes_per_token = 100'000;  // latents are on every rank
  CHECK(only_row(query).budget.layout.bytes_per_token == 100'000);
}

TEST_CASE("larger given KV bytes can keep an engine from starting, smaller ones let it start") {
  // A pool of 1 GiB holds 8,192 tokens of 131,072 B, less than one request of 16,000; of 65,536 B
  // it holds 16,384 in 1,024 blocks, one of them the null block.
  const std::vector<std::string> set{"engine.kv_cache_memory_bytes=1073741824",
                                     "engine.max_model_len=16000"};
  CapacityQuery query = query_of(on("llama-3.1-8b", "h100-sxm", set), {4096});
  const CapacityRow large = only_row(query);
  REQUIRE(large.budget.failure);
  CHECK(large.budget.failure->stage == StartupStage::max_length_request);
  CHECK(large.contexts[0].limit == ContextLimit::does_not_fit);
  query.kv_bytes_per_token = 65536;
  const CapacityRow small = only_row(query);
  CHECK_FALSE(small.budget.failure);
  CHECK(small.contexts[0].requests == 3);  // 1,023 blocks / 256
}

TEST_CASE("weights that do not fit say how many devices it takes") {
  const CapacityRow row = only_row(query_of(on("llama-3.1-70b", "h100-sxm"), {8192}));
  // 70.55 x 10^9 parameters in bf16: 131.4 GiB on 79.2.
  CHECK_FALSE(row.weights.fit);
  CHECK(row.weights.checkpoint_bytes > std::int64_t{131} << 30);
  CHECK(row.weights.checkpoint_bytes < std::int64_t{132} << 30);
  REQUIRE(row.budget.failure);
  CHECK(row.budget.failure->stage == StartupStage::weights);
  // Halves of 65.7 GiB fit. But 0.9 x 79.2 = 71.3 GiB leave less than 5.6 GiB for 131,072 tokens of
  // 163,840 B = 20 GiB; 3 does not divide 64 heads; quarters of 32.9 GiB leave more than 30 GiB.
  CHECK(row.weights.ranks_that_fit == 2);
  CHECK(row.weights.ranks_that_start == 4);
  CHECK(requests_of(row) == Numbers{0});
}

TEST_CASE("weights that are used from the page cache fit where the engine starts") {
  SystemSelection selection = on("qwen3.5-27b", "m4-max");
  selection.engines = {"llamacpp"};
  const CapacityRow row = only_row(query_of(selection, {2048}));
  CHECK_FALSE(row.budget.failure);
  // 27.4 x 10^9 parameters in bf16 are 51 GiB, all of them mapped, of 96 GiB.
  CHECK(row.weights.fit);
  CHECK(row.weights.wanted_bytes > std::int64_t{50} << 30);
  CHECK(row.weights.wanted_bytes < std::int64_t{52} << 30);
  CHECK(row.weights.available_bytes > std::int64_t{90} << 30);
  CHECK(row.weights.most_ranks == 1);
  CHECK(row.weights.ranks_that_fit == 1);
}

TEST_CASE("an engine that leaves layers on the host says so, and counts devices by layers") {
  SystemSelection selection = on("qwen3.5-27b", "rtx4090");
  selection.engines = {"llamacpp"};
  const CapacityRow row = only_row(query_of(selection, {2048}));
  CHECK_FALSE(row.budget.failure);
  // 51 GiB on 23.5: what the device does not hold is on the host.
  CHECK_FALSE(row.weights.fit);
  CHECK(row.weights.host_bytes > std::int64_t{28} << 30);
  CHECK(row.weights.wanted_bytes - row.weights.host_bytes ==
        row.budget.terms[MemoryPurpose::weights]);
  // 64 layers: 22 of them, embedding and head take more than 51 / 3 = 17 GiB, less than 23.5.
  CHECK(row.weights.by_layers);
  CHECK(row.weights.ranks_that_fit == 3);
}

TEST_CASE("a request's KV counts layers with a window for their window alone") {
  SystemSelection selection = on("gpt-oss-20b", "gb10");
  selection.engines = {"llamacpp"};
  const CapacityRow row = only_row(query_of(selection, {8192}));
  // 24 layers of 8 heads of 64, half of them with a window of 128 tokens.
  CHECK(row.contexts[0].kv_bytes == 12 * 2048 * (8192 + 128));
}

TEST_CASE("weights fit where the host holds the input table alone") {
  SystemSelection selection = on("qwen3-8b", "rtx4090");
  selection.engines = {"llamacpp"};
  selection.set = {"engine.ctx_size=8192"};
  const CapacityRow one = only_row(query_of(selection, {2048}));
  // 14 GiB beside a table of 1.2 GiB.
  CHECK(one.weights.fit);
  CHECK(one.weights.host_bytes == 0);
  CHECK(one.weights.wanted_bytes == one.budget.terms[MemoryPurpose::weights]);
  // Of what two devices leave on the host each lacks a half.
  selection.set.emplace_back("engine.pipeline_parallel_size=2");
  selection.models = {"qwen3-32b"};
  const CapacityRow two = only_row(query_of(selection, {2048}));
  CHECK_FALSE(two.weights.fit);
  CHECK(two.weights.wanted_bytes ==
        two.budget.terms[MemoryPurpose::weights] + two.weights.host_bytes / 2);
}

TEST_CASE("a start that more devices do not help says what stands in the way") {
  SystemSelection selection = on("qwen3.5-27b", "rtx4090");
  selection.engines = {"vllm@0.19"};
  const CapacityRow row = only_row(query_of(selection, {2048}));
  REQUIRE(row.budget.failure);
  CHECK(row.budget.failure->stage == StartupStage::weights);
  // A quarter of 51 GiB fits; 1.5 GiB of graphs beside 0.9 x 23.5 GiB do not, whatever the size.
  CHECK(row.weights.ranks_that_fit == 4);
  CHECK_FALSE(row.weights.ranks_that_start);
  CHECK(row.weights.last_ranks == 8);  // 16 does not divide 24 heads
  CHECK(row.weights.last_failure.find("graphs") != std::string::npos);
}

TEST_CASE("a container does not change it in a discrete device, and the row says so") {
  SystemSelection selection = on("llama-3.1-8b", "h100-sxm");
  selection.environments = {"native,docker"};
  const auto rows = capacity(query_of(selection, {2048, 8192}), Catalog::embedded());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].budget.kv_pool_bytes == rows[1].budget.kv_pool_bytes);
  CHECK(requests_of(rows[0]) == requests_of(rows[1]));
  CHECK(says(rows[1], "a container does not change it"));
  CHECK(environment_groups(rows) == std::vector<std::vector<std::size_t>>{{0, 1}});
}

TEST_CASE("a measured overhead carries its spread into the KV pool") {
  SystemSelection selection = on("deepseek-r1-distill-qwen-7b", "gb10-2025");
  selection.engines = {"trtllm"};
  selection.environments = {"native", "docker-measured-deepseek-7b"};
  const auto rows = capacity(query_of(selection, {2048}), Catalog::embedded());
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].starts.size() == 1);
  REQUIRE(rows[1].starts.size() == 2);
  const StartCase& later = rows[1].starts[0];
  const StartCase& first = rows[1].starts[1];
  CHECK_FALSE(later.first_start);
  CHECK(first.first_start);
  // TensorRT-LLM gives 0.9 of what is not in use to KV, so 0.9 of an overhead is lost: 29.29 to
  // 31.09, typically 30.13 GiB later and 33.94 GiB at the first start (environments.json). Blocks
  // of 32 tokens x 57,344 B are 0.002 GiB.
  const ByteCount native = rows[0].starts[0].kv_pool_bytes.typical;
  const auto lost = [&](ByteCount pool) { return gib_from_bytes(native - pool); };
  CHECK(lost(later.kv_pool_bytes.high) == Approx(0.9 * 29.29).margin(0.005));
  CHECK(lost(later.kv_pool_bytes.typical) == Approx(0.9 * 30.13).margin(0.005));
  CHECK(lost(later.kv_pool_bytes.low) == Approx(0.9 * 31.09).margin(0.005));
  CHECK(lost(first.kv_pool_bytes.typical) == Approx(0.9 * 33.94).margin(0.005));
  CHECK(first.kv_pool_bytes.is_one_value());
  CHECK(later.requests[0].low <= later.requests[0].typical);
  CHECK(later.requests[0].typical <= later.requests[0].high);
}

TEST_CASE("first and later starts each have a spread of their own") {
  Catalog catalog = Catalog::embedded();
  catalog.overlay_text("environments.json", R"({"environments": [
      {"id": "spread", "title": "t", "system_gib": 0, "source": "none",
       "first_start_overhead_gib": {"low": 30, "typical": 32, "high": 36},
       "steady_overhead_gib": {"low": 10, "typical": 11, "high": 13}}]})",
                       "test");
  SystemSelection selection = on("qwen2.5-7b", "gb10-2025");
  selection.engines = {"trtllm"};
  selection.environments = {"spread"};
  const CapacityRow row = capacity(query_of(selection, {2048}), catalog).front();
  REQUIRE(row.starts.size() == 2);
  // 0.9 of the spread, as above: 3 GiB between the ends of later starts, 6 GiB of first ones.
  const auto gib = [](const CapacityRange& r) { return gib_from_bytes(r.high - r.low); };
  CHECK(gib(row.starts[0].kv_pool_bytes) == Approx(0.9 * 3).margin(0.005));
  CHECK(gib(row.starts[1].kv_pool_bytes) == Approx(0.9 * 6).margin(0.005));
  selection.set = {"environment.first_start=true"};
  const CapacityRow first = capacity(query_of(selection, {2048}), catalog).front();
  REQUIRE(first.starts.size() == 1);
  CHECK(first.budget.kv_pool_bytes == row.starts[1].kv_pool_bytes.typical);
}

TEST_CASE("an engine without a pool is asked for the largest batch of each length") {
  SystemSelection selection = on("qwen2.5-7b", "h100-sxm");
  selection.engines = {"hf"};
  const CapacityRow row = only_row(query_of(selection, {2048, 8192}));
  // Without max_batch_size the batch is what fits: KV alone bounds it by
  // (79.2 - 14.2) GiB / (2,048 x 57,344 B) = 594.
  CHECK(row.contexts[0].requests > 32);
  CHECK(row.contexts[0].requests < 594);
  CHECK(row.contexts[1].requests < row.contexts[0].requests);
  selection.set = {"engine.max_batch_size=8"};
  const CapacityRow capped = only_row(query_of(selection, {2048}));
  CHECK(capped.contexts[0].requests == 8);
  CHECK(capped.contexts[0].limit == ContextLimit::max_num_seqs);
}

TEST_CASE("an engine without grouped heads keeps the KV of every query head") {
  SystemSelection selection = on("llama-3.1-8b", "h100-sxm");
  selection.engines = {"fastertransformer"};
  const CapacityRow row = only_row(query_of(selection, {2048}));
  // 2,048 tokens x 32 layers x 2 x 32 heads x 128 x 2 B = 1 GiB; with 8 KV heads a quarter of it.
  CHECK(row.contexts[0].kv_bytes == std::int64_t{1} << 30);
  CHECK(row.contexts[0].model_kv_bytes == std::int64_t{1} << 28);
}

TEST_CASE("a length that the engine lowers is the one that counts") {
  SystemSelection selection = on("llama-3.1-8b", "h200-sxm", {"engine.num_ctx=262144"});
  selection.engines = {"ollama"};
  const CapacityRow row = only_row(query_of(selection, {131072, 200000}));
  CHECK(row.max_model_len == 131072);  // Llama-3.1 was trained for 131,072 tokens
  CHECK(row.contexts[0].requests == 1);
  CHECK(row.contexts[1].requests == 0);
}

TEST_CASE("windows bound the KV of a long request") {
  // gpt-oss-20b: 12 full and 12 sliding layers (128 tokens) of 8 heads x 64, bf16: 2,048 B per
  // token and layer.
  const CapacityRow row = only_row(query_of(on("gpt-oss-20b", "h100-sxm"), {64, 65536}));
  CHECK(row.contexts[0].kv_bytes == 64 * 24 * 2048);
  CHECK(row.contexts[1].kv_bytes == 12 * (65536 + 128) * std::int64_t{2048});
}

TEST_CASE("systems are the cross product, with the values set for all") {
  SystemSelection selection;
  selection.models = {"llama-3.1-8b,qwen2.5-7b"};
  selection.devices = {"h100-sxm", "h200-sxm"};
  selection.engines = {"vllm@0.8,vllm@0.19"};
  selection.set = {"engine.max_model_len=4096"};
  const std::vector<Scenario> systems = select_systems(selection);
  REQUIRE(systems.size() == 8);
  CHECK(systems[0].model == "llama-3.1-8b");
  CHECK(systems[7].model == "qwen2.5-7b");
  CHECK(systems[1].engine.version == "0.19");
  CHECK(systems[2].device.name == "h200-sxm");
  CHECK(systems[5].engine.max_model_len == 4096);
  CHECK(systems[0].given.at("/model") == "--model llama-3.1-8b");
}

TEST_CASE("a scenario file is the base of the systems") {
  SystemSelection selection;
  selection.scenario = "demo";
  const std::vector<Scenario> base = select_systems(selection);
  REQUIRE(base.size() == 1);
  CHECK_FALSE(base[0].model.empty());
  selection.models = {"qwen2.5-7b"};
  const std::vector<Scenario> other = select_systems(selection);
  CHECK(other[0].model == "qwen2.5-7b");
  CHECK(other[0].device.name == base[0].device.name);
}

TEST_CASE("contexts are tokens, k is 1,024") {
  CHECK(parse_contexts({"2048,8k", "128K"}) == Numbers{2048, 8192, 131072});
  CHECK(parse_contexts({"1m"}) == Numbers{1048576});
  for (const std::string bad : {"0", "-1", "8q", "k", "1e3", "2000000k"}) {
    CHECK_THROWS_WITH(parse_contexts({bad}), Contains("--context " + bad));
  }
}

TEST_CASE("wrong names and shares are errors that name the flag") {
  const auto ask = [](const SystemSelection& selection) {
    return test::about([&] { return capacity(query_of(selection, {2048}), Catalog::embedded()); });
  };
  const test::About model = ask(on("lama-3.1-8b", "h100-sxm"));
  CHECK(model == test::unknown_at("/model"));
  CHECK(model.complaint.origin == "--model lama-3.1-8b");
  CHECK(model.complaint.nearest == "llama-3.1-8b");
  CHECK(ask({}) == test::missing_at("/model"));
  CHECK(ask({}).complaint.origin == "command line");
  SystemSelection selection = on("llama-3.1-8b", "h100-sxm");
  selection.engines = {"vlm"};
  const test::About engine = ask(selection);
  CHECK(engine.kind == ErrorKind::unknown);
  CHECK(engine.complaint.origin == "--engine vlm");
  CHECK(engine.complaint.nearest == "vllm");
  CapacityQuery query = query_of(on("llama-3.1-8b", "h100-sxm"), {2048});
  query.usable_fraction = 1.5;
  CHECK_THROWS_AS(capacity(query, Catalog::embedded()), ConfigError);
  query.usable_fraction.reset();
  query.kv_bytes_per_token = 0;
  CHECK_THROWS_AS(capacity(query, Catalog::embedded()), ConfigError);
}

}  // namespace headroom::capacity_test
