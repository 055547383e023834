// Rows of the raw tables that the surfaces were made from, each named where it is used. Two
// characters hold a time to 0.13 %.
#include "hardware/kernels/kernel_library.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"

namespace headroom::kernel_library_test {
namespace {

KernelLibrary library(const std::string& device, KernelEngine engine) {
  return {Catalog::embedded().device(device), engine};
}

void check_measured(const KernelTime& time, double us) {
  CHECK(time.us == Approx(us).epsilon(0.0013));
  CHECK(time.fit == Fit::measured);
}

}  // namespace

TEST_CASE("products are those of the fastest release") {
  const KernelLibrary times = library("h100-sxm", KernelEngine::vllm);
  // h100_sxm gemm 4096 x 4096, five releases: vLLM 0.24 15.543 us at m = 16, 0.14 42.61 at 1,024.
  check_measured(times.linear(ProductFormat::bf16, 16, 4096, 4096), 15.543);
  check_measured(times.linear(ProductFormat::bf16, 1024, 4096, 4096), 42.61);
  // vLLM 0.19 at 16, where vLLM 0.14 took 19.5; blocks: SGLang, where vLLM 0.24 took 59.1.
  check_measured(times.linear(ProductFormat::fp8, 16, 4096, 4096), 10.948);
  check_measured(times.linear(ProductFormat::fp8_block, 16, 4096, 4096), 11.123);
  check_measured(times.linear(ProductFormat::fp8_block, 1024, 4096, 4096), 39.647);
}

TEST_CASE("attention is that of the engine's newest release") {
  // h100_sxm/vllm-0.24.0 and sglang-0.5.14, 32 heads of 128, 8 KV heads.
  const AttentionShape shape{.heads = 32, .kv_heads = 8, .head_dim = 128};
  const KernelLibrary vllm = library("h100-sxm", KernelEngine::vllm);
  check_measured(vllm.prefill_attention(shape, 1, 8192), 912.22);
  check_measured(vllm.decode_attention(shape, 32, 1024), 59.819);
  check_measured(vllm.decode_attention(shape, 32, 16384), 688.63);
  AttentionShape sliding = shape;
  sliding.window = 128;
  check_measured(vllm.prefill_attention(sliding, 1, 8192), 173.5);

  const KernelLibrary sglang = library("h100-sxm", KernelEngine::sglang);
  check_measured(sglang.prefill_attention(shape, 1, 8192), 950.49);
  AttentionShape in_8_bit = shape;
  in_8_bit.kv = in_8_bit.query = CacheFormat::fp8;
  check_measured(sglang.prefill_attention(in_8_bit, 1, 8192), 864.87);
}

TEST_CASE("heads larger than the engine's kernels take are those of another one's") {
  // rtx_pro_6000_server/sglang-0.5.14, Triton; vLLM's table there ends at heads of 256.
  AttentionShape shape{.heads = 8, .kv_heads = 1, .head_dim = 512};
  const KernelLibrary vllm = library("rtxpro6000-server", KernelEngine::vllm);
  check_measured(vllm.prefill_attention(shape, 1, 8192), 5600.5);
  shape.kv = CacheFormat::fp8;
  check_measured(vllm.prefill_attention(shape, 1, 8192), 9826.4);
  const KernelLibrary sglang = library("rtxpro6000-server", KernelEngine::sglang);
  CHECK(vllm.decode_attention(shape, 32, 4096).us == sglang.decode_attention(shape, 32, 4096).us);
  // On an H200 vLLM has kernels of its own, FlashAttention 4.
  shape.kv = CacheFormat::bf16;
  CHECK(library("h200-sxm", KernelEngine::vllm).prefill_attention(shape, 1, 8192).us !=
        library("h200-sxm", KernelEngine::sglang).prefill_attention(shape, 1, 8192).us);
}

TEST_CASE("experts are those of the format and the distribution that are wanted") {
  // b200_sxm/vllm-0.24.0 and sglang-0.5.14 moe, gpt-oss-120b on one device, 1,024 tokens.
  ExpertShape shape{.format = ExpertFormat::mxfp4_weights,
                    .hidden = 2880,
                    .intermediate = 2880,
                    .top_k = 4,
                    .experts = 128};
  const KernelLibrary vllm = library("b200", KernelEngine::vllm);
  // vLLM's own take 903.51 and 682.94 us; TensorRT-LLM's are the same kernel, a little faster.
  check_measured(vllm.experts(shape, 1024), 900.02);
  shape.load = ExpertLoad::balanced;
  check_measured(vllm.experts(shape, 1024), 678.52);
  shape.load = ExpertLoad::skewed;
  shape.format = ExpertFormat::mxfp4_mxfp8;
  // vLLM's table does not have this shape in mxfp8: the fastest of the others. SGLang has its own.
  check_measured(vllm.experts(shape, 1024), 498.9);
  check_measured(library("b200", KernelEngine::sglang).experts(shape, 1024), 560.56);
}

TEST_CASE("latent, sparse and recurrent layers come back as measured") {
  // b200_sxm/vllm-0.24.0 mla_generation_module: 64 rows of 4,096 + 1 tokens, 16 heads, nvfp4.
  LatentShape latent{.heads = 16, .products = ProductFormat::nvfp4};
  const KernelLibrary b200 = library("b200", KernelEngine::vllm);
  check_measured(b200.latent_decode(latent, 64, 4097), 119.3);
  latent.kv = CacheFormat::fp8;
  check_measured(b200.latent_decode(latent, 64, 4097), 84.5);

  // h100_sxm/vllm-0.24.0 dsa_generation_module, DeepSeek-V3.2.
  const KernelLibrary h100 = library("h100-sxm", KernelEngine::vllm);
  const SparseShape sparse{.latent = {.heads = 16, .products = ProductFormat::fp8_block}};
  check_measured(h100.sparse_decode(sparse, 64, 4097), 279.1);

  // h100_sxm/vllm-0.24.0 gdn, the faster of two models: 49.291 + 198.35 us for 4,096 tokens,
  // 3.415 + 94.863 us for 64 rows.
  const RecurrentShape recurrent{
      .key_heads = 8, .key_dim = 128, .value_heads = 32, .value_dim = 128};
  check_measured(h100.recurrent_prefill(recurrent, 1, 4096), 247.641);
  check_measured(h100.recurrent_decode(recurrent, 64), 98.278);
}

TEST_CASE("a captured all-reduce has no launch in it") {
  // h100_sxm/vllm-0.24.0 custom_allreduce, 8 devices, 16,384 elements: the slowest of three
  // releases' rows is within 3 %, eager rows take four times as long.
  const KernelLibrary vllm = library("h100-sxm", KernelEngine::vllm);
  CHECK(vllm.all_reduce(8, 16384, true).us == Approx(5.5).epsilon(0.03));
  CHECK(vllm.all_reduce(8, 16384, false).us > 20);
  CHECK(vllm.all_reduce(1, 16384, true).us == 0);
  // sglang-0.5.14 4.0989 us; TensorRT-LLM has one row, without a launch: 3.8394.
  check_measured(library("h100-sxm", KernelEngine::sglang).all_reduce(8, 16384, true), 4.0989);
  check_measured(library("h100-sxm", KernelEngine::trtllm).all_reduce(8, 16384, true), 3.8394);
}

TEST_CASE("above 256k elements the smaller of the engine's all-reduce and NCCL counts") {
  // 4 million elements over 8 devices: custom 50.7 to 79.4 us, NCCL 78.9.
  const KernelLibrary trtllm = library("h100-sxm", KernelEngine::trtllm);
  check_measured(trtllm.nccl(Collective::all_reduce, 8, 4194304), 78.91);
  check_measured(trtllm.all_reduce(8, 4194304, true), 78.91);
  check_measured(library("h100-sxm", KernelEngine::sglang).all_reduce(8, 4194304, true), 62.93);
}

TEST_CASE("the tables of eight devices are in the program") {
  CHECK(KernelLibrary::systems() == std::vector<std::string>{"a100-80", "b200", "b300", "gb200",
                                                             "h100-sxm", "h200-sxm", "l40s",
                                                             "rtxpro6000-server"});
  const Catalog catalog = Catalog::embedded();
  for (const std::string& id : KernelLibrary::systems()) {
    CHECK(catalog.has_device(id));
    for (const KernelEngine engine :
         {KernelEngine::vllm, KernelEngine::sglang, KernelEngine::trtllm}) {
      const KernelLibrary times(catalog.device(id), engine);
      CHECK(times.system() == id);
      CHECK_FALSE(times.is_relative());
      CHECK(times.linear(ProductFormat::bf16, 8, 4096, 4096).us > 0);
      const AttentionShape shape{.heads = 8, .kv_heads = 2, .head_dim = 128};
      CHECK(times.prefill_attention(shape, 1, 1024).us > 0);
      CHECK(times.decode_attention(shape, 8, 1024).us > 0);
      CHECK(times.latent_prefill({.heads = 16}, 1, 1024).us > 0);
      CHECK(times.latent_decode({.heads = 16}, 8, 1024).us > 0);
      CHECK(times.all_reduce(2, 8192, true).us > 0);
    }
  }
}

}  // namespace headroom::kernel_library_test
