#include "hardware/llm/kv_geometry.hpp"

#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "sim/serving/link.hpp"

namespace headroom::kv_geometry_test {
namespace {

ModelSpec model(const char* id) {
  static const Catalog catalog = Catalog::embedded();
  return catalog.model(id);
}

KvLayout layout_of(const char* id, std::int64_t tp = 1, Dtype kv = Dtype::bf16,
                   std::int32_t block = 16) {
  KvGrouping grouping;
  grouping.block_tokens = block;
  return grouped_kv_layout(model(id), {kv}, Sharding{.tensor = tp}, 0, grouping);
}

}  // namespace

TEST_CASE("KV bytes per token are 2 layers kv_heads head_dim bytes") {
  const auto per_token = [](const char* id) { return layout_of(id).bytes_per_token; };
  CHECK(per_token("llama-2-7b") == 2 * 32 * 32 * 128 * 2);  // 524288, VERIFICATION V1
  CHECK(per_token("llama-3-8b") == 2 * 32 * 8 * 128 * 2);   // 131072
  CHECK(per_token("llama-3-70b") == 2 * 80 * 8 * 128 * 2);  // 327680
  CHECK(per_token("opt-13b") == 800 * 1024);                // PagedAttention paper: 800 KiB
  CHECK(per_token("qwen2.5-7b") == 57344);                  // FACTS 003
  CHECK(layout_of("llama-3-8b", 1, Dtype::fp8).bytes_per_token == 65536);
}

TEST_CASE("the bill of long contexts, exact") {
  // FACTS 001: 8192 tokens of an 80-layer, 8-head model: 2684354560 bytes = 2.5 GiB.
  const auto classes = kv_classes(model("llama-3-70b"), {}, {});
  CHECK(sequence_bytes(classes, 8192) == 2'684'354'560);
  CHECK(sequence_bytes(classes, 8192) * 16 == ByteCount{40} << 30);
  // 32 layers, 8 heads, 4 sequences of 4096: 2 GiB.
  CHECK(sequence_bytes(kv_classes(model("llama-3-8b"), {}, {}), 4096) * 4 == ByteCount{2} << 30);
  // FACTS 003: 128, 1024, 4096 and 16384 tokens of Qwen2.5-7B are 7, 56, 224 and 896 MiB.
  const auto qwen = kv_classes(model("qwen2.5-7b"), {}, {});
  CHECK(sequence_bytes(qwen, 128) == 7 << 20);
  CHECK(sequence_bytes(qwen, 1024) == 56 << 20);
  CHECK(sequence_bytes(qwen, 4096) == 224 << 20);
  CHECK(sequence_bytes(qwen, 16384) == 896 << 20);
}

TEST_CASE("KV heads are replicated when there are more ranks than heads") {
  // Llama-3.1-8B: 2 MiB per block of 16 at TP1, 256 KiB at TP8 (one head) and still at TP16
  // (ENGINES.md 12.1, vectors 1 and 2).
  CHECK(layout_of("llama-3.1-8b", 1).block_bytes == 2 << 20);
  CHECK(layout_of("llama-3.1-8b", 8).block_bytes == 256 << 10);
  CHECK(layout_of("llama-3.1-8b", 16).block_bytes == 256 << 10);
}

TEST_CASE("the latent of MLA is held whole by every rank") {
  // Vector 3: (512 + 64) * 2 bytes * 61 layers = 70272 per token, 4497408 per block of 64.
  for (const std::int64_t tp : {1, 8}) {
    const KvLayout layout = layout_of("deepseek-v3", tp, Dtype::bf16, 64);
    CHECK(layout.bytes_per_token == 70272);
    CHECK(layout.block_bytes == 4497408);
  }
}

TEST_CASE("gpt-oss-20b has two groups of twelve layers") {
  // Vector 4: page 32768 bytes, 12 layers per id: 384 KiB; 384 MiB hold 1024 ids.
  const KvLayout layout = layout_of("gpt-oss-20b");
  REQUIRE(layout.groups.size() == 2);
  CHECK(layout.block_bytes == 384 << 10);
  CHECK((ByteCount{384} << 20) / layout.block_bytes == 1024);
  // One prompt of 4096 in one chunk of 8192: 256 full ids; the window takes
  // ceil(min(127 + 8192, 4096) / 16) + 1 = 257. In decode it holds at most ceil(128/16) + 1 = 9.
  CHECK(layout.sequence_blocks(4096, 8192) == 256 + 257);
  CHECK(layout.decode_blocks(4096) == 256 + 9);
}

TEST_CASE("Gemma-3-27B has one full and six sliding groups") {
  // Vector 5: page 131072, 10 layers per id: 1.25 MiB; 131072 tokens with 8192 in flight take 8192
  // ids and 6 * (ceil((1023 + 8192) / 16) + 1 = 577) = 11654 ids = 14.2 GiB.
  const KvLayout layout = layout_of("gemma-3-27b");
  REQUIRE(layout.groups.size() == 7);
  CHECK(layout.block_bytes == 10 * 131072);
  CHECK(layout.groups[0].kind == KvGroupKind::full);
  CHECK(layout.groups[6].layers == 2);  // 52 = 5 * 10 + 2, eight places are padding
  CHECK(layout.sequence_blocks(131072, 8192) == 11654);
  const double gib = static_cast<double>(11654 * layout.block_bytes) / (1 << 30);
  CHECK(gib == Approx(14.2).epsilon(0.002));
}

TEST_CASE("without the hybrid manager windows are kept like full attention") {
  KvGrouping grouping;
  grouping.hybrid_manager = false;
  const KvLayout layout = grouped_kv_layout(model("gpt-oss-20b"), {}, {}, 0, grouping);
  CHECK(layout.uniform());
  CHECK(layout.bytes_per_token == 49152);  // 24 layers
}

TEST_CASE("a recurrent state grows the attention block until its page holds the state") {
  // Qwen3.5-35B-A3B: 30 linear layers with 16 key and 32 value heads of 128, kernel 4. Convolution
  // (2*16*128 + 32*128) * 3 * 2 bytes = 49152, state 32*128*128 * 4 bytes = 2097152; attention
  // keeps 2 * 2 heads * 256 * 2 = 2048 bytes per token: 16 * ceil(2146304 / 32768) = 1056 tokens.
  const KvLayout layout = layout_of("qwen3.5-35b-a3b");
  CHECK(layout.block_tokens == 1056);
  CHECK(layout.state_bytes_per_sequence == 30 * 2146304);
  REQUIRE(layout.groups.size() == 4);  // 10 full layers, 30 recurrent ones in threes of 10
  CHECK(layout.block_bytes == 10 * 1056 * 2048);
  CHECK(layout.sequence_blocks(1, 8192) == 1 + 3);
}

TEST_CASE("2048 tokens of KV move in 5.369 ms at 50 GB/s") {
  // 2048 * 131072 bytes / 50e9 bytes/s = 5368709.12 ns, rounded up.
  SerialLink link(50'000'000'000, 0);
  CHECK(link.transfer(2048 * layout_of("llama-3-8b").bytes_per_token, 0) == 5368710);
}

}  // namespace headroom::kv_geometry_test
