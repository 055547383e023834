#include "hardware/llm/parameters.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::parameters_test {
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

ModelSpec model(const char* id) {
  static const Catalog catalog = Catalog::embedded();
  return catalog.model(id);
}

ModelParts rank_of(const char* id, std::int64_t tp) {
  return rank_parts(model(id), Sharding{.tensor = tp});
}

}  // namespace

TEST_CASE("parameters of catalog models equal the published totals") {
  for (const Published& published : kPublished) {
    INFO(published.id);
    CHECK(params_total(model(published.id)) == published.total);
    CHECK(params_active(model(published.id)) == published.active);
  }
}

TEST_CASE("a decode step reads all weights but the input table") {
  // (8030261248 - 128256 * 4096) parameters of 2 bytes: 4.481 ms at 3.35 TB/s (VERIFICATION V1).
  const ByteCount bytes = decode_weight_bytes(model("llama-3-8b"), {});
  CHECK(bytes == (8030261248 - 128256LL * 4096) * 2);
  CHECK(static_cast<double>(bytes) / 3.35e12 == Approx(4.481e-3).epsilon(1e-4));
  CHECK(static_cast<double>(bytes) / 2.039e12 == Approx(7.361e-3).epsilon(1e-4));
  // Tied: the one table is read as output head.
  const ModelSpec tied = model("qwen2.5-0.5b");
  CHECK(decode_weight_bytes(tied, {}) == rank_weight_bytes(tied, {}));
}

TEST_CASE("quantised weights leave tables and norms in 16 bit") {
  // Checkpoint bytes as published: gpt-oss-20b 13761264768 (mxfp4 experts).
  CHECK(checkpoint_bytes(model("gpt-oss-20b")) == 13761264768);
  // Llama-3.1-8B in fp8: 32 layers * (41943040 + 176160768) matrix parameters of one byte, the rest
  // (two tables, norms) of two. vLLM 0.19 logs 8.49 GiB with its rotary table (0.03 GiB).
  const std::int64_t matrices = 32LL * (41943040 + 176160768);
  const ByteCount fp8 = rank_weight_bytes(quantised(model("llama-3.1-8b"), Dtype::fp8), {});
  CHECK(fp8 == matrices + (8030261248 - matrices) * 2);
  CHECK(static_cast<double>(fp8) / (1 << 30) == Approx(8.457).epsilon(1e-3));
}

TEST_CASE("another format than the checkpoint's stands for a checkpoint of others, with a note") {
  const ModelSpec own = model("deepseek-r1");  // fp8 in blocks
  const ModelSpec others = quantised(own, Dtype::nvfp4);
  CHECK(others.kinds.back().moe->format.dtype == Dtype::nvfp4);
  CHECK(others.kinds.back().attention->format.dtype == Dtype::bf16);
  REQUIRE(others.notes.size() == own.notes.size() + 1);
  CHECK_THAT(others.notes.back(), Catch::Contains("experts and MLPs (not attention) in nvfp4"));
  // 58 layers x 256 experts x 3 matrices of 7,168 x 2,048 at 4.5 bits, attention in 16 bit.
  CHECK(static_cast<double>(checkpoint_bytes(others)) / 1e9 == Approx(396.5).epsilon(0.02));
  CHECK(quantised(model("gpt-oss-20b"), Dtype::mxfp4).notes == model("gpt-oss-20b").notes);
}

TEST_CASE("mxfp4 is of the experts, or of all matrices where there are none") {
  const ModelSpec dense = quantised(model("llama-3.1-405b"), Dtype::mxfp4);
  CHECK(dense.kinds.front().attention->format.dtype == Dtype::mxfp4);
  CHECK(dense.kinds.front().mlp->format.dtype == Dtype::mxfp4);
  CHECK(dense.head_format.dtype == Dtype::bf16);
  const ModelSpec experts = quantised(model("qwen3-30b-a3b"), Dtype::mxfp4);
  CHECK(experts.kinds.front().moe->format.dtype == Dtype::mxfp4);
  CHECK(experts.kinds.front().attention->format.dtype == Dtype::bf16);
}

TEST_CASE("recipes for NVFP4 stop at the mixers of hybrid models, those for int4 do not") {
  const auto formats = [](const char* id, Dtype dtype) {
    const ModelSpec made = quantised(model(id), dtype);
    std::vector<Dtype> found;  // of linear attention, of attention
    for (const LayerKind& kind : made.kinds) {
      if (kind.recurrent) found.insert(found.begin(), kind.recurrent->format.dtype);
      if (kind.attention) found.push_back(kind.attention->format.dtype);
    }
    return found;
  };
  using List = std::vector<Dtype>;
  CHECK(formats("qwen3.5-35b-a3b", Dtype::nvfp4) == List{Dtype::bf16, Dtype::nvfp4});
  CHECK(formats("qwen3.5-27b", Dtype::nvfp4) == List{Dtype::fp8, Dtype::fp8});
  CHECK(formats("qwen3.5-27b", Dtype::int4) == List{Dtype::int4, Dtype::int4});
}

TEST_CASE("int4 has groups of 32 where rows are no multiples of 128") {
  const auto group_of = [](const char* id) {
    return quantised(model(id), Dtype::int4).kinds[0].moe->format.group;
  };
  CHECK(group_of("qwen3-30b-a3b") == 128);   // experts of 768
  CHECK(group_of("gemma-4-26b-a4b") == 32);  // of 704
}

TEST_CASE("two ranks hold half of the matrices each and all norms") {
  const ModelParts whole = model_parts(model("llama-3.1-8b"));
  const ModelParts rank = rank_of("llama-3.1-8b", 2);
  for (const ModelPart part : {ModelPart::attention, ModelPart::dense_mlp, ModelPart::embedding}) {
    CHECK(rank.params_of(part) * 2 == whole.params_of(part));  // 128256 is a multiple of 128
  }
  CHECK(rank.params_of(ModelPart::small) == whole.params_of(ModelPart::small));
  // MLA: 2048 * (512 + 64) of the down-projection per layer stays whole.
  const ModelParts mla = model_parts(model("deepseek-v2-lite"));
  CHECK(rank_of("deepseek-v2-lite", 2).params_of(ModelPart::attention) * 2 ==
        mla.params_of(ModelPart::attention) + 27 * 2048 * 576);
}

TEST_CASE("pipeline stages hold their layers, the table on the first and the head on the last") {
  // Llama-3.1-8B over four: 8 layers each.
  const Sharding four{.pipeline = 4};
  const ModelSpec llama = model("llama-3.1-8b");
  const ModelParts whole = model_parts(llama);
  std::int64_t sum = 0;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const ModelParts part = rank_parts(llama, four, stage);
    CHECK(part.params_of(ModelPart::attention) * 4 == whole.params_of(ModelPart::attention));
    CHECK((part.params_of(ModelPart::embedding) > 0) == (stage == 0));
    CHECK((part.params_of(ModelPart::lm_head) > 0) == (stage == 3));
    sum += part.params_total();
  }
  CHECK(sum == whole.params_total());
}

TEST_CASE("layers that do not divide go to the stages before the last") {
  // 10 layers over 4 stages: 2, 3, 3, 2.
  ModelSpec tiny;
  add_layers(tiny, LayerKind{}, 10);
  const Sharding four{.pipeline = 4};
  std::vector<std::size_t> sizes;
  std::size_t next = 0;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const StageLayers layers = stage_layers(tiny, four, stage);
    CHECK(layers.first == next);
    next = layers.last;
    sizes.push_back(layers.last - layers.first);
  }
  CHECK(sizes == std::vector<std::size_t>{2, 3, 3, 2});
}

TEST_CASE("expert parallelism gives each rank whole experts") {
  // Qwen3-30B-A3B: 128 experts over 2 x 2 ranks: 32 each; without it a quarter of each at TP4 is as
  // much.
  const ModelSpec qwen = model("qwen3-30b-a3b");
  const ModelParts ep = rank_parts(qwen, {.tensor = 2, .data = 2, .expert_parallel = true});
  const ModelParts tp = rank_parts(qwen, {.tensor = 4});
  CHECK(ep.params_of(ModelPart::experts) == tp.params_of(ModelPart::experts));
  CHECK(ep.params_of(ModelPart::experts) * 4 == model_parts(qwen).params_of(ModelPart::experts));
  CHECK(ep.params_of(ModelPart::attention) > tp.params_of(ModelPart::attention));
  // And as much where each expert is cut over the data ranks, too.
  const ModelParts cut = rank_parts(qwen, {.tensor = 2, .data = 2});
  CHECK(cut.params_of(ModelPart::experts) == tp.params_of(ModelPart::experts));
  CHECK(cut.params_of(ModelPart::attention) == ep.params_of(ModelPart::attention));
}

TEST_CASE("a model that cannot be split over the ranks is refused") {
  const auto check = [](const char* id, const Sharding& sharding) {
    check_sharding(model(id), sharding);
  };
  CHECK_THROWS_WITH(check("falcon-7b", {.tensor = 2}), Catch::Contains("query heads"));  // 71
  CHECK_THROWS_AS(check("llama-3.1-8b", {.tensor = 0}), ConfigError);
  CHECK_THROWS_WITH(check("llama-3.1-8b", {.pipeline = 33}), Catch::Contains("32 layers"));
  CHECK_THROWS_AS(check("qwen3-30b-a3b", {.tensor = 4, .data = 64, .expert_parallel = true}),
                  ConfigError);
  CHECK_THROWS_WITH(check("qwen3-30b-a3b", {.tensor = 4, .data = 128}),
                    Catch::Contains("expert width"));  // 768
  CHECK_NOTHROW(check("llama-3.1-8b", {.tensor = 8}));
}

}  // namespace headroom::parameters_test
