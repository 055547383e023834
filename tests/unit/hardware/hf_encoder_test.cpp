// Encoders, towers that hear, and widths that count two matrices, against published totals.

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::hf_encoder_test {
namespace {

ModelSpec model(const char* id) { return Catalog::embedded().model(id); }
std::int64_t total(const char* id) { return params_total(model(id)); }

}  // namespace

TEST_CASE("encoders have their published totals, but for a stored row of positions") {
  CHECK(total("bge-m3") == 567'754'752);
  CHECK(total("snowflake-arctic-embed-l-v2.0") == 567'754'752);
  CHECK(total("bge-reranker-v2-m3") == 567'755'777);  // a classifier behind the dense layer
  CHECK(total("bge-large-en-v1.5") == 335'142'400 - 512);
  CHECK(total("bge-base-en-v1.5") == 109'482'752 - 512);
  CHECK(total("bge-small-en-v1.5") == 33'360'512 - 512);
  CHECK(total("mxbai-embed-large-v1") == 335'141'888);
  CHECK(total("multilingual-e5-large") == 559'890'946 - 514);
  CHECK(total("all-minilm-l6-v2") == 22'713'216);
  CHECK(total("all-mpnet-base-v2") == 109'486'464);      // a table of relative positions
  CHECK(total("nomic-embed-text-v1.5") == 136'731'648);  // gated, rotary
  CHECK(total("gte-large-en-v1.5") == Approx(434e6).epsilon(0.001));
}

TEST_CASE("an encoder sees what follows, makes vectors and takes as many tokens as it has rows") {
  const ModelSpec bge = model("bge-m3");
  CHECK(is_encoder(bge));
  CHECK(is_embedding_model(bge));
  CHECK(output_rows(bge) == 1024);
  CHECK(bge.max_position == 8192);  // of 8194 rows
  CHECK(model("all-minilm-l6-v2").max_position == 512);
  CHECK(model("all-mpnet-base-v2").max_position == 512);
  CHECK(model("nomic-embed-text-v1.5").max_position == 2048);
  CHECK_FALSE(is_encoder(model("qwen3-embedding-0.6b")));
  CHECK(output_rows(model("qwen3-embedding-0.6b")) == 1024);
  CHECK(output_rows(model("qwen3-0.6b")) == 151'936);
}

TEST_CASE("the form of nomic's config before 2026 is the same model") {
  const ModelSpec old = read_hf_config({R"({"architectures": ["NomicBertModel"],
    "model_type": "nomic_bert", "dtype": "float32", "n_embd": 768, "n_layer": 12, "n_head": 12,
    "n_inner": 3072, "n_positions": 8192, "max_trained_positions": 2048, "type_vocab_size": 2,
    "vocab_size": 30528})",
                                        "inline"});
  CHECK(params_total(old) == 136'731'648);
  CHECK(old.max_position == 2048);
}

TEST_CASE("encoders of another kind are refused, also where they write no types of tokens") {
  const auto read = [](const char* field) {
    return read_hf_config({std::string(R"({"architectures": ["OddModel"], "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128,
      "vocab_size": 100, "max_position_embeddings": 64, ")") +
                               field + R"(": 2})",
                           "inline"});
  };
  CHECK_THROWS_AS(read("type_vocab_size"), ConfigError);
  CHECK_THROWS_AS(read("relative_attention_num_buckets"), ConfigError);
}

TEST_CASE("towers that hear are counted: totals of the parts that are loaded") {
  CHECK(total("qwen2.5-omni-7b") == 8'931'813'888);      // of 10,732,225,440 with what speaks
  CHECK(total("qwen3-omni-30b-a3b") == 31'719'205'488);  // of 35,259,818,545
  CHECK(total("voxtral-mini-3b") == 4'676'271'104);
}

TEST_CASE("a width that counts gate and up together is halved") {
  CHECK(total("qwen-7b-chat") == 7'721'324'544);
  CHECK(total("qwen-72b-chat") == 72'287'920'128);
  CHECK_THROWS_WITH(read_hf_config({R"({"architectures": ["QWenLMHeadModel"], "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 127,
    "vocab_size": 100, "seq_length": 64})",
                                    "inline"}),
                    Catch::Contains("/intermediate_size") && Catch::Contains("a multiple of 2"));
}

}  // namespace headroom::hf_encoder_test
