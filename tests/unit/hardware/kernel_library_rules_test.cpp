// What the kernel library does where nothing was measured.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hardware/catalog.hpp"
#include "hardware/kernels/kernel_library.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::kernel_library_rules_test {
namespace {

KernelLibrary library(const std::string& device, KernelEngine engine = KernelEngine::vllm) {
  return {Catalog::embedded().device(device), engine};
}

}  // namespace

TEST_CASE("times grow with tokens, rows and context over steps that outweigh noise") {
  const KernelLibrary times = library("h100-sxm");
  const AttentionShape shape{.heads = 32, .kv_heads = 8, .head_dim = 128};
  double product = 0;
  double prefill = 0;
  double decode = 0;
  for (double size = 300; size < 40000; size *= 1.7) {
    const double next_product = times.linear(ProductFormat::fp8, size, 6144, 4096).us;
    const double next_prefill = times.prefill_attention(shape, 1, size).us;
    const double next_decode = times.decode_attention(shape, 32, size).us;
    CHECK(next_product > product);
    CHECK(next_prefill > prefill);
    CHECK(next_decode > decode);
    product = next_product;
    prefill = next_prefill;
    decode = next_decode;
  }
}

TEST_CASE("beyond the table products follow operations") {
  const KernelLibrary times = library("h100-sxm");
  const KernelTime last = times.linear(ProductFormat::bf16, 32768, 4096, 4096);
  const KernelTime more = times.linear(ProductFormat::bf16, 131072, 4096, 4096);
  CHECK(more.us == Approx(4 * last.us).epsilon(0.02));
  CHECK(more.fit == Fit::extrapolated);
}

TEST_CASE("a chunk behind a prefix takes the whole less the prefix") {
  const KernelLibrary times = library("h100-sxm");
  const AttentionShape shape{.heads = 32, .kv_heads = 8, .head_dim = 128};
  const KernelTime chunk = times.prefill_attention(shape, 1, 2048, 6144);
  CHECK(chunk.us == Approx(times.prefill_attention(shape, 1, 8192).us -
                           times.prefill_attention(shape, 1, 6144).us));
  CHECK(chunk.fit == Fit::interpolated);
  // Never less than the new tokens alone, where the difference is within noise.
  CHECK(times.prefill_attention(shape, 1, 16, 1).us >= times.prefill_attention(shape, 1, 16).us);
}

TEST_CASE("a window longer than the context is no window") {
  const KernelLibrary times = library("h100-sxm");
  AttentionShape shape{.heads = 32, .kv_heads = 8, .head_dim = 128};
  const double full = times.decode_attention(shape, 32, 2048).us;
  shape.window = 4096;
  CHECK(times.decode_attention(shape, 32, 2048).us == full);
  shape.window = 128;
  CHECK(times.decode_attention(shape, 32, 2048).us < full / 2);
}

TEST_CASE("twice the KV heads decode like twice the rows, and say so") {
  const KernelLibrary times = library("h100-sxm");
  const AttentionShape eight{.heads = 8, .kv_heads = 8, .head_dim = 128};
  const AttentionShape plain{.heads = 32, .kv_heads = 32, .head_dim = 128};
  const KernelTime time = times.decode_attention(plain, 16, 2048);
  CHECK(time.us == Approx(times.decode_attention(eight, 64, 2048).us).epsilon(1e-9));
  CHECK(time.fit == Fit::extrapolated);
  // TensorRT-LLM measured plain multi-head attention: 32 heads of 128 on H100. Extrapolated in
  // the same way from its 8 KV heads it would be within a quarter of that.
  const KernelLibrary trtllm = library("h100-sxm", KernelEngine::trtllm);
  const KernelTime measured = trtllm.decode_attention(plain, 16, 2048);
  CHECK(measured.fit == Fit::measured);
  CHECK(trtllm.decode_attention(eight, 64, 2048).us == Approx(measured.us).epsilon(0.25));
}

TEST_CASE("experts that were not measured have the rate of the nearest shape") {
  const KernelLibrary times = library("h100-sxm");
  // Half as wide as Mixtral 8x7B: at many tokens half its time, from the same grid.
  ExpertShape shape{.format = ExpertFormat::bf16,
                    .hidden = 4096,
                    .intermediate = 14336,
                    .top_k = 2,
                    .experts = 8};
  const KernelTime whole = times.experts(shape, 8192);
  CHECK(whole.fit == Fit::measured);
  shape.intermediate = 14336 / 2 + 64;
  const KernelTime half = times.experts(shape, 8192);
  CHECK(half.fit == Fit::extrapolated);
  CHECK(half.us == Approx(whole.us * 7232 / 14336).epsilon(0.1));
}

TEST_CASE("a split that the engine's table lacks is taken from another engine") {
  // TensorRT-LLM measured gpt-oss on H100 with expert parallelism only; the others both.
  ExpertShape shape{.format = ExpertFormat::mxfp4_weights,
                    .hidden = 2880,
                    .intermediate = 2880,
                    .top_k = 4,
                    .experts = 128,
                    .tensor_parallel = 4};
  CHECK(library("h100-sxm", KernelEngine::trtllm).experts(shape, 1024).us ==
        library("h100-sxm", KernelEngine::vllm).experts(shape, 1024).us);
}

TEST_CASE("SGLang's experts have the runner that it takes for their model, if it is tuned there") {
  const auto slower = [](const char* device, const ExpertShape& shape, double tokens) {
    return library(device, KernelEngine::sglang).experts(shape, tokens).us /
           library(device, KernelEngine::vllm).experts(shape, tokens).us;
  };
  // MiniMax-M2 on B200: Triton, 92 us for 16 tokens where vLLM's kernel takes 66.
  CHECK(slower("b200",
               {.format = ExpertFormat::fp8_block,
                .hidden = 3072,
                .intermediate = 1536,
                .top_k = 8,
                .experts = 256,
                .expert_parallel = 8},
               16) > 1.2);
  // gpt-oss-120b on H100: 1,826 us for 128 tokens by SGLang's table, 590 by vLLM's.
  CHECK(slower("h100-sxm",
               {.format = ExpertFormat::mxfp4_weights,
                .hidden = 2880,
                .intermediate = 2880,
                .top_k = 4,
                .experts = 128},
               128) == 1);
}

TEST_CASE("Marlin with mxfp4 weights runs at the rate of int4 at the same tokens per expert") {
  // Kimi-K2 in int4 (h100_sxm/vllm-0.24.0 moe, 384 experts, 8 per token): 26,287 us for 8,192
  // tokens, 170.7 per expert: 2 * 3 * 7168 * 2048 * 8 * 8192 operations, 220 TFLOP/s.
  const KernelLibrary times = library("h100-sxm");
  const ExpertShape kimi{.format = ExpertFormat::int4_weights,
                         .kernel = ProductKernel::marlin,
                         .hidden = 7168,
                         .intermediate = 2048,
                         .top_k = 8,
                         .experts = 384};
  CHECK(times.experts(kimi, 8192).us == Approx(26287).epsilon(0.0013));
  // gpt-oss at 170.7 tokens per expert; its Triton kernel is faster.
  ExpertShape gpt_oss{.format = ExpertFormat::mxfp4_weights,
                      .kernel = ProductKernel::marlin,
                      .hidden = 2880,
                      .intermediate = 2880,
                      .top_k = 4,
                      .experts = 128};
  const double tokens = 170.67 * 128 / 4;
  const KernelTime marlin = times.experts(gpt_oss, tokens);
  const double tflops = 2.0 * 3 * 2880 * 2880 * 4 * tokens / marlin.us / 1e6;
  CHECK(tflops > 200);
  CHECK(tflops < 240);
  CHECK(marlin.fit == Fit::extrapolated);
  gpt_oss.kernel = ProductKernel::fastest;
  CHECK(times.experts(gpt_oss, tokens).us < marlin.us);
}

TEST_CASE("weights that a device cannot multiply run at Marlin's rate in vLLM and SGLang") {
  // a100_sxm/sglang-0.5.10 moe, int4, balanced, 8 experts of 4096 x 14336, 2 per token: 504.14 us
  // for 4 tokens, one per expert, where the ideal time is 4 + 726,794,240 / 2,039,000 (8 x 3 x
  // 4096 x 14336 weights of 0.515625 bytes, 65,536 + 458,752 bytes of activations) + 9.0 us of
  // operations: 369.5. A product of 14336 x 4096 at one token: 2 + 14.85 + 0.02 + 0.38 us.
  const KernelLibrary times = library("a100-80");
  const KernelTime product = times.linear(ProductFormat::int4_weights, 1, 14336, 4096);
  CHECK(product.us == Approx(504.14 / 369.5 * 17.25).epsilon(0.01));
  CHECK(product.fit == Fit::extrapolated);
  // fp8 has twice the bytes there, and at many tokens the same arithmetic.
  const KernelTime wide = times.linear(ProductFormat::fp8, 1, 14336, 4096);
  CHECK(wide.us == Approx(504.14 / 369.5 * (2 + 28.8 + 0.02 + 0.38)).epsilon(0.01));
  CHECK(times.linear(ProductFormat::fp8, 4096, 14336, 4096).us ==
        Approx(times.linear(ProductFormat::int4_weights, 4096, 14336, 4096).us).epsilon(0.02));
  CHECK(times.linear(ProductFormat::fp8, 4096, 14336, 4096).us >
        1.5 * times.linear(ProductFormat::bf16, 4096, 14336, 4096).us);
  // TensorRT-LLM has kernels of its own, which were measured.
  const KernelLibrary trtllm = library("a100-80", KernelEngine::trtllm);
  CHECK(trtllm.linear(ProductFormat::int4_weights, 16, 4096, 4096).fit != Fit::extrapolated);
}

TEST_CASE("a command chooses Marlin for weights that the device could multiply") {
  const KernelLibrary times = library("rtxpro6000-server");
  CHECK_FALSE(times.runs_marlin(ProductFormat::nvfp4, ProductKernel::fastest));
  CHECK(times.runs_marlin(ProductFormat::nvfp4, ProductKernel::marlin));
  CHECK_FALSE(times.runs_marlin(ProductFormat::bf16, ProductKernel::marlin));
  const auto product = [&](ProductFormat format, ProductKernel kernel) {
    return times.linear(format, 4096, 8192, 8192, kernel).us;
  };
  CHECK(product(ProductFormat::nvfp4, ProductKernel::marlin) >
        2 * product(ProductFormat::nvfp4, ProductKernel::fastest));
  CHECK(product(ProductFormat::bf16, ProductKernel::marlin) ==
        product(ProductFormat::bf16, ProductKernel::fastest));
  ExpertShape shape{.format = ExpertFormat::nvfp4,
                    .hidden = 2048,
                    .intermediate = 768,
                    .top_k = 8,
                    .experts = 128};
  const double fastest = times.experts(shape, 8192).us;
  shape.kernel = ProductKernel::marlin;
  CHECK(times.experts(shape, 8192).us > 1.5 * fastest);
}

TEST_CASE("experts that Marlin unpacks go by the tokens of each expert, whatever the ranks") {
  // Half of the experts are half of the weights; where they were timed with expert parallelism, all
  // tokens' routes were computed on the one device.
  const KernelLibrary times = library("a100-80");
  ExpertShape shape{.format = ExpertFormat::fp8,
                    .hidden = 4096,
                    .intermediate = 1536,
                    .top_k = 8,
                    .experts = 128};
  const double whole = times.experts(shape, 4096).us;
  shape.expert_parallel = 8;
  CHECK(times.experts(shape, 4096).us == Approx(whole / 8).epsilon(0.1));
}

TEST_CASE("recurrent layers of a device without them are those of the nearest that has them") {
  const KernelLibrary ampere = library("rtx3090");
  CHECK(ampere.system() == "a100-80");
  CHECK(ampere.recurrent_system() == "l40s");
  CHECK(library("h100-sxm").recurrent_system() == "h100-sxm");
  const RecurrentShape shape{.key_heads = 16, .key_dim = 128, .value_heads = 48, .value_dim = 128};
  const KernelTime prefill = ampere.recurrent_prefill(shape, 1, 4096);
  CHECK(prefill.fit >= Fit::scaled_from_relative);
  CHECK(prefill.us > library("l40s").recurrent_prefill(shape, 1, 4096).us);
  // The A100 was measured decoding.
  CHECK(library("a100-80").recurrent_decode(shape, 32).fit < Fit::scaled_from_relative);
}

TEST_CASE("SGLang's latent attention is put together from kernel and products") {
  // h200_sxm/sglang-0.5.14 generation_mla: 64 rows of 4,096 tokens, 16 heads: 92.078 us alone.
  const KernelLibrary times = library("h200-sxm", KernelEngine::sglang);
  const LatentShape shape{.heads = 16};
  const KernelTime block = times.latent_decode(shape, 64, 4096);
  double products = times.linear(ProductFormat::bf16, 64, 2112, 7168).us;
  products += times.linear(ProductFormat::bf16, 64, 16 * 192, 1536).us;
  products += times.linear(ProductFormat::bf16, 64, 7168, 16 * 128).us;
  CHECK(block.us > 92.078 + products);
  CHECK(block.us < 92.078 + products + 20);  // two small batched products
}

TEST_CASE("no product reads its weights faster than memory gives them") {
  for (const std::string& system : KernelLibrary::systems()) {
    const KernelLibrary times = library(system);
    const double bytes_per_us = Catalog::embedded().device(system).bandwidth_bytes_per_s / 1e6;
    for (const std::int64_t width : {1024, 2048, 4096, 8192}) {
      const double weights = 2.0 * static_cast<double>(width * width);
      CAPTURE(system, width);
      CHECK(weights / times.linear(ProductFormat::bf16, 1, width, width).us < bytes_per_us);
    }
  }
}

TEST_CASE("the experts of one token come from memory, not from a cache") {
  // Qwen3-30B-A3B, whose eight experts fit into the L2 of an L40S: 76 MB.
  const ExpertShape shape{.format = ExpertFormat::bf16,
                          .hidden = 2048,
                          .intermediate = 768,
                          .top_k = 8,
                          .experts = 128};
  const double weights = 8 * 3 * 2.0 * 2048 * 768;
  for (const std::string& system : KernelLibrary::systems()) {
    const double bytes_per_us = Catalog::embedded().device(system).bandwidth_bytes_per_s / 1e6;
    for (const KernelEngine engine : {KernelEngine::vllm, KernelEngine::sglang}) {
      CAPTURE(system);
      CHECK(weights / library(system, engine).experts(shape, 1).us < bytes_per_us);
    }
  }
}

TEST_CASE("check bits in the same memory are bandwidth that data do not have") {
  // L40S, 864 GB/s with ECC; the RTX 6000 Ada, 960 GB/s, is sold with ECC off.
  const AttentionShape shape{.heads = 32, .kv_heads = 8, .head_dim = 128};
  const double with = library("l40s").decode_attention(shape, 32, 16384).us;
  const double without = library("rtx6000ada").decode_attention(shape, 32, 16384).us;
  CHECK(with / without == Approx(960.0 / (864 * 15.0 / 16)).epsilon(0.01));
}

TEST_CASE("a device without tables takes those of its nearest relative, scaled") {
  const KernelLibrary pcie = library("h100-pcie");
  CHECK(pcie.system() == "h100-sxm");
  CHECK(pcie.is_relative());
  const KernelLibrary sxm = library("h100-sxm");
  // Decoding with long contexts is bound by bandwidth: 3350 / 2039 GB/s.
  const AttentionShape shape{.heads = 32, .kv_heads = 8, .head_dim = 128};
  const KernelTime decode = pcie.decode_attention(shape, 32, 16384);
  CHECK(decode.fit == Fit::scaled_from_relative);
  CHECK(decode.us / sxm.decode_attention(shape, 32, 16384).us ==
        Approx(3350.0 / 2039).epsilon(0.02));
  // Large products by arithmetic: 989.4 / 756.5 TFLOP/s.
  CHECK(pcie.linear(ProductFormat::bf16, 8192, 8192, 8192).us /
            sxm.linear(ProductFormat::bf16, 8192, 8192, 8192).us ==
        Approx(989.4 / 756.5).epsilon(0.03));
  CHECK(library("l4").system() == "l40s");
  CHECK(library("rtx5090").system() == "rtxpro6000-server");
  CHECK(library("gh200-144").system() == "h200-sxm");
}

TEST_CASE("a relative of another generation or kind of memory is none to prefer") {
  const Catalog catalog = Catalog::embedded();
  const auto has = [&](const char* id) { return KernelLibrary::is_near(catalog.device(id)); };
  CHECK(has("h100-sxm"));
  CHECK(has("h100-nvl"));
  CHECK(has("rtx3090"));
  CHECK_FALSE(has("thor-128"));  // 11.0, beside servers of 10.0 and 10.3
  CHECK_FALSE(has("orin-64"));   // unified memory
  CHECK(has("mi300x"));          // its row names whose to take
  CHECK(has("gb10"));            // likewise
  CHECK_FALSE(has("mi250x"));
  CHECK_FALSE(has("t4"));
}

TEST_CASE("a device takes the kernels that its row names, scaled by what each attains") {
  const KernelLibrary amd = library("mi300x");
  const KernelLibrary h200 = library("h200-sxm");
  CHECK(amd.system() == "h200-sxm");
  CHECK(amd.is_relative());
  CHECK(library("mi325x").system() == "h200-sxm");
  CHECK(library("mi355x").system() == "b200");
  // Decoding with long contexts is bound by bandwidth, of which attention attains less:
  // 4800 / (5325 x 0.88 x 0.48).
  const AttentionShape shape{.heads = 32, .kv_heads = 8, .head_dim = 128};
  const KernelTime decode = amd.decode_attention(shape, 32, 16384);
  CHECK(decode.fit == Fit::scaled_from_relative);
  CHECK(decode.us / h200.decode_attention(shape, 32, 16384).us ==
        Approx(4800 / (5325 * 0.88 * 0.48)).epsilon(0.02));
  // Large products by arithmetic: 989.4 / (1307.4 x 0.64), in 8 bit 1978.9 / (2614.9 x 0.67).
  const auto product = [&](ProductFormat format) {
    return amd.linear(format, 16384, 8192, 8192).us / h200.linear(format, 16384, 8192, 8192).us;
  };
  CHECK(product(ProductFormat::bf16) == Approx(989.4 / (1307.4 * 0.64)).epsilon(0.03));
  CHECK(product(ProductFormat::fp8) == Approx(1978.9 / (2614.9 * 0.67)).epsilon(0.03));
  // The smallest by their start, 1.6 times as long; so are short exchanges.
  CHECK(amd.linear(ProductFormat::bf16, 1, 64, 128).us /
            h200.linear(ProductFormat::bf16, 1, 64, 128).us ==
        Approx(1.6).epsilon(0.02));
  CHECK(amd.all_reduce(8, 128, true).us / h200.all_reduce(8, 128, true).us ==
        Approx(1.6).epsilon(0.02));
  // Long ones by the link: 450 / (448 x 0.66).
  CHECK(amd.all_reduce(8, 5e8, true).us / h200.all_reduce(8, 5e8, true).us ==
        Approx(450 / (448 * 0.66)).epsilon(0.02));
}

TEST_CASE("attention of decodes on AMD's devices takes what a microbenchmark measured") {
  // AITER on an MI350X, 64 heads on 8 KV heads of 128 in bf16, in microseconds
  // (github.com/facebookexperimental/triton/pull/2040): 16 to 64 rows of 8k and 32k tokens.
  const KernelLibrary amd = library("mi355x");
  const AttentionShape shape{.heads = 64, .kv_heads = 8, .head_dim = 128};
  const auto us = [&](double rows, double context) {
    return amd.decode_attention(shape, rows, context).us;
  };
  CHECK(us(16, 8192) == Approx(195.1).epsilon(0.1));
  CHECK(us(64, 8192) == Approx(815.6).epsilon(0.1));
  CHECK(us(256, 8192) == Approx(3189.5).epsilon(0.1));
  CHECK(us(16, 32768) == Approx(744.3).epsilon(0.1));
  CHECK(us(64, 32768) == Approx(3042.3).epsilon(0.1));
}

TEST_CASE("devices with a link to each other attain as much of three links as of seven") {
  // Of 8 devices each moves 7/8 of a sum over 7 links, of 4 3/4 over 3, of 2 a half over one.
  // Behind a switch 2 devices attain 0.61 of what 8 do (tables of h200-sxm): not carried over.
  const KernelLibrary amd = library("mi300x");
  const double eight = amd.all_reduce(8, 5e8, true).us;
  CHECK(amd.all_reduce(4, 5e8, true).us / eight == Approx(2).epsilon(0.03));
  CHECK(amd.all_reduce(2, 5e8, true).us / eight == Approx(4).epsilon(0.03));
  // One link of 64 GB/s, of which 48 are usable (github.com/ROCm/rccl/issues/1210): 1e9 bytes each
  // way.
  const double gb_per_s = 5e8 * 2 / amd.all_reduce(2, 5e8, true).us * 1e-3;
  CHECK(gb_per_s > 36);
  CHECK(gb_per_s < 48);
}

TEST_CASE("weights of 4 bits run as on the device whose kernels are taken") {
  // Products in nvfp4: the MI300X, as the H200, has no units for them and unpacks; the MI355X has.
  CHECK(library("mi300x").runs_marlin(ProductFormat::nvfp4, ProductKernel::fastest));
  CHECK_FALSE(library("mi355x").runs_marlin(ProductFormat::nvfp4, ProductKernel::fastest));
  CHECK_FALSE(library("mi300x").runs_marlin(ProductFormat::fp8, ProductKernel::fastest));
  CHECK_FALSE(library("mi300x").runs_marlin(ProductFormat::int4_weights, ProductKernel::fastest));
}

TEST_CASE("a device without a relative is refused with what there is") {
  CHECK_FALSE(KernelLibrary::has_any_for(Catalog::embedded().device("mi250x")));
  CHECK_THROWS_WITH(library("mi250x"), Catch::Contains("mi250x") && Catch::Contains("cdna2") &&
                                           Catch::Contains("a100-80, b200, b300, gb200, h100-sxm"));
}

TEST_CASE("a class that a device lacks is refused, a number format is not") {
  const KernelLibrary times = library("a100-80");
  const SparseShape sparse{.latent = {.heads = 16}};
  CHECK_THROWS_WITH(times.sparse_decode(sparse, 8, 1024),
                    Catch::Contains("no kernel times of sparse_decode on a100-80"));
  // 8-bit weights on a device that multiplies in 16 bit: half the bytes at few tokens.
  const KernelTime narrow = times.linear(ProductFormat::fp8, 1, 8192, 8192);
  CHECK(narrow.fit == Fit::extrapolated);
  CHECK(narrow.us < 0.6 * times.linear(ProductFormat::bf16, 1, 8192, 8192).us);
}

TEST_CASE("impossible queries are bugs of the caller") {
  const KernelLibrary times = library("h100-sxm");
  CHECK_THROWS_AS(times.linear(ProductFormat::bf16, 0, 8, 8), InternalError);
  CHECK_THROWS_AS(times.decode_attention({.heads = 8, .kv_heads = 0, .head_dim = 64}, 1, 1),
                  InternalError);
}

TEST_CASE("kernels tuned for a device correct what its rates make of another one's") {
  using Tuned = DeviceSpec::KernelsOf::Tuned;
  const Catalog catalog = Catalog::embedded();
  DeviceSpec device = catalog.device("mi300x");
  device.kernels_of->tuned = {{Tuned::Kernels::products, "fp8_block", {4, 64}, {0.5, 2}},
                              {Tuned::Kernels::experts, "bf16", {16}, {3}}};
  const KernelLibrary tuned(device, KernelEngine::sglang);
  device.kernels_of->tuned.clear();
  const KernelLibrary scaled(device, KernelEngine::sglang);
  const auto product = [&](ProductFormat format, double m) {
    const auto us = [&](const KernelLibrary& of) {
      return of.linear(format, m, 4096, 4096, ProductKernel::fastest).us;
    };
    return us(tuned) / us(scaled);
  };
  CHECK(product(ProductFormat::fp8_block, 1) == Approx(0.5));   // level below the first
  CHECK(product(ProductFormat::fp8_block, 16) == Approx(1));    // half way between logarithms
  CHECK(product(ProductFormat::fp8_block, 1000) == Approx(2));  // and beyond the last
  CHECK(product(ProductFormat::bf16, 1) == Approx(1));
  const ExpertShape shape{.hidden = 2048, .intermediate = 768, .top_k = 8, .experts = 128};
  CHECK(tuned.experts(shape, 16).us / scaled.experts(shape, 16).us == Approx(3));
}

}  // namespace headroom::kernel_library_rules_test
