#include "hardware/llm.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/serving/link.hpp"

namespace headroom {
namespace {

struct Published {
  const char* id;
  std::int64_t total;
  std::int64_t active;
};

// Totals of the Hugging Face checkpoints (gemma-3: text decoder; DeepSeek-V3 and R1: without the
// multi-token-prediction module; opt-66b: computed only); active: with the input table, top_k
// experts.
constexpr std::array<Published, 36> kPublished{{
    {"llama-2-7b", 6738415616, 6738415616},
    {"llama-2-13b", 13015864320, 13015864320},
    {"llama-2-70b", 68976648192, 68976648192},
    {"llama-3-8b", 8030261248, 8030261248},
    {"llama-3.1-8b", 8030261248, 8030261248},
    {"llama-3-70b", 70553706496, 70553706496},
    {"llama-3.1-70b", 70553706496, 70553706496},
    {"llama-3.1-405b", 405853388800, 405853388800},
    {"qwen2.5-0.5b", 494032768, 494032768},
    {"qwen2.5-1.5b", 1543714304, 1543714304},
    {"qwen2.5-7b", 7615616512, 7615616512},
    {"qwen2.5-14b", 14770033664, 14770033664},
    {"qwen2.5-32b", 32763876352, 32763876352},
    {"qwen2.5-72b", 72706203648, 72706203648},
    {"deepseek-r1-distill-qwen-7b", 7615616512, 7615616512},
    {"qwen3-8b", 8190735360, 8190735360},
    {"qwen3-14b", 14768307200, 14768307200},
    {"qwen3-32b", 32762123264, 32762123264},
    {"qwen3-30b-a3b", 30532122624, 3353032704},
    {"qwen3-235b-a22b", 235093634560, 22190763520},
    {"mistral-7b-v0.1", 7241732096, 7241732096},
    {"mistral-7b-v0.3", 7248023552, 7248023552},
    {"mixtral-8x7b", 46702792704, 12879925248},
    {"mixtral-8x22b", 140620634112, 39152031744},
    {"deepseek-v2-lite", 15706484224, 2661150208},
    {"deepseek-v3", 671026419200, 37552297472},
    {"deepseek-r1", 671026419200, 37552297472},
    {"gpt-oss-20b", 20914757184, 4187440704},
    {"gpt-oss-120b", 116829156672, 5711982912},
    {"gemma-2-9b", 9241705984, 9241705984},
    {"gemma-2-27b", 27227128320, 27227128320},
    {"gemma-3-27b", 27009346304, 27009346304},
    {"phi-3-mini", 3821079552, 3821079552},
    {"opt-13b", 12853473280, 12853473280},
    {"opt-66b", 65719701504, 65719701504},
    {"falcon-7b", 6921720704, 6921720704},
}};

const ModelSpec& model(const char* id) {
  static const Catalog catalog = Catalog::embedded();
  return catalog.model(id);
}

}  // namespace

TEST_CASE("parameters of every catalog model equal the published totals") {
  CHECK(Catalog::embedded().model_ids().size() == kPublished.size());
  for (const Published& published : kPublished) {
    INFO(published.id);
    CHECK(params_total(model(published.id)) == published.total);
    CHECK(params_active(model(published.id)) == published.active);
  }
}

TEST_CASE("KV bytes per token are 2 layers kv_heads head_dim bytes") {
  const auto per_token = [](const char* id) {
    return make_kv_layout(model(id), Dtype::bf16, 1, 16).bytes_per_token();
  };
  CHECK(per_token("llama-2-7b") == 2 * 32 * 32 * 128 * 2);  // 524288, VERIFICATION V1
  CHECK(per_token("llama-3-8b") == 2 * 32 * 8 * 128 * 2);   // 131072
  CHECK(per_token("llama-3-70b") == 2 * 80 * 8 * 128 * 2);  // 327680
  CHECK(per_token("opt-13b") == 800 * 1024);                // PagedAttention paper: 800 KiB
  CHECK(make_kv_layout(model("llama-3-8b"), Dtype::fp8, 1, 16).bytes_per_token() == 65536);
}

TEST_CASE("KV heads are replicated when there are more ranks than heads") {
  // Llama-3.1-8B: 2 MiB per block of 16 at TP1, 256 KiB at TP8 (one head) and still at TP16.
  const ModelSpec& llama = model("llama-3.1-8b");
  CHECK(make_kv_layout(llama, Dtype::bf16, 1, 16).bytes_per_block() == 2 << 20);
  CHECK(make_kv_layout(llama, Dtype::bf16, 8, 16).bytes_per_block() == 256 << 10);
  CHECK(make_kv_layout(llama, Dtype::bf16, 16, 16).bytes_per_block() == 256 << 10);
}

TEST_CASE("the latent of MLA is held whole by every rank") {
  // DeepSeek-V3: (512 + 64) * 2 bytes * 61 layers = 70272 per token, 4497408 per block of 64.
  for (const std::int64_t tp : {1, 8}) {
    const KvLayout layout = make_kv_layout(model("deepseek-v3"), Dtype::bf16, tp, 64);
    CHECK(layout.bytes_per_token() == 70272);
    CHECK(layout.bytes_per_block() == 4497408);
  }
}

TEST_CASE("2048 tokens of KV move in 5.369 ms at 50 GB/s") {
  // 2048 * 131072 bytes / 50e9 bytes/s = 5368709.12 ns, rounded up.
  SerialLink link(50'000'000'000, 0);
  const KvLayout layout = make_kv_layout(model("llama-3-8b"), Dtype::bf16, 1, 16);
  CHECK(link.transfer(2048 * layout.bytes_per_token(), 0) == 5368710);
}

TEST_CASE("a decode step reads all weights but the input table") {
  // (8030261248 - 128256 * 4096) parameters of 2 bytes: 4.481 ms at 3.35 TB/s (VERIFICATION V1).
  const ByteCount bytes = decode_weight_bytes(model("llama-3-8b"), Dtype::bf16, 1);
  CHECK(bytes == (8030261248 - 128256LL * 4096) * 2);
  CHECK(static_cast<double>(bytes) / 3.35e12 == Approx(4.481e-3).epsilon(1e-4));
  CHECK(static_cast<double>(bytes) / 2.039e12 == Approx(7.361e-3).epsilon(1e-4));
  // Tied: the one table is read as output head.
  const ModelSpec& tied = model("qwen2.5-0.5b");
  CHECK(decode_weight_bytes(tied, Dtype::bf16, 1) == weight_bytes(tied, Dtype::bf16, 1));
}

TEST_CASE("quantised weights leave tables and norms in 16 bit") {
  // Checkpoint bytes as published: gpt-oss-20b 13761264768 (mxfp4 experts).
  CHECK(weight_bytes(model("gpt-oss-20b"), Dtype::mxfp4, 1) == 13761264768);
  // Llama-3.1-8B in fp8: 32 layers * (41943040 + 176160768) matrix parameters of one byte, the rest
  // (two tables, norms) of two. vLLM 0.19 logs 8.49 GiB with its rotary table (0.03 GiB).
  const std::int64_t matrices = 32LL * (41943040 + 176160768);
  const ByteCount fp8 = weight_bytes(model("llama-3.1-8b"), Dtype::fp8, 1);
  CHECK(fp8 == matrices + (8030261248 - matrices) * 2);
  CHECK(static_cast<double>(fp8) / (1 << 30) == Approx(8.457).epsilon(1e-3));
}

TEST_CASE("two ranks hold half of the matrices each and all norms") {
  const ParamParts whole = param_parts(model("llama-3.1-8b"));
  const ParamParts rank = rank_parts(model("llama-3.1-8b"), 2);
  CHECK(rank.attention * 2 == whole.attention);
  CHECK(rank.dense_mlp * 2 == whole.dense_mlp);
  CHECK(rank.embedding * 2 == whole.embedding);  // 128256 is a multiple of 128
  CHECK(rank.small == whole.small);
  // MLA: 2048 * (512 + 64) of the down-projection per layer stays whole.
  const ParamParts mla = param_parts(model("deepseek-v2-lite"));
  const ParamParts mla_rank = rank_parts(model("deepseek-v2-lite"), 2);
  CHECK(mla_rank.attention * 2 == mla.attention + 27 * 2048 * 576);
}

TEST_CASE("a model that cannot be split over the ranks is refused") {
  CHECK_THROWS_AS(check_tensor_parallel(model("falcon-7b"), 2), ConfigError);  // 71 query heads
  CHECK_THROWS_AS(check_tensor_parallel(model("llama-3.1-8b"), 0), ConfigError);
  CHECK_NOTHROW(check_tensor_parallel(model("llama-3.1-8b"), 8));
}

TEST_CASE("sliding windows are named as not modelled") {
  CHECK(unmodelled_features(model("llama-3.1-8b")).empty());
  CHECK(unmodelled_features(model("deepseek-v3")).empty());
  CHECK(unmodelled_features(model("gpt-oss-20b")).size() == 1);
}

TEST_CASE("data types are known by the engines' names") {
  CHECK(parse_dtype("bfloat16") == Dtype::bf16);
  CHECK(parse_dtype("fp8_e4m3") == Dtype::fp8);
  CHECK_THROWS_WITH(parse_dtype("bf61"), Catch::Contains("nearest: bf16"));
}

}  // namespace headroom
