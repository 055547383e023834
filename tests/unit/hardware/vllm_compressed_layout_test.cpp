#include "sim/engines/vllm/compressed_layout.hpp"

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "hardware/llm/drafter_model.hpp"

namespace headroom::vllm_compressed_layout_test {
namespace {

ModelSpec flash() { return Catalog::embedded().model("deepseek-v4-flash"); }

constexpr EngineVersion kPacked{0, 24};

KvLayout layout_of(const ModelSpec& model, EngineVersion version = kPacked) {
  const auto made = vllm_compressed_layout(model, Dtype::fp8, {}, 0, version);
  REQUIRE(made);
  return made->layout;
}

}  // namespace

TEST_CASE("DeepSeek V4 has groups of entries, windows and compressors") {
  // 43 layers: 21 with entries of 4 tokens, 20 of 128, and a window of 128 tokens in each.
  const KvLayout layout = layout_of(flash());
  REQUIRE(layout.groups.size() == 5);
  CHECK(layout.groups[0] == KvGroup{KvGroupKind::full, 41, 256, 0});
  // 22 slots pad 21, 43, 21 and 20 layers least: the windows are two groups.
  CHECK(layout.groups[1] == KvGroup{KvGroupKind::sliding, 22, 64, 128});
  CHECK(layout.groups[2] == KvGroup{KvGroupKind::sliding, 21, 64, 128});
  CHECK(layout.groups[3] == KvGroup{KvGroupKind::sliding, 21, 4, 8});
  CHECK(layout.groups[4] == KvGroup{KvGroupKind::sliding, 20, 8, 128});
}

TEST_CASE("a block of DeepSeek V4 holds a page of each layer's slot") {
  // 64 entries of 584 bytes, 64 index keys of 132, 2 entries: multiples of 576.
  const KvLayout layout = layout_of(flash());
  CHECK(layout.block_tokens == 256);
  CHECK(layout.block_bytes == 22 * 37440 + 21 * 8640 + 20 * 1728);
  CHECK(layout.bytes_per_token == (21 * (37440 + 8640) + 20 * 1728) / 256);
  const auto plain = vllm_compressed_layout(flash(), Dtype::bf16, {}, 0, kPacked);
  REQUIRE(plain);
  CHECK(plain->layout.block_bytes == 22 * 64 * 1024 + 21 * 8640 + 20 * 2048);
}

TEST_CASE("before 0.24 each slot of DeepSeek V4 has pages of all sizes") {
  CHECK(layout_of(flash(), {0, 23}).block_bytes == 22 * (37440 + 8640 + 1728));
}

TEST_CASE("the log of capacity weighs blocks of DeepSeek V4 by their layers' bytes") {
  const auto made = vllm_compressed_layout(flash(), Dtype::fp8, {}, 0, kPacked);
  REQUIRE(made);
  CHECK(made->page_bytes == std::vector<ByteCount>{21 * (37440 + 8640) + 20 * 1728, 22 * 37440,
                                                   21 * 37440, 21 * (37440 + 8640), 20 * 37440});
  // 121,344 tokens in two steps of 8192: 474, 2 x 259, 4099 and 2065 blocks.
  const ByteCount bytes = 474 * made->page_bytes[0] + 259 * 43 * 37440LL +
                          4099 * made->page_bytes[3] + 2065 * made->page_bytes[4];
  const BlockCount blocks = (bytes + made->page_bytes[0] - 1) / made->page_bytes[0];
  CHECK(compressed_blocks_by_bytes(*made, 121344, 16384) == blocks);
  // 0.26 on two H20 logs 7.7 GiB and about 150,000 tokens (vLLM issue 51041).
  const double pool = 7.7 * (1LL << 30) / static_cast<double>(made->layout.block_bytes);
  CHECK(pool / static_cast<double>(blocks) * 121344 == Approx(150'000).epsilon(0.01));
}

TEST_CASE("a request of DeepSeek V4 holds blocks for a step's tokens beside its length") {
  // An issue of 0.22 logs 6.66 GiB for 30000 tokens in steps of 16384, and 13528 tokens as what
  // 5.44 GiB hold: 118 + 2 x 259 + 4099 + 2065 blocks of 1,051,776 bytes.
  const KvLayout layout = layout_of(flash(), {0, 22});
  CHECK(layout.sequence_blocks(30000, 16384) == 118 + 2 * 259 + 4099 + 2065);
  CHECK(layout.sequence_blocks(13528, 16384) == 53 + 2 * 213 + 3383 + 1692);
  const auto block = static_cast<double>(layout.block_bytes);
  CHECK(6800 * block / (1LL << 30) == Approx(6.66).margin(0.005));
  CHECK(5554 * block / (1LL << 30) == Approx(5.44).margin(0.005));
}

TEST_CASE("a run of DeepSeek V4 sets aside what each sequence holds of its windows") {
  const KvLayout groups = layout_of(flash());
  const KvLayout run = with_windows_as_states(groups);
  CHECK(run.uniform());
  CHECK(run.block_bytes == groups.block_bytes);
  // 128 tokens in blocks of 64 twice, 8 in blocks of 4, 128 in blocks of 8, and one more of each.
  CHECK(run.state_bytes_per_sequence == (2 * 3 + 3 + 17) * groups.block_bytes);
}

TEST_CASE("a prediction module of DeepSeek V4 has a window alone") {
  const ModelSpec target = flash();
  const ModelSpec both = with_drafter_layers(target, {}, 0, mtp_module(target));
  const KvLayout layout = layout_of(both);
  CHECK(layout.groups[1].layers + layout.groups[2].layers == 44);
  CHECK(layout.block_bytes == layout_of(target).block_bytes);
}

TEST_CASE("only models with compressed entries have such groups") {
  const ModelSpec model = Catalog::embedded().model("deepseek-v3");
  CHECK_FALSE(keeps_compressed(model));
  CHECK_FALSE(vllm_compressed_layout(model, Dtype::fp8, {}, 0, kPacked));
}

}  // namespace headroom::vllm_compressed_layout_test
