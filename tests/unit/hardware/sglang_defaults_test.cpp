#include "sim/engines/sglang/defaults.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "hardware/catalog.hpp"
#include "sim/engines/sglang/budget.hpp"
#include "tests/unit/hardware/budget_models.hpp"

namespace headroom::sglang_defaults_test {
namespace {

using namespace budget_test;

constexpr SglangRelease kByRanks{0, 4, 6};
constexpr SglangRelease kByClass{0, 4, 9};
constexpr SglangRelease kBeforePiecewise{0, 5, 9};
constexpr SglangRelease kPiecewise{0, 5, 12};
constexpr SglangRelease kGraphConfig{0, 5, 16};

double fraction_of(double gib, const SglangBudgetOptions& options, const Sharding& sharding = {},
                   const ModelSpec& model = llama31_8b()) {
  const DeviceSpec device = device_of(gib);
  return sglang_fraction(options, sglang_defaults(device, options.release, sharding), device, model,
                         sharding);
}

double reserved(const SglangBudgetOptions& options, const Sharding& sharding = {}) {
  const DeviceSpec device = device_of(80);
  const SglangDefaults defaults = sglang_defaults(device, options.release, sharding);
  return sglang_reserved_mib(sglang_reserve(options, defaults, device, llama31_8b(), sharding),
                             sharding, 81920);
}

}  // namespace

TEST_CASE("the defaults of SGLang follow the device's memory and the tensor ranks") {
  struct Row {
    double gib;
    std::int64_t chunk, graph_bs, graph_bs_wide;
  };
  // server_args.py, _handle_gpu_memory_settings: one device of each class.
  constexpr std::array<Row, 6> kRows{{{15, 2048, 8, 8},
                                      {24, 2048, 24, 80},
                                      {48, 4096, 32, 160},
                                      {80, 8192, 256, 512},
                                      {140, 8192, 256, 512},
                                      {180, 16384, 512, 512}}};
  for (const Row& row : kRows) {
    INFO(row.gib);
    const DeviceSpec device = device_of(row.gib);
    const SglangDefaults narrow = sglang_defaults(device, kBeforePiecewise, {.tensor = 2});
    CHECK(narrow.chunked_prefill_size == row.chunk);
    CHECK(narrow.cuda_graph_max_bs == row.graph_bs);
    CHECK(narrow.max_prefill_tokens == 16384);
    CHECK(narrow.page_size == 1);
    const SglangDefaults wide = sglang_defaults(device, kBeforePiecewise, {.tensor = 4});
    CHECK(wide.cuda_graph_max_bs == row.graph_bs_wide);
  }
}

TEST_CASE("older releases of SGLang capture smaller batches and chunk by three classes") {
  CHECK(sglang_defaults(device_of(24), {0, 5, 3}, {}).cuda_graph_max_bs == 16);
  CHECK(sglang_defaults(device_of(24), {0, 5, 2}, {}).cuda_graph_max_bs == 8);
  CHECK(sglang_defaults(device_of(24), {0, 5, 2}, {.tensor = 4}).cuda_graph_max_bs == 80);
  CHECK(sglang_defaults(device_of(48), {0, 5, 2}, {}).chunked_prefill_size == 8192);
  CHECK(sglang_defaults(device_of(80), {0, 5, 2}, {}).cuda_graph_max_bs == 160);
  CHECK(sglang_defaults(device_of(140), {0, 5, 2}, {}).cuda_graph_max_bs == 256);
}

TEST_CASE("from 0.5.20 SGLang captures twice as many on cards of 20 to 35 GiB") {
  CHECK(sglang_defaults(device_of(24), {0, 5, 19}, {}).cuda_graph_max_bs == 24);
  CHECK(sglang_defaults(device_of(24), {0, 5, 20}, {}).cuda_graph_max_bs == 48);
  CHECK(sglang_defaults(device_of(24), {0, 5, 20}, {.tensor = 4}).cuda_graph_max_bs == 160);
  CHECK(sglang_defaults(device_of(16), {0, 5, 20}, {}).cuda_graph_max_bs == 8);
  CHECK(sglang_defaults(device_of(48), {0, 5, 20}, {}).cuda_graph_max_bs == 32);
}

TEST_CASE("a release of SGLang is read with its patch, and without one as the newest") {
  CHECK(sglang_release({0, 5}, "0.5.12.post1") == SglangRelease{0, 5, 12});
  CHECK(sglang_release({0, 5}, "v0.5.3rc1") == SglangRelease{0, 5, 2});  // before 0.5.3
  CHECK(sglang_release({0, 5}, "0.5") == SglangRelease{0, 5, 23});
  CHECK(sglang_release({0, 5}, std::nullopt) == SglangRelease{0, 5, 23});
  CHECK(sglang_release({0, 4}, "0.4") == SglangRelease{0, 4, 10});
  CHECK(sglang_release({0, 6}, "0.6") == SglangRelease{0, 6, 0});
}

TEST_CASE("the default fraction of SGLang keeps back chunks, graphs and ranks") {
  // ENGINES.md 12.1 vector 8: 512 + 1.5 x 8192 + 2 x 256 + 1024/8 = 13440 MiB of 81920.
  CHECK(reserved({.release = kBeforePiecewise}) == 13440);
  CHECK(fraction_of(80, {.release = kBeforePiecewise}) == 0.836);
  // 24 GiB: 512 + 3072 + 48 + 128 = 3760 of 24576.
  CHECK(fraction_of(24, {.release = kBeforePiecewise}) == 0.847);
  // At least 10 GiB above 60 GiB: 512 + 3072 + 16 + 128 is less.
  const SglangBudgetOptions small{
      .release = kBeforePiecewise, .chunked_prefill_size = 2048, .cuda_graph_max_bs = 8};
  CHECK(fraction_of(80, small) == 0.875);
  CHECK(sglang_mem_fraction_static(0, 13440) == 0.88);  // memory unknown
}

TEST_CASE("SGLang keeps more for data-parallel attention, drafts and piecewise graphs") {
  const Sharding eight{.tensor = 8};
  // 512 + 12288 + 2 x 512 + 1024, then 3 x 512 x 8 and, above 300, 1.5 x 512 x 8.
  CHECK(reserved({.release = kBeforePiecewise}, eight) == 14848);
  CHECK(reserved({.release = kBeforePiecewise}, {.tensor = 1, .data = 8}) == 14848 + 12288 + 6144);
  CHECK(reserved({.release = kBeforePiecewise,
                  .speculative_algorithm = SglangSpeculation::eagle}) == 13440 + 2048);
  CHECK(reserved({.release = kBeforePiecewise,
                  .speculative_algorithm = SglangSpeculation::standalone}) == 13440 + 6144);
  CHECK(reserved({.release = kBeforePiecewise,
                  .speculative_algorithm = SglangSpeculation::ngram}) == 13440);
  // Without chunks the largest prefill counts: 512 + 1.5 x 16384 + 512 + 128.
  CHECK(reserved({.release = kBeforePiecewise, .chunked_prefill_size = -1}) == 25728);
  // 8 + 14 + 8 + 8 + 12 sizes up to 4096 tokens, 8 more up to 8192: 8 MiB each.
  CHECK(sglang_piecewise_sizes(4096) == 50);
  CHECK(reserved({.release = kBeforePiecewise, .piecewise_cuda_graph = true}) == 13440 + 58 * 8);
}

TEST_CASE("from 0.5.10 SGLang captures prefills, from 0.5.14 it weighs drafts") {
  CHECK(reserved({.release = kPiecewise}) == 13440 + 464);
  CHECK(reserved({.release = kPiecewise, .piecewise_cuda_graph = false}) == 13440);
  CHECK(reserved({.release = kPiecewise}, {.pipeline = 2}) == 13440 + 128);  // not with stages
  const auto eagle = SglangSpeculation::eagle;
  CHECK(reserved({.release = kPiecewise, .speculative_algorithm = eagle}) == 13440 + 464 + 4096);
  CHECK(reserved({.release = kGraphConfig, .speculative_algorithm = eagle}) == 13440 + 464);
  // Graphs that are not captured need no memory.
  CHECK(reserved({.release = kGraphConfig, .disable_cuda_graph = true}) == 13440 + 464 - 512);
}

TEST_CASE("before 0.5.3 the fraction of SGLang is by device class, before 0.4.8 by ranks") {
  // 9.5 + 1 / 2 GiB of 80; 2.8 + 0.1 of 24; 12 + 4 of 140; 32 of 180.
  CHECK(fraction_of(80, {.release = kByClass}) == 0.875);
  CHECK(fraction_of(24, {.release = kByClass}) == 0.879);
  CHECK(fraction_of(140, {.release = kByClass}, {.tensor = 8}) == 0.886);
  CHECK(fraction_of(180, {.release = {0, 5, 2}}) == 0.822);
  CHECK(fraction_of(80, {.release = kByRanks}) == 0.88);
  CHECK(fraction_of(80, {.release = kByRanks}, {.tensor = 2}) == 0.87);
  CHECK(fraction_of(80, {.release = kByRanks}, {.tensor = 8}) == 0.81);
  CHECK(fraction_of(80, {.release = {0, 3, 6}}, {.tensor = 8}) == 0.82);
  // 0.88 + 48 x 0.12 / 140, but 18 GiB are kept: 122 of 140.
  CHECK(fraction_of(140, {.release = kByRanks}) == Approx(122.0 / 140));
}

TEST_CASE("SGLang lowers the default fraction by the size of a vision tower") {
  ModelSpec model = llama31_8b();
  CHECK(sglang_vision_share(model, {}) == 1);
  model.vision.emplace();
  model.vision->named_layers = 24;
  model.vision->named_hidden = 1024;
  CHECK(sglang_vision_share(model, {}) == Approx(0.95));
  CHECK(sglang_vision_share(model, kByRanks) == 1);
  model.vision->named_layers = 48;  // twice the parameters: a tenth less
  CHECK(sglang_vision_share(model, {}) == Approx(0.95 * 0.9));
  model.vision->named_layers = 480;
  CHECK(sglang_vision_share(model, {}) == Approx(0.95 * 0.8));
  // 27 layers of 1,152, which Kimi's config calls vt_*: a log has 0.826 of a share of 0.908.
  const ModelSpec kimi = Catalog::embedded().model("kimi-k2.5");
  CHECK(sglang_vision_share(kimi, {}) == Approx(0.8260405859375 / 0.908).epsilon(0.0003));
  model.vision->named_layers = 0;  // its config says depth, which is not read
  CHECK(sglang_vision_share(model, {}) == Approx(0.95));
  CHECK(fraction_of(80, {}, {}, model) == Approx(0.836 * 0.95));
  CHECK(fraction_of(80, {.release = kPiecewise}, {}, model) == Approx(0.836 * 0.95));
}

}  // namespace headroom::sglang_defaults_test
