#include "sim/fidelity/step_breakdown.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/report/text/step_report.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom::step_breakdown_test {
namespace {

using Catch::Matchers::Contains;

Scenario demo(std::vector<std::string> set) {
  ScenarioFlags flags;
  flags.set = std::move(set);
  return load_scenario("demo", flags);
}

double ms(Ticks ticks) { return static_cast<double>(ticks) / 1e6 / double(kTicksPerNs); }

}  // namespace

TEST_CASE("the 476 ms of a decode step are 4.2 ms of bandwidth and an overhead") {
  // Seed 003: Qwen2.5-7B with transformers on an H100, one sequence of 38 tokens. A step reads the
  // weights without the input embedding: (7,615,616,512 - 152,064 x 3,584) x 2 B / 3.35 TB/s =
  // 4.22 ms.
  const Scenario scenario =
      demo({"model=qwen2.5-7b", "device=h100-sxm", R"(engine={"name":"hf"})"});
  const StepQuestion question{.decodes = 1, .context = 38, .measured_ms = 476};
  const StepBreakdown step = explain_step(scenario, Catalog::embedded(), question);
  CHECK(ms(step.data_sheet.sum()) == Approx(4.22).epsilon(0.002));
  CHECK(step.price.base == step.price.base_terms.sum());
  CHECK(ms(step.price.base) > 1.5 * ms(step.data_sheet.sum()));
  const std::string text = step_text(step, question);
  CHECK_THAT(text, Contains("476.00 ms = 4.22 ms data-sheet bound (0.9 %)"));
  CHECK_THAT(text, Contains("of overhead beyond that (98.3 %)"));
  CHECK_THAT(step_json(step, question), Contains("\"measured_ms\": 476.0"));
}

TEST_CASE("a step of chunks and decodes shows each kind of attention") {
  const StepQuestion question{
      .decodes = 8, .context = 1000, .chunks = 2, .chunk_tokens = 512, .cached_tokens = 256};
  const StepBreakdown step = explain_step(demo({}), Catalog::embedded(), question);
  CHECK(step.price.base_terms[CostTerm::attention_prefill] > 0);
  CHECK(step.price.base_terms[CostTerm::attention_decode] > 0);
  CHECK(step.plausible.low <= 1);
  CHECK(step.plausible.high >= 1);  // the row in use is one of those
  CHECK_THAT(step_text(step, question), Contains("2 chunks of 512 prompt tokens after 256"));
}

TEST_CASE("an empty or impossible step is refused by its flag") {
  const auto refused = [](const StepQuestion& question) {
    static_cast<void>(explain_step(demo({}), Catalog::embedded(), question));
  };
  CHECK_THROWS_WITH(refused({}), Contains("the step is empty"));
  CHECK_THROWS_WITH(refused({.decodes = -1}), Contains("--decode: -1"));
  CHECK_THROWS_WITH(refused({.decodes = 1, .context = 0}), Contains("--context: 0"));
  CHECK_THROWS_WITH(refused({.decodes = 1000, .context = 1'000'000'000}), Contains("--context"));
  CHECK_THROWS_WITH(refused({.chunks = 1, .chunk_tokens = 0}), Contains("--chunk-tokens: 0"));
  CHECK_THROWS_WITH(refused({.chunks = 1, .cached_tokens = -5}), Contains("--cached: -5"));
  CHECK_THROWS_WITH(refused({.decodes = 1, .measured_ms = 0}), Contains("--measured-ms"));
}

TEST_CASE("a step larger than the system can hold is refused, whatever prices it") {
  for (const char* level : {"calibrated", "affine"}) {
    const auto refused = [&](const StepQuestion& question) {
      static_cast<void>(
          explain_step(demo({fmt::format("cost.level={}", level)}), Catalog::embedded(), question));
    };
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    CHECK_THROWS_WITH(refused({.chunks = 1, .chunk_tokens = 900'000'000}),
                      Contains("--chunk-tokens: 900000000: this system has at most"));
    CHECK_THROWS_WITH(refused({.chunks = 1, .cached_tokens = kHuge}), Contains("--cached: "));
    CHECK_THROWS_WITH(refused({.decodes = kHuge}), Contains("--decode: "));
    CHECK_THROWS_WITH(refused({.decodes = 1, .chunks = kHuge}), Contains("--chunks: "));
    CHECK_THROWS_WITH(refused({.chunks = 64, .chunk_tokens = 4000}), Contains("tokens in"));
  }
}

}  // namespace headroom::step_breakdown_test
