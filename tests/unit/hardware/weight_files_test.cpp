// Bytes of weights from the files of a checkpoint: index and headers.

#include "hardware/llm/weight_files.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "hardware/llm/parameters.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::weight_files_test {
namespace {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Two layers of width 64 in 16 bit.
void write_config(const fs::path& folder, const std::string& more = "") {
  write(folder / "config.json", R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "vocab_size": 100, "max_position_embeddings": 512, "dtype": "bfloat16")" +
                                    more + "}");
}

void write_index(const fs::path& folder, const std::string& total, const std::string& map) {
  write(folder / "model.safetensors.index.json",
        fmt::format(R"({{"metadata": {{"total_size": {}}}, "weight_map": {{{}}}}})", total, map));
}

// A file of the header alone, or with `bytes` of weights.
void write_safetensors(const fs::path& path, const std::string& header, std::uintmax_t bytes = 0) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  write(path, text + header);
  if (bytes > 0) fs::resize_file(path, fs::file_size(path) + bytes);
}

std::string tensor(const std::string& name, int from, int to) {
  return fmt::format(R"("{}": {{"dtype": "BF16", "shape": [{}], "data_offsets": [{}, {}]}})", name,
                     (to - from) / 2, from, to);
}

test::About error_of(const fs::path& folder) {
  return test::about([&] { return load_model_files(folder); });
}

}  // namespace

TEST_CASE("the total of an index is the model's, to the byte", "[weight_files]") {
  const TempFolder folder;
  write_config(folder.path());
  const ByteCount declared = checkpoint_bytes(load_model_files(folder.path()));
  // 2 tables of 100 x 64, per layer 4 x 64 x 64 + 3 x 64 x 128 and two norms, a norm: x 2 bytes.
  CHECK(declared == 2 * (2 * 6400 + 2 * (16384 + 24576 + 128) + 64));
  for (const ByteCount total : {declared + 12'345, declared - 777, declared}) {
    write_index(folder.path(), std::to_string(total), R"("a": "model-00001-of-00002.safetensors")");
    const ModelSpec model = load_model_files(folder.path());
    CHECK(checkpoint_bytes(model) == total);
    CHECK(model_parts(model).bytes_total() == total);
    CHECK(checkpoint_bytes(load_model_files(fs::path(folder.path()) / "config.json")) == total);
    // Divided, the rank's part of it: half of all but the norms.
    const ByteCount rank = rank_parts(model, {.tensor = 2}).bytes_total();
    CHECK(rank > total / 2);
    CHECK(rank < total * 6 / 10);
  }
  // Loaded in another format the files say nothing.
  CHECK(checkpoint_bytes(quantised(load_model_files(folder.path()), Dtype::fp8)) < declared);
}

TEST_CASE("headers of the files give every layer its own bytes", "[weight_files]") {
  const TempFolder folder;
  write_config(folder.path());
  const std::string first = "{" + tensor("model.embed_tokens.weight", 0, 12'800) + "," +
                            tensor("model.layers.0.self_attn.q_proj.weight", 12'800, 20'000) + "}";
  const std::string second = "{\"__metadata__\": {\"format\": \"pt\"}," +
                             tensor("model.layers.1.mlp.up_proj.qweight", 0, 5'000) + "," +
                             tensor("model.layers.2.eh_proj.weight", 5'000, 5'500) + "," +
                             tensor("lm_head.weight", 5'500, 9'000) + "," +
                             tensor("model.norm.weight", 9'000, 9'128) + "}";
  write_index(folder.path(), "1", R"("a": "one.safetensors", "b": "two.safetensors")");
  write_safetensors(fs::path(folder.path()) / "one.safetensors", first, 20'000);
  write_safetensors(fs::path(folder.path()) / "two.safetensors",
                    second);  // fetched without weights
  const ModelSpec model = load_model_files(folder.path());
  REQUIRE(model.stored);
  const ModelParts parts = model_parts(model);
  CHECK(parts.bytes_of(ModelPart::embedding) == 12'800);
  CHECK(parts.bytes_of(ModelPart::attention) == 7'200);
  CHECK(parts.bytes_of(ModelPart::dense_mlp) == 5'000);
  CHECK(parts.bytes_of(ModelPart::lm_head) == 3'500);
  CHECK(model.stored->unloaded == 500);  // a layer beyond those of the config
  CHECK(checkpoint_bytes(model) == 20'000 + 9'128);
}

TEST_CASE("an index that names files of which some are missing is an error", "[weight_files]") {
  const TempFolder folder;
  write_config(folder.path());
  write_index(folder.path(), "170000", R"("a": "one.safetensors", "b": "two.safetensors",
                                          "c": "three.safetensors")");
  write_safetensors(fs::path(folder.path()) / "one.safetensors", "{}");
  const test::About about = error_of(folder.path());
  CHECK(about == test::missing_at("/weight_map"));
  CHECK_THAT(about.complaint.problem,
             Contains("2 of 3 files that are not there: three.safetensors, two.safetensors"));
}

TEST_CASE("totals and maps that cannot be are errors with their place", "[weight_files]") {
  const TempFolder folder;
  write_config(folder.path());
  for (const char* total : {"-1", "\"big\"", "1e30", "12345678901234567890", "0.5"}) {
    CAPTURE(total);
    write_index(folder.path(), total, R"("a": "b.safetensors")");
    CHECK(error_of(folder.path()) == test::value_at("/metadata/total_size"));
  }
  for (const char* total : {"5", "999999999999"}) {  // of another model
    CAPTURE(total);
    write_index(folder.path(), total, R"("a": "b.safetensors")");
    CHECK(error_of(folder.path()) == test::value_at("/metadata/total_size"));
  }
  write_index(folder.path(), "170000", R"("a": "../../etc/passwd")");
  CHECK(error_of(folder.path()) == test::value_at("/weight_map/a"));
  write(fs::path(folder.path()) / "model.safetensors.index.json", "[]");
  CHECK(error_of(folder.path()) == test::value_at(""));
  write(fs::path(folder.path()) / "model.safetensors.index.json", "{\"weight_map\": ");
  CHECK(error_of(folder.path()) == test::unreadable_at(""));
}

TEST_CASE("a header of safetensors that is damaged is an error with its byte", "[weight_files]") {
  const TempFolder folder;
  write_config(folder.path());
  const fs::path file = fs::path(folder.path()) / "model.safetensors";
  const auto problem = [&] { return error_of(folder.path()).complaint.problem; };
  write(file, "abc");
  CHECK_THAT(problem(), Contains("byte 0: cut off: the file has 3 bytes"));
  write(file, std::string(8, '\xff'));
  CHECK_THAT(problem(), Contains("byte 0: a header of 18446744073709551615 bytes"));
  write(file, std::string("\x40\0\0\0\0\0\0\0{}", 10));
  CHECK_THAT(problem(), Contains("byte 0: cut off: a header of 64 bytes in a file of 10"));
  write_safetensors(file, "{" + tensor("a", 10, 4) + "}");
  CHECK(error_of(folder.path()) == test::value_at("/a/data_offsets"));
  write_safetensors(file, "{" + tensor("a", 0, 4000) + ", " + tensor("b", 8, 4000) + "}");
  CHECK_THAT(problem(), Contains("tensors share bytes"));
  write_safetensors(file, "{" + tensor("a", 0, 4000) + "}", 100);
  CHECK_THAT(problem(), Contains("cut off: 100 bytes of weights of 4000"));
}

}  // namespace headroom::weight_files_test
