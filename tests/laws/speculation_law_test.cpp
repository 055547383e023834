// The accept model of speculative decoding in a running engine (ENGINES.md 5).

#include <catch2/catch.hpp>

#include <cmath>
#include <memory>
#include <vector>

#include "scheduler/batching/vllm_drafts.hpp"
#include "scheduler/kv/paged.hpp"
#include "tests/support/policy_run.hpp"

namespace headroom::test::speculation_law_test {
namespace {

struct Emitted {
  double mean = 0;  // tokens of a row and step as verified, its own one included
  double rows = 0;
};

// 32 answers of 1500 tokens, all in one batch.
Emitted emitted_with(const std::vector<double>& rates) {
  SchedulerOptions options;
  options.max_num_seqs = 32;
  options.speculation.num_speculative_tokens = static_cast<std::int32_t>(rates.size());
  PolicySetup setup;
  setup.scheduler = std::make_unique<VllmDraftScheduler>(options);
  setup.kv = std::make_unique<PagedKv>(PagedKvOptions{.blocks = 4000});
  setup.options.max_sequences = options.max_num_seqs;
  setup.options.max_step_tokens = options.max_num_batched_tokens;
  setup.options.acceptance = DraftAcceptance(20260101, rates);
  Arrival arrival;
  arrival.prompt_tokens = 10;
  arrival.output_tokens = arrival.max_tokens = 1500;
  const PolicyRun run = run_policy(std::move(setup), std::vector<Arrival>(32, arrival));
  Emitted emitted;
  for (const PolicyStep& step : run.steps) emitted.rows += static_cast<double>(step.decode_rows);
  emitted.mean = 1 + static_cast<double>(run.accepted_drafts) / emitted.rows;
  return emitted;
}

// P(a >= j) is the product of the first j rates; E[a] = sum of them, E[a^2] = sum (2 j - 1) of
// them.
bool agrees(const Emitted& emitted, const std::vector<double>& rates) {
  double reach = 1;
  double mean = 0;
  double squares = 0;
  for (std::size_t j = 1; j <= rates.size(); ++j) {
    reach *= rates[j - 1];
    mean += reach;
    squares += (2 * static_cast<double>(j) - 1) * reach;
  }
  const double standard_error = std::sqrt((squares - mean * mean) / emitted.rows);
  return std::abs(emitted.mean - 1 - mean) < 4 * standard_error;
}

TEST_CASE("drafts accepted at one rate emit (1 - a^(k+1)) / (1 - a) tokens a step",
          "[laws][speculation]") {
  const Emitted emitted = emitted_with({0.7, 0.7, 0.7, 0.7});
  const double law = (1 - std::pow(0.7, 5)) / 0.3;
  CHECK(emitted.mean == Approx(law).epsilon(0.02));
  CHECK(agrees(emitted, {0.7, 0.7, 0.7, 0.7}));
  CHECK_FALSE(agrees(emitted, {0.67, 0.67, 0.67, 0.67}));
}

TEST_CASE("drafts accepted by position emit 1 + p1 + p1 p2 + ... tokens a step",
          "[laws][speculation]") {
  const Emitted emitted = emitted_with({0.8, 0.6, 0.5});
  CHECK(emitted.mean == Approx(1 + 0.8 + 0.48 + 0.24).epsilon(0.02));
  CHECK(agrees(emitted, {0.8, 0.6, 0.5}));
  CHECK_FALSE(agrees(emitted, {0.6, 0.8, 0.5}));  // order matters: 1 + 0.6 + 0.48 + 0.24
}

}  // namespace
}  // namespace headroom::test::speculation_law_test
