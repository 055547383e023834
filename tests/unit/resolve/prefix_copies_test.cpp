// Sessions that begin with the same prompt, cached whole: one that is a multiple of the block has
// its last block computed again, and what each session computes behind that copy is found in its
// next turn, as if the prompt were some tokens longer.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "tests/support/temp_file.hpp"

namespace headroom::prefix_copies_test {

namespace {

struct Sessions {
  int count = 0;
  TimeNs apart_ns = 0;
  int prompt = 0;
  int answer = 0;
  int question = 0;
};

// Two turns each, 5 s after the answer to the first. Piece 1 is the common prompt.
std::string trace_of(const Sessions& of) {
  std::string rows =
      "arrival_ns,prompt_tokens,output_tokens,session,after_previous_ns,prefix,output_segment\n";
  for (int i = 0; i < of.count; ++i) {
    const int answer = 1000 + i;
    rows += fmt::format("{},{},{},{},,1:{},{}\n", i * of.apart_ns, of.prompt, of.answer, i,
                        of.prompt, answer);
    rows +=
        fmt::format(",{},8,{},5000000000,1:{}|{}:{}|{}:{},0\n", of.prompt + of.answer + of.question,
                    i, of.prompt, answer, of.answer, 5000 + i, of.question);
  }
  return rows;
}

RunResult result_of(const Sessions& sessions) {
  const TempFile trace(trace_of(sessions));
  const std::string text = R"({"model": "llama-3.1-8b", "device": "h100-sxm",
    "engine": {"name": "vllm", "version": "0.19", "max_model_len": 32768},
    "cost": {"level": "calibrated"},
    "workload": {"trace": {"sessions": "closed", "file": ")" +
                           trace.path() + R"("}}})";
  return run(parse_scenario(parse_json(text, "s.json")), Catalog::embedded());
}

double second_ttft_ms(const Sessions& sessions) {
  const RunResult result = result_of(sessions);
  double sum = 0;
  for (const RequestRecord& record : result.recorder->records()) {
    if (record.prompt_tokens == sessions.prompt) continue;
    sum += static_cast<double>(record.first_token_ns - record.arrival_ns) / 1e6;
  }
  return sum / sessions.count;
}

}  // namespace

// The second turns come at once. Found of 1024 tokens and the 112 of the answer that have KV: all
// 1136, 71 blocks; 10 tokens are computed, and of 1025 + 112 + 10 tokens 11. If nothing behind the
// copies of block 63 were found it would be 122 each, and 62 ms.
TEST_CASE("what sessions compute behind copies of a common block is found in their next turns") {
  const double whole_blocks = second_ttft_ms({20, 0, 1024, 113, 9});
  CHECK(whole_blocks == Approx(second_ttft_ms({20, 0, 1025, 113, 9})).margin(0.5));
  CHECK(whole_blocks < 13);
}

// First turns: 2048, then 16 for each of 199 (1, where the prompt is a token longer). Second turns:
// 2048 + 256 + 192 tokens, of which 2048 + 255 have KV: 143 blocks, 208 tokens are computed; with
// 2049 tokens 144 blocks and 193. If nothing behind the copies were found, 448: 94,576 in all.
TEST_CASE("sessions over whole blocks compute as few tokens as over a token more") {
  const auto computed = [](int prompt) {
    return result_of({200, 500'000'000, prompt, 256, 192}).summary.engine.prefill_tokens;
  };
  CHECK(computed(2048) == 2048 + 199 * 16 + 200 * 208);
  CHECK(computed(2049) == 2049 + 199 * 1 + 200 * 193);
}

}  // namespace headroom::prefix_copies_test
