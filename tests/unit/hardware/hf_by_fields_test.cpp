// Configs of models of 2025 and 2026, and what is read when the architecture's name is new.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "tests/support/about.hpp"

namespace headroom::hf_by_fields_test {
namespace {

using Json = nlohmann::json;
using Catch::Matchers::Contains;

const Json& rows() {
  static const Json kRows = [] {
    std::ifstream in(std::filesystem::path(HEADROOM_SOURCE_DIR) /
                     "tests/data/models/configs_2025_2026.json");
    REQUIRE(in.good());
    return Json::parse(in);
  }();
  return kRows;
}

ModelSpec read(const Json& config) {
  const std::string text = config.dump();
  return read_hf_config({text, "config.json"});
}

// Reads everything; nothing beyond 2048 tokens of context.
Json small_config(const Json& more) {
  Json config = {{"architectures", {"NewNameForCausalLM"}},
                 {"hidden_size", 64},
                 {"intermediate_size", 128},
                 {"num_hidden_layers", 4},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"vocab_size", 100},
                 {"max_position_embeddings", 2048}};
  config.merge_patch(more);
  return config;
}

test::About error_of(const Json& more) {
  return test::about([&] { return read(small_config(more)); });
}

bool has_note(const ModelSpec& model, const std::string& part) {
  return std::ranges::any_of(
      model.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

double off(std::int64_t value, double truth) {
  return std::abs(static_cast<double>(value) / truth - 1);
}

}  // namespace

// `billions` as the name or the card says, `built` as Transformers 5.24 builds the config
// (parameters counted without data), `kv_bytes_per_token` in 16 bit from `kv_terms`.
TEST_CASE("configs of 2025 and 2026 are read with the totals of their models") {
  CHECK(rows().size() == 36);
  for (const Json& row : rows()) {
    INFO(row.at("name"));
    ModelSpec model;
    REQUIRE_NOTHROW(model = read(row.at("config")));
    const std::int64_t params = params_total(model);
    if (row.contains("billions")) CHECK(off(params, row.at("billions").get<double>() * 1e9) < 0.02);
    // Output gates and norms that no field states are missing in two of them: 0.5 and 1.3 %.
    if (row.contains("built")) CHECK(off(params, row.at("built").get<double>()) < 0.015);
    if (row.contains("active_billions")) {
      const double active = row.at("active_billions").get<double>() * 1e9;
      CHECK(off(params_active(model), active) < 0.15);  // with embeddings or without them
    }
    if (row.contains("kv_bytes_per_token")) {
      INFO(row.at("kv_terms"));
      CHECK(kv_bytes_per_token(model, KvFormat{}, Sharding{}) ==
            row.at("kv_bytes_per_token").get<ByteCount>());
    }
  }
}

// LongCat's second attention per layer is in no field, nor the two matrices of Jais' MLPs under
// their usual name; a layer with attention beside a state needs its name, too.
TEST_CASE("a config means the same whatever its architecture is called") {
  for (const Json& row : rows()) {
    const std::string name = row.at("name");
    if (name == "LongCat-Flash-Chat") continue;
    INFO(name);
    Json config = row.at("config");
    if (config.contains("text_config") || name == "gemma-4-26B-A4B") continue;
    const ModelSpec known = read(config);
    config["architectures"] = {"NewNameForCausalLM"};
    config["model_type"] = "new_name";
    ModelSpec unknown;
    REQUIRE_NOTHROW(unknown = read(config));
    CHECK(has_note(unknown, "NewNameForCausalLM is not known"));
    CHECK(kv_bytes_per_token(unknown, KvFormat{}, Sharding{}) ==
          kv_bytes_per_token(known, KvFormat{}, Sharding{}));
    CHECK(state_bytes_per_sequence(unknown, Sharding{}) ==
          state_bytes_per_sequence(known, Sharding{}));
    CHECK(off(params_total(unknown), static_cast<double>(params_total(known))) < 0.015);
  }
}

TEST_CASE("a known model type decides where the architecture's name is new") {
  const ModelSpec model = read(small_config({{"model_type", "qwen3"}, {"head_dim", 16}}));
  CHECK(model.layer(0).attention->qk_norm);
  CHECK(has_note(model, "read as Qwen3ForCausalLM, by its model_type"));
}

TEST_CASE("the number of layers follows from what is stated per layer") {
  Json config =
      small_config({{"layer_types", {"full_attention", "sliding_attention", "sliding_attention"}},
                    {"sliding_window", 64}});
  config.erase("num_hidden_layers");
  const ModelSpec model = read(config);
  REQUIRE(model.layers() == 3);
  CHECK(model.layer(0).attention->window_tokens == 0);
  CHECK(model.layer(2).attention->window_tokens == 64);

  Json hybrid = small_config({{"architectures", {"NemotronHForCausalLM"}},
                              {"hybrid_override_pattern", "M-*M-"},
                              {"mamba_num_heads", 4},
                              {"mamba_head_dim", 16},
                              {"n_groups", 1},
                              {"ssm_state_size", 16},
                              {"conv_kernel", 4}});
  hybrid.erase("num_hidden_layers");
  CHECK(read(hybrid).layers() == 5);
}

// One layer as it was, one without attention, one with a matrix of 64 x 64 in its place, one
// without an MLP. DeciLM: 2 x 3.0 x 64 / 3 = 128, up to 256.
TEST_CASE("pruned layers have the parts that they state") {
  const auto block = [](const Json& attention, const Json& ffn) {
    return Json{{"attention", attention}, {"ffn", ffn}};
  };
  const Json grouped = {{"n_heads_in_group", 2}, {"no_op", false}};
  const Json mlp = {{"ffn_mult", 3.0}, {"no_op", false}};
  const Json none = {{"no_op", true}};
  const Json linear = {{"replace_with_linear", true}};
  const ModelSpec model = read(small_config(
      {{"block_configs",
        {block(grouped, mlp), block(none, mlp), block(linear, mlp), block(grouped, none)}}}));
  REQUIRE(model.layers() == 4);
  CHECK(model.layer(0).attention->kv_heads == 2);
  CHECK(model.layer(0).mlp->ffn == 256);
  CHECK_FALSE(model.layer(1).attention);
  CHECK(model.layer(1).norms == 1);
  CHECK(model.layer(2).extra_params == 64 * 64);
  CHECK_FALSE(model.layer(3).mlp);
  // Two layers of 2 KV heads of 16: 2 x 2 x 2 x 16 x 2 bytes.
  CHECK(kv_bytes_per_token(model, {}, {}) == 256);

  CHECK(error_of({{"block_configs", {block(grouped, mlp)}}}) == test::value_at("/block_configs"));
  const Json three = {{"n_heads_in_group", 3}};
  const std::vector<Json> blocks(4, block(three, {{"ffn_mult", 0}}));
  CHECK(error_of({{"block_configs", blocks}}) == test::value_at("/block_configs/0/ffn/ffn_mult"));
}

TEST_CASE("fields that are stated once per layer are read for each") {
  const ModelSpec model =
      read(small_config({{"num_attention_heads_per_layer", {4, 4, 8, 8}},
                         {"head_dim", 16},
                         {"intermediate_size", {128, 128, 128, 256}},
                         {"per_layer_config", {{"01", {{"num_key_value_heads", 4}}}}}}));
  CHECK(model.layer(0).attention->q_heads == 4);
  CHECK(model.layer(1).attention->kv_heads == 4);
  CHECK(model.layer(2).attention->q_heads == 8);
  CHECK(model.layer(3).mlp->ffn == 256);
  CHECK(error_of({{"intermediate_size", {1, 2}}}) == test::value_at("/intermediate_size"));
  CHECK(error_of({{"per_layer_config", {{"4", {{"head_dim", 8}}}}}}) ==
        test::value_at("/per_layer_config/4"));
}

TEST_CASE("what would change bytes or time and cannot be read is refused with what is allowed") {
  const test::About word = error_of(
      {{"layer_types", Json::array({"full_attention", "telepathy", "full_attention", "conv"})}});
  CHECK(word == test::value_at("/layer_types"));
  CHECK_THAT(word.complaint.problem,
             Contains("\"telepathy\" is not known") && Contains("sliding_attention"));
  CHECK(error_of({{"mlp_layer_types", {"dense", "dense", "dense", "cube"}}, {"num_experts", 4}}) ==
        test::value_at("/mlp_layer_types"));
  const test::About state =
      error_of({{"layer_types", {"mamba", "mamba", "full_attention", "full_attention"}}});
  CHECK(state == test::value_at("/layer_types"));
  CHECK_THAT(state.complaint.problem, Contains("mamba_num_heads"));
  // Sizes of states, but not which layers have them.
  CHECK(error_of({{"linear_num_heads", 4}, {"linear_head_dim", 16}, {"short_conv_kernel_size", 4}})
            .kind == ErrorKind::missing);
  CHECK(error_of({{"is_encoder_decoder", true}}) == test::value_at("/is_encoder_decoder"));
  CHECK(error_of({{"type_vocab_size", 2}}) == test::value_at("/type_vocab_size"));
  CHECK(error_of({{"num_loops", 3}}) == test::value_at("/num_loops"));
  CHECK(error_of({{"ple_layer_ids", {1, 2}}}) == test::value_at("/ple_layer_ids"));
}

TEST_CASE("fields that nothing reads are named") {
  const ModelSpec model =
      read(small_config({{"warp_factor", 9}, {"use_magic", true}, {"rope_theta", 10000}}));
  CHECK(has_note(model, "fields without effect here: use_magic, warp_factor"));
}

// 60 layers of 4 KV heads; 57 of them keep one 16-bit key of 128 more and read 16 blocks of 128.
TEST_CASE("MiniMax-M3 attends to the blocks that an indexer picks") {
  const ModelSpec model = read(rows().at(0).at("config"));
  CHECK_FALSE(model.layer(2).attention->indexer);
  REQUIRE(model.layer(3).attention->indexer);
  CHECK(model.layer(3).attention->indexer->top_k == 2048);
  CHECK(model.layer(2).mlp->ffn == 12288);
  CHECK(model.layer(3).moe->ffn == 3072);
}

// Of 61 layers 30 compress 4 tokens to one entry, 31 compress 128. An entry is 512 x 2 bytes (584
// with fp8: 448 of 8 bit, 64 of 16, 7 scales and one to fill), beside it an index key of 132 in
// the first: (1024 + 132) / 4 and 1024 / 128. What has not become an entry yet is kept in 32 bit,
// value and score: 8 tokens x 2 x 2 x (512 + 128) x 4 bytes and 128 x 2 x 512 x 4.
TEST_CASE("DeepSeek-V4-Pro keeps compressed entries per token and open blocks per sequence") {
  const ModelSpec model = read(rows().at(1).at("config"));
  const auto per_token = [&](Dtype dtype) {
    ByteCount bytes = 0;
    for (const KvClass& c : kv_classes(model, {dtype}, {})) {
      if (c.kind == KvGroupKind::full) bytes += c.layers * c.bytes_per_token;
    }
    return bytes;
  };
  CHECK(per_token(Dtype::bf16) == 30 * 289 + 31 * 8);
  CHECK(per_token(Dtype::fp8) == 30 * 179 + 31 * 5);
  CHECK(state_bytes_per_sequence(model, {}) == 30 * 81'920 + 31 * 524'288);
}

// 78 layers, of which 21 have an indexer of their own: the first three and every fourth from the
// seventh on.
TEST_CASE("layers that take over an earlier choice have no indexer of their own") {
  const Json& row = rows().at(3);
  Json config = row.at("config");
  const ModelSpec listed = read(config);
  config.erase("indexer_types");
  const ModelSpec by_period = read(config);
  CHECK(listed.order == by_period.order);
  CHECK(std::ranges::count_if(listed.order, [&](std::uint16_t kind) {
          return !listed.kinds[kind].attention->indexer->shared;
        }) == 21);
}

}  // namespace headroom::hf_by_fields_test
