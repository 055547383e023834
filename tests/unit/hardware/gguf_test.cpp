// GGUF files by their header. The files are written here, byte by byte.

#include "hardware/llm/gguf_header.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hardware/llm/parameters.hpp"
#include "hardware/llm/weight_files.hpp"
#include "sim/engines/llamacpp/split.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::gguf_test {
namespace {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ4K = 12;
constexpr std::uint32_t kQ6K = 14;

class GgufWriter {
 public:
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  void text(const std::string& value) {
    number(value.size(), 8);
    text_ += value;
  }
  void begin(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    text_ = "GGUF";
    number(version, 4);
    number(tensors, 8);
    number(keys, 8);
  }
  void key(const std::string& name, std::uint32_t value) {
    text(name);
    number(4, 4);
    number(value, 4);
  }
  void key(const std::string& name, const std::string& value) {
    text(name);
    number(8, 4);
    text(value);
  }
  void tensor(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
              std::uint64_t bytes) {
    text(name);
    number(shape.size(), 4);
    for (const std::uint64_t size : shape) number(size, 8);
    number(type, 4);
    number(data_, 8);
    data_ += (bytes + 31) / 32 * 32;
  }
  // With `weights`, the bytes of all tensors, which take no room on disk.
  fs::path write(const fs::path& path, bool weights) const {
    std::ofstream(path, std::ios::binary) << text_;
    if (weights) fs::resize_file(path, (text_.size() + 31) / 32 * 32 + data_);
    return path;
  }
  [[nodiscard]] const std::string& bytes() const { return text_; }

 private:
  std::string text_;
  std::uint64_t data_ = 0;
};

constexpr std::uint64_t kWidth = 256;
constexpr std::uint64_t kFfn = 512;
constexpr std::uint64_t kVocab = 1000;
// Q4_K: 144 bytes per 256 elements, Q6_K: 210.
constexpr std::uint64_t q4k(std::uint64_t elements) { return elements / 256 * 144; }
constexpr std::uint64_t q6k(std::uint64_t elements) { return elements / 256 * 210; }

// Two layers; the second has values and down projection in Q6_K, as Q4_K_M mixes them.
GgufWriter small_llama(bool tied) {
  GgufWriter w;
  w.begin(tied ? 20 : 21, 7);
  w.key("general.architecture", "llama");
  w.key("llama.block_count", 2);
  w.key("llama.embedding_length", kWidth);
  w.key("llama.context_length", 4096);
  w.key("llama.attention.head_count", 8);
  w.key("llama.attention.head_count_kv", 2);
  w.key("llama.feed_forward_length", kFfn);
  w.tensor("token_embd.weight", {kWidth, kVocab}, kQ4K, q4k(kWidth * kVocab));
  if (!tied) w.tensor("output.weight", {kWidth, kVocab}, kQ6K, q6k(kWidth * kVocab));
  w.tensor("output_norm.weight", {kWidth}, kF32, 4 * kWidth);
  for (int i = 0; i < 2; ++i) {
    const auto name = [&](const char* part) { return fmt::format("blk.{}.{}.weight", i, part); };
    const std::uint32_t mixed = i == 0 ? kQ4K : kQ6K;
    const auto bytes = [&](std::uint64_t n) { return i == 0 ? q4k(n) : q6k(n); };
    w.tensor(name("attn_norm"), {kWidth}, kF32, 4 * kWidth);
    w.tensor(name("ffn_norm"), {kWidth}, kF32, 4 * kWidth);
    w.tensor(name("attn_q"), {kWidth, kWidth}, kQ4K, q4k(kWidth * kWidth));
    w.tensor(name("attn_k"), {kWidth, 64}, kQ4K, q4k(kWidth * 64));
    w.tensor(name("attn_v"), {kWidth, 64}, mixed, bytes(kWidth * 64));
    w.tensor(name("attn_output"), {kWidth, kWidth}, kQ4K, q4k(kWidth * kWidth));
    w.tensor(name("ffn_gate"), {kWidth, kFfn}, kQ4K, q4k(kWidth * kFfn));
    w.tensor(name("ffn_up"), {kWidth, kFfn}, kQ4K, q4k(kWidth * kFfn));
    w.tensor(name("ffn_down"), {kFfn, kWidth}, mixed, bytes(kWidth * kFfn));
  }
  return w;
}

// Bytes of layer `i` as they were written.
constexpr ByteCount layer_bytes(int i) {
  const std::uint64_t same = q4k(2 * kWidth * kWidth + kWidth * 64 + 2 * kWidth * kFfn);
  const std::uint64_t mixed = kWidth * 64 + kWidth * kFfn;
  return static_cast<ByteCount>(same + (i == 0 ? q4k(mixed) : q6k(mixed)) + 2 * 4 * kWidth);
}
constexpr auto kTableBytes = static_cast<ByteCount>(q4k(kWidth * kVocab));
constexpr auto kHeadBytes = static_cast<ByteCount>(q6k(kWidth * kVocab));
constexpr ByteCount kNormBytes = 4 * kWidth;

test::About error_of(const fs::path& file) {
  return test::about([&] { return load_model_files(file); });
}

// The first `size` bytes.
fs::path cut(const fs::path& path, const GgufWriter& whole, std::size_t size) {
  std::ofstream(path, std::ios::binary) << whole.bytes().substr(0, size);
  return path;
}

}  // namespace

TEST_CASE("a GGUF header gives geometry and bytes of every layer", "[gguf]") {
  const TempFolder folder;
  const fs::path file =
      small_llama(false).write(fs::path(folder.path()) / "small-Q4_K_M.gguf", true);
  const ModelSpec model = load_model_files(file);
  CHECK(model.id == "small-Q4_K_M");
  CHECK(model.hidden == 256);
  CHECK(model.vocab == 1000);
  CHECK(model.max_position == 4096);
  CHECK_FALSE(model.tie_embeddings);
  REQUIRE(model.layers() == 2);
  CHECK(model.layer(0).attention->kv_heads == 2);
  CHECK(model.layer(0).attention->head_dim == 32);
  CHECK(model.layer(0).mlp->ffn == 512);
  const ModelParts parts = model_parts(model);
  CHECK(parts.bytes_of(ModelPart::embedding) == kTableBytes);
  CHECK(parts.bytes_of(ModelPart::lm_head) == kHeadBytes);
  CHECK(parts.bytes_total() ==
        kTableBytes + kHeadBytes + kNormBytes + layer_bytes(0) + layer_bytes(1));
  CHECK(checkpoint_bytes(model) == parts.bytes_total());
  // The folder of one model is that model.
  CHECK(checkpoint_bytes(load_model_files(folder.path())) == parts.bytes_total());
}

TEST_CASE("layers of a GGUF file on the device and on the host have their own bytes", "[gguf]") {
  const TempFolder folder;
  for (const bool tied : {false, true}) {
    const fs::path file =
        small_llama(tied).write(fs::path(folder.path()) / (tied ? "tied.gguf" : "head.gguf"), true);
    BudgetInputs inputs;
    inputs.model = load_model_files(file);
    const LlamacppBudgetOptions options{.ctx_size = 512, .parallel = 1};
    const ByteCount head = tied ? kTableBytes : kHeadBytes;  // tied: a second copy of the table
    // The output counts first: -ngl 2 is the output and the last layer.
    const LlamacppSplit half = llamacpp_split(inputs, options, 2);
    CHECK(half.device_weights == layer_bytes(1) + head + kNormBytes);
    CHECK(half.host_weights == kTableBytes + layer_bytes(0));
    const LlamacppSplit all = llamacpp_split(inputs, options, 3);
    CHECK(all.device_weights == layer_bytes(0) + layer_bytes(1) + head + kNormBytes);
    CHECK(all.host_weights == kTableBytes);
    const LlamacppSplit none = llamacpp_split(inputs, options, 0);
    CHECK(none.device_weights == 0);
    CHECK(none.host_weights ==
          kTableBytes + layer_bytes(0) + layer_bytes(1) + kNormBytes + (tied ? 0 : kHeadBytes));
  }
}

TEST_CASE("a header without its weights is enough, weights that are cut off are an error",
          "[gguf]") {
  const TempFolder folder;
  const GgufWriter whole = small_llama(false);
  const ModelSpec model =
      load_model_files(whole.write(fs::path(folder.path()) / "header.gguf", false));
  CHECK(model.notes ==
        std::vector<std::string>{"the file holds the header of the model without its weights"});
  const fs::path file = whole.write(fs::path(folder.path()) / "cut.gguf", true);
  fs::resize_file(file, fs::file_size(file) - 1000);
  CHECK_THAT(error_of(file).complaint.problem,
             Contains("cut off") && Contains("blk.1.ffn_down.weight"));
}

TEST_CASE("a GGUF header that is cut off anywhere is an error with file and byte", "[gguf]") {
  const TempFolder folder;
  const GgufWriter whole = small_llama(false);
  for (std::size_t size = 0; size < whole.bytes().size(); size += 7) {
    CAPTURE(size);
    const fs::path file = cut(fs::path(folder.path()) / "cut.gguf", whole, size);
    const test::About about = error_of(file);
    CHECK(about.kind == ErrorKind::value);
    CHECK(about.complaint.origin == file.string());
    CHECK_THAT(about.complaint.problem, Contains("byte "));
  }
}

TEST_CASE("numbers that cannot be are refused before anything is allocated", "[gguf]") {
  const TempFolder folder;
  const auto problem = [&](const GgufWriter& w) {
    return error_of(w.write(fs::path(folder.path()) / "bad.gguf", false)).complaint.problem;
  };
  GgufWriter w;
  w.begin(std::uint64_t{1} << 62, 0);
  CHECK_THAT(problem(w), Contains("byte 8: 4611686018427387904 tensors: at most 1000000"));
  w.begin(900'000, 0);
  CHECK_THAT(problem(w), Contains("do not fit in a file of 24 bytes"));
  w.begin(0, 0, 1);
  CHECK_THAT(problem(w), Contains("byte 4: version 1: only 2 and 3"));
  w.begin(0, 0, 0x03000000);
  CHECK_THAT(problem(w), Contains("big-endian"));
  w.begin(0, 1);
  w.number(std::uint64_t{1} << 40, 8);  // a key as long as no file
  w.number(0, 8);
  CHECK_THAT(problem(w), Contains("byte 24: 1099511627776 characters of a key"));
  w.begin(0, 1);
  w.text("k");
  w.number(99, 4);
  CHECK_THAT(problem(w), Contains("type 99 of k: 0 to 12"));
  w.begin(1, 0);
  w.tensor("t", {256}, 77, 0);
  CHECK_THAT(problem(w), Contains("type 77 of t"));
  w.begin(1, 0);
  w.tensor("t", {100}, kQ4K, 0);
  CHECK_THAT(problem(w), Contains("rows of 100 in t: Q4_K"));
  w.begin(1, 0);
  w.tensor("t", {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, kF32, 0);
  CHECK_THAT(problem(w), Contains("2^46 elements"));
  w.begin(40, 0);
  for (int i = 0; i < 40; ++i) w.tensor("t", {std::uint64_t{1} << 46}, kF32, 0);
  CHECK_THAT(problem(w), Contains("bytes of weights with t: at most 2^50"));
  w.begin(1, 0);
  w.tensor("t", {1, 1, 1, 1, 1}, kF32, 0);
  CHECK_THAT(problem(w), Contains("5 dimensions of t: 1 to 4"));
}

TEST_CASE("files that are no language model say what is missing", "[gguf]") {
  const TempFolder folder;
  std::ofstream(fs::path(folder.path()) / "page.gguf") << "<html>not found</html>";
  CHECK_THAT(error_of(fs::path(folder.path()) / "page.gguf").complaint.problem,
             Contains("byte 0: no GGUF file"));
  GgufWriter w;
  w.begin(0, 0);
  CHECK(error_of(w.write(fs::path(folder.path()) / "empty.gguf", false)).kind ==
        ErrorKind::missing);
  w.begin(0, 1);
  w.key("general.architecture", "llama");
  CHECK_THAT(error_of(w.write(fs::path(folder.path()) / "empty.gguf", false)).complaint.problem,
             Contains("llama.block_count: missing"));
  w.begin(0, 2);
  w.key("general.architecture", "llama");
  w.key("llama.block_count", 4'000'000'000);
  CHECK_THAT(error_of(w.write(fs::path(folder.path()) / "empty.gguf", false)).complaint.problem,
             Contains("llama.block_count: 4000000000: 1 to 2^31"));
  // Several models in one folder.
  CHECK(error_of(folder.path()).kind == ErrorKind::conflict);
}

TEST_CASE("parts of a split model that are not there are named", "[gguf]") {
  const TempFolder folder;
  const fs::path second =
      small_llama(false).write(fs::path(folder.path()) / "big-00002-of-00003.gguf", false);
  const test::About about = error_of(second);
  CHECK(about.kind == ErrorKind::missing);
  CHECK_THAT(about.complaint.problem, Contains("big-00001-of-00003.gguf, big-00003-of-00003.gguf"));
}

}  // namespace headroom::gguf_test
