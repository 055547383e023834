// Step times whose truth is known: the "measured" ones are prices with other constants, and noise.

#include "sim/fidelity/step_times.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "hardware/cost/roofline.hpp"
#include "hardware/llm/hf_config.hpp"
#include "sim/fidelity/step_time_fit.hpp"
#include "sim/report/text/calibrate_report.hpp"
#include "tests/support/about.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::step_times_test {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kDevice = "rtx4090";
constexpr const char* kStart = "generic-async-other";

struct Geometry {
  const char* name;
  const char* config;
};
constexpr Geometry kWide{"wide", R"({"architectures": ["LlamaForCausalLM"], "torch_dtype":
    "bfloat16", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 16,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 16384, "tie_word_embeddings": false})"};
constexpr Geometry kNarrow{"narrow", R"({"architectures": ["LlamaForCausalLM"], "torch_dtype":
    "bfloat16", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
    "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000,
    "max_position_embeddings": 16384, "tie_word_embeddings": false})"};

struct Shape {
  std::int64_t decode_rows;
  TokenCount context;
  std::int64_t chunk_rows;
  TokenCount tokens;
};

std::vector<Shape> decodes() {
  std::vector<Shape> shapes;
  for (const std::int64_t rows : {1, 8, 32, 128}) {
    for (const TokenCount context : {256, 1024, 4096}) shapes.push_back({rows, context, 0, 0});
  }
  return shapes;
}

std::vector<Shape> all_shapes() {
  std::vector<Shape> shapes = decodes();
  for (const TokenCount tokens : {256, 1024, 4096, 8192}) shapes.push_back({0, 0, 1, tokens});
  for (const TokenCount context : {1024, 4096}) {
    for (const TokenCount tokens : {128, 512}) shapes.push_back({32, context, 1, tokens});
  }
  return shapes;
}

double price_us(const Geometry& model, const Shape& s, const Calibration& truth) {
  StepShape shape;
  shape.decode_rows = s.decode_rows;
  shape.decode_context = s.decode_rows * s.context;
  shape.chunk_rows = s.chunk_rows;
  shape.chunk_tokens = shape.chunk_context = s.chunk_rows * s.tokens;
  shape.chunk_pairs_twice = s.chunk_rows * s.tokens * s.tokens;
  shape.sampled_rows = s.decode_rows + s.chunk_rows;
  const RooflineCost cost(read_hf_config({model.config, model.name}),
                          Catalog::embedded().device(kDevice), truth, {});
  StepPrice price;
  cost.price(shape, price);
  return static_cast<double>(price.base) / (1e3 * static_cast<double>(kTicksPerNs));
}

// Uniform in +-noise, with a standard deviation of noise / sqrt(3).
double noise_factor(std::size_t i, double noise) {
  const auto scrambled = static_cast<double>((i * 7919 + 104729) * 2654435761U % 1000003U);
  return 1 + noise * (2 * scrambled / 1000003 - 1);
}

// A probe's file, marked as made up.
std::string made(const std::vector<Geometry>& models, const std::vector<Shape>& shapes,
                 const Calibration& truth, double noise) {
  std::string model_rows;
  std::string step_rows;
  std::size_t number = 0;
  for (const Geometry& model : models) {
    model_rows += fmt::format(R"({}{{"name": "{}", "config": {}}})", model_rows.empty() ? "" : ",",
                              model.name, model.config);
    for (const Shape& s : shapes) {
      const double us = price_us(model, s, truth) * noise_factor(number++, noise);
      step_rows += fmt::format(
          R"({}{{"model": "{}", "decode_rows": {}, "decode_context_tokens": {}, "chunk_rows": {},
              "chunk_tokens": {}, "chunk_prior_tokens": 0, "median_us": {:.4f},
              "least_us": {:.4f}, "most_us": {:.4f}, "repeats": 5}})",
          step_rows.empty() ? "" : ",", model.name, s.decode_rows, s.context, s.chunk_rows,
          s.tokens, us, 0.99 * us, 1.01 * us);
    }
  }
  return fmt::format(R"({{"schema": "headroom-probe", "schema_version": 1, "made_up": true,
      "date_utc": "2026-01-01T00:00:00Z", "versions": {{"torch": "2.9.0"}},
      "device": {{"type": "cuda", "name": "Imaginary", "memory_total_bytes": {}}},
      "models": [{}], "steps": [{}]}})",
                     Catalog::embedded().device(kDevice).memory_reported_bytes, model_rows,
                     step_rows);
}

StepTimes times_of(const std::string& text) {
  return read_step_times(parse_json(text, "made.json"));
}

StepTimeFit fitted(const std::string& text, std::vector<std::string> keys) {
  return fit_step_times({kStart, kDevice, std::move(keys)}, times_of(text), Catalog::embedded());
}

Calibration truth_row() {
  Calibration truth = Catalog::embedded().calibration(kStart);
  truth.weight_bandwidth_share = 0.91;  // the row has 0.83
  truth.compute_share = 0.8;            // 0.7
  truth.kv_bandwidth_share = 0.7;       // 0.88
  truth.prefill_compute_share = 0.35;   // 0.5
  truth.mixed_decode_factor = 2.2;      // 1.5
  truth.layer_ns = 31e3;                // 12 us
  return truth;
}

TEST_CASE("step times: known constants come back, each within its interval") {
  const Calibration truth = truth_row();
  const std::vector<std::string> keys{"weight_bandwidth_share", "compute_share",
                                      "kv_bandwidth_share",     "prefill_compute_share",
                                      "mixed_decode_factor",    "layer_us"};
  const StepTimeFit fit = fitted(made({kWide, kNarrow}, all_shapes(), truth, 0.01), keys);
  for (const FittedConstant& constant : fit.constants) {
    CAPTURE(constant.field->key, constant.value, constant.interval);
    const double known = truth.*constant.field->member / constant.field->unit;
    CHECK(constant.identified);
    CHECK_FALSE(constant.at_limit);
    CHECK(std::abs(constant.value - known) <= constant.interval);
    CHECK(constant.interval < 0.1 * known);
  }
  // What is left is the noise: 1 % / sqrt(3).
  CHECK(fit.rms_after == Approx(0.0058).margin(0.001));
  CHECK(fit.rms_before > 0.1);
  REQUIRE(fit.groups.size() == 6);  // two models, each with decode, prefill and mixed steps
  CHECK(fit.groups[0].scatter == Approx(0.02).epsilon(0.01));
  for (const StepGroup& group : fit.groups) {
    CAPTURE(group.model, name_of(group.kind));
    CHECK(group.after.mean < 0.01);
    // One model alone does not tell time per layer from bandwidth: it predicts another less well.
    CHECK(group.left_out.mean < 0.2);
  }
  CHECK_THAT(calibrate_text(fit), Contains("MADE UP") && Contains("narrow, mixed"));
}

TEST_CASE("step times: without noise the constants come back exactly") {
  const Calibration truth = truth_row();
  const StepTimeFit fit = fitted(made({kWide, kNarrow}, all_shapes(), truth, 0),
                                 {"weight_bandwidth_share", "compute_share", "kv_bandwidth_share",
                                  "prefill_compute_share", "mixed_decode_factor", "layer_us"});
  for (const FittedConstant& constant : fit.constants) {
    CAPTURE(constant.field->key);
    const double known = truth.*constant.field->member / constant.field->unit;
    CHECK(constant.value == Approx(known).epsilon(1e-3));
  }
}

TEST_CASE("step times: what the steps cannot tell is not fitted, and is said") {
  // Decodes alone know nothing of prompts and mixed steps; no step knows of host, client and links.
  const StepTimeFit fit =
      fitted(made({kWide, kNarrow}, decodes(), truth_row(), 0.01),
             {"weight_bandwidth_share", "kv_bandwidth_share", "layer_us", "prefill_compute_share",
              "mixed_decode_factor", "host_step_us", "client_latency_ms", "pcie_latency_us"});
  for (std::size_t i = 0; i < fit.constants.size(); ++i) {
    const FittedConstant& constant = fit.constants[i];
    CAPTURE(constant.field->key);
    CHECK(constant.identified == (i < 3));
    if (!constant.identified) CHECK(constant.value == constant.before);
  }
  CHECK_THAT(calibrate_text(fit), Contains("these steps do not determine it: unchanged"));
}

TEST_CASE("step times: two constants that do the same to one model are not both fitted") {
  // A time per layer and a time per step of a single depth are one time.
  const std::string text = made({kWide}, decodes(), truth_row(), 0.01);
  const StepTimeFit fit = fitted(text, {"layer_us", "step_us"});
  CHECK(fit.constants[0].identified + fit.constants[1].identified == 1);
  CHECK_FALSE(fit.cross_validated);
}

TEST_CASE("step times: host time of a synchronous row is no part of a step's price") {
  Calibration truth = truth_row();
  truth.mode = EngineMode::sync;
  const std::string text = made({kWide, kNarrow}, all_shapes(), truth, 0);
  const auto fit_from = [&](const char* row) {
    return fit_step_times({row, kDevice, {"weight_bandwidth_share", "layer_us"}}, times_of(text),
                          Catalog::embedded());
  };
  const StepTimeFit sync = fit_from("generic-sync-other");
  CHECK(sync.constants[0].value == Approx(fit_from(kStart).constants[0].value).epsilon(1e-9));
  CHECK(sync.calibration.id == "rtx4090-torch-probe-sync");
  CHECK(sync.calibration.host_step_ns == 2.3e6);  // as the row had it
}

TEST_CASE("step times: the fitted row says what it is of, and a catalog takes it") {
  const StepTimeFit fit =
      fitted(made({kWide, kNarrow}, all_shapes(), truth_row(), 0.01), {"compute_share"});
  CHECK_THAT(fit.calibration.source,
             Contains("MADE UP") && Contains("Imaginary, torch 2.9.0, 2026-01-01T00:00:00Z") &&
                 Contains("fitted: compute_share") && Contains("as in generic-async-other"));
  Catalog catalog = Catalog::embedded();
  catalog.overlay_text("calibrations.json", calibrations_file(fit.calibration), "fitted");
  const Calibration& read = catalog.calibration("rtx4090-torch-probe-async");
  CHECK(read.engine == "torch-probe");
  CHECK(read.device == kDevice);
  CHECK(read.source == fit.calibration.source);
  CHECK(read.compute_share == Approx(fit.calibration.compute_share).epsilon(1e-3));
}

TEST_CASE("step times: a bad file is refused with the place, the value and what is allowed") {
  const std::string good = made({kWide}, {{8, 1024, 0, 0}}, truth_row(), 0);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const auto refused = [&](const std::string& from, const std::string& to) {
    return test::about([&] { return times_of(changed(from, to)); });
  };
  CHECK(times_of(good).samples.size() == 1);
  CHECK(refused("headroom-probe", "probe") == test::value_at("/schema"));
  CHECK(refused(R"("schema_version": 1)", R"("schema_version": 2)") ==
        test::value_at("/schema_version"));
  CHECK(refused(R"("type": "cuda")", R"("type": "cpu")") == test::value_at("/device/type"));
  CHECK(refused(R"("made_up": true,)", "") == test::missing_at("/made_up"));
  CHECK(refused(R"("decode_rows": 8)", R"("decode_rows": 0)") ==
        test::value_at("/steps/0/decode_rows"));
  CHECK(refused(R"("decode_rows": 8)", R"("decode_rows": 70000)") ==
        test::value_at("/steps/0/decode_rows"));
  CHECK(refused(R"("chunk_tokens": 0)", R"("chunk_tokens": 5)") ==
        test::value_at("/steps/0/chunk_tokens"));
  CHECK(refused(R"("least_us": )", R"("least_us": -)") == test::value_at("/steps/0/least_us"));
  CHECK(refused(R"("least_us": )", R"("least_us": 9)") == test::value_at("/steps/0/median_us"));
  const test::About key = refused(R"("repeats")", R"("repeat")");
  CHECK(key == test::unknown_at("/steps/0/repeat"));
  CHECK(key.complaint.nearest == "repeats");
  const test::About model = refused(R"("model": "wide")", R"("model": "wid")");
  CHECK(model == test::unknown_at("/steps/0/model"));
  CHECK(model.complaint.nearest == "wide");
  const test::About size = refused(R"("hidden_size": 4096)", R"("hidden_size": "x")");
  CHECK(size == test::value_at("/hidden_size"));
  CHECK(size.complaint.origin == "made.json: /models/0/config");
  CHECK(refused(R"("models": [)", R"("models": [], "x": [)") == test::unknown_at("/x"));
  CHECK(test::about([] { return times_of("{}"); }) == test::missing_at("/schema"));
}

TEST_CASE("step times: another device, row or constant than there is is refused") {
  const StepTimes times = times_of(made({kWide}, decodes(), truth_row(), 0));
  const auto fit = [&](const char* row, const char* device, const char* key) {
    return fit_step_times({row, device, {key}}, times, Catalog::embedded());
  };
  CHECK_THROWS_WITH(fit(kStart, "", "layer_us"), Contains("--device is missing"));
  CHECK(test::about([&] { return fit(kStart, "h100-sxm", "layer_us"); }) ==
        test::value_at("/device/memory_total_bytes"));
  CHECK_THROWS_WITH(fit("h100-sxm-vllm-async", kDevice, "layer_us"),
                    Contains("was fitted on h100-sxm"));
  const test::About constant = test::about([&] { return fit(kStart, kDevice, "layer_ms"); });
  CHECK(constant.kind == ErrorKind::unknown);
  CHECK(constant.complaint.nearest == "layer_us");
  CHECK(fit("rtx4090-vllm-async", "", "layer_us").calibration.device == kDevice);
}

}  // namespace
}  // namespace headroom::step_times_test
