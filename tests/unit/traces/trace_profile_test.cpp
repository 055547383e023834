#include "sim/traces/trace_profile.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"

namespace headroom::trace_profile_test {
namespace {

// --- the published traces against the table of the reference -------------------------------------

// One row of TRACES.md 1, as printed there.
struct Published {
  std::string file;
  std::string rows;
  std::string span_s;
  std::string rate;
  std::string peak_to_mean;
  std::string cv;
  std::string input;
  std::string output;
  std::int64_t sessions = 0;
  std::int64_t max_turns = 0;
  bool without_zero_tokens = false;
};

// With as many decimals as `printed`.
std::string as(const std::string& printed, double value) {
  const std::size_t point = printed.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : printed.size() - point - 1;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string lengths(const LengthStats& s) {
  return fmt::format("{}/{}/{}/{}", s.p50_tokens, s.p90_tokens, s.p99_tokens, s.max_tokens);
}

void check_published(const Published& row) {
  INFO(row.file);
  const std::string path = std::string(HEADROOM_SHARED_DIR) + "/traces/" + row.file;
  if (!std::filesystem::exists(path)) {
    WARN("skipped: " << row.file << " is not on this machine");
    return;
  }
  const TraceProfile profile = profile_trace(path);
  const RowsProfile& rows = row.without_zero_tokens ? profile.left : profile.all;
  CHECK(std::to_string(rows.rows) == row.rows);
  CHECK(lengths(rows.input) == row.input);
  CHECK(lengths(rows.output) == row.output);
  CHECK(profile.sessions.sessions == row.sessions);
  CHECK(profile.sessions.max_turns == row.max_turns);
  const ArrivalStats& arrivals = rows.arrivals;
  if (row.span_s.empty()) {
    CHECK(profile.clock == TraceClock::none);
    CHECK(arrivals.arrivals == 0);
    return;
  }
  REQUIRE(arrivals.arrivals == rows.rows);
  CHECK(as(row.span_s, static_cast<double>(arrivals.span_ns) / 1e9) == row.span_s);
  CHECK(as(row.rate, arrivals.rate_per_s.value()) == row.rate);
  CHECK(as(row.cv, arrivals.gap_cv.value()) == row.cv);
  CHECK(arrivals.peak_to_mean.has_value() == !row.peak_to_mean.empty());
  if (arrivals.peak_to_mean)
    CHECK(as(row.peak_to_mean, *arrivals.peak_to_mean) == row.peak_to_mean);
}

TEST_CASE("published traces have the numbers of the reference table") {
  const Published code{"azure-llm-2023/AzureLLMInferenceTrace_code.csv",
                       "8819",
                       "3435.948",
                       "2.567",
                       "4.10",
                       "13.15",
                       "1469/5187/7436/7437",
                       "13/55/251/1899"};
  const Published conv{"azure-llm-2023/AzureLLMInferenceTrace_conv.csv",
                       "19366",
                       "3501.722",
                       "5.530",
                       "1.53",
                       "1.09",
                       "1020/2734/4142/14050",
                       "129/424/601/1000"};
  check_published(code);
  check_published(conv);
  // The same rows, rebased.
  Published vidur = code;
  vidur.file = "vidur-processed/splitwise_code.csv";
  check_published(vidur);
  vidur = conv;
  vidur.file = "vidur-processed/splitwise_conv.csv";
  check_published(vidur);
  check_published({"mooncake-fast25/conversation_trace.jsonl", "12031", "3536.999", "3.401", "1.21",
                   "3.03", "6909/27367/85400/126195", "350/597/1118/2000"});
  check_published({"vidur-processed/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv",
                   "28257", "", "", "", "", "2730/3702/3933/4054", "167/372/3271/4056"});
}

TEST_CASE("published traces with failed rows, sessions or short spans do so, too") {
  Published burst{"burstgpt-slices/BurstGPT_first7days.csv",
                  "19431",
                  "604753",
                  "0.0321",
                  "25.4",
                  "5.35",
                  "439/1605/2330/5087",
                  "210/523/922/2048"};
  check_published(burst);
  check_published({burst.file, "17893", "604753", "0.0296", "27.6", "5.14", "502/1641/2389/5087",
                   "236/536/933/2048", 0, 0, true});
  check_published({"burstgpt-slices/burstgpt3_slice.csv", "400", "41453", "0.00965", "12.1", "2.87",
                   "308/1134/5928/25085", "101/421/862/1101", 135, 24});
  check_published({"ragpulse/0_trace.jsonl", "7106", "604603", "0.01175", "14.2", "3.06",
                   "3139/3958/5438/7712", "234/563/891/2183", 3990, 25});
  // Less than a minute: no aligned minute to compare.
  check_published({"llmservingsim/sharegpt-llama-3.1-8b-300-sps10.jsonl", "300", "29.137", "10.30",
                   "", "0.94", "731/1460/2765/3998", "632/770/784/1021"});
  check_published({"llmservingsim/sharegpt-qwen3-30b-a3b-300-sps10.jsonl", "300", "29.137", "10.30",
                   "", "0.94", "728/1451/2768/4570", "638/785/1001/1224"});
  check_published({"llmservingsim/workload_me2_01_mixed.jsonl", "608", "60.898", "9.98", "1.00",
                   "0.99", "2909/24418/28447/31383", "873/11809/15038/15890"});
}

TEST_CASE("silent minutes and shared prefixes of published traces are those of the reference") {
  const std::string traces = std::string(HEADROOM_SHARED_DIR) + "/traces/";
  const std::string code = traces + "azure-llm-2023/AzureLLMInferenceTrace_code.csv";
  const std::string conversation = traces + "mooncake-fast25/conversation_trace.jsonl";
  if (!std::filesystem::exists(code) || !std::filesystem::exists(conversation)) {
    WARN("skipped: a published trace is not on this machine");
    return;
  }
  // TRACES.md 3.1: 12 of 58 minutes empty, 632 requests in one minute, 217 s of silence.
  const ArrivalStats arrivals = profile_trace(code).all.arrivals;
  CHECK(arrivals.empty_minutes == 12);
  CHECK(arrivals.minutes == 58);
  CHECK(arrivals.peak_minute_arrivals == 632);
  CHECK(arrivals.longest_silence_ns / kNsPerSecond == 217);
  CHECK(arrivals.ties == 0);
  // TRACES.md 3.3: 1,180 stamps; 4.2: 0.37362 of the tokens are hits where the last, partial block
  // counts, and blocks of 16 lose less than 15 tokens of each of the 12,031 rows of them.
  const TraceProfile mooncake = profile_trace(conversation);
  CHECK(mooncake.all.arrivals.ties == 12'031 - 1'180);
  CHECK(mooncake.prefix.hit_share == Approx(0.37362).margin(0.00001));
  CHECK(mooncake.prefix.prefix_tokens == mooncake.all.input.sum_tokens);
}

// --- small files ---------------------------------------------------------------------------------

TEST_CASE("a profile counts what a file says, and what it leaves without zero tokens") {
  // tests/data/traces/headroom.csv: 6 rows, the last one without tokens; the third without a time.
  const TraceProfile profile = profile_trace(sample_path("headroom.csv"));
  CHECK(profile.file == "headroom.csv");
  CHECK(profile.format == "headroom");
  CHECK(profile.clock == TraceClock::absolute);
  CHECK(profile.all.rows == 6);
  CHECK(profile.left.rows == 5);
  CHECK(profile.zero.both == 1);
  CHECK(profile.zero.total() == 1);
  CHECK(profile.all.input.sum_tokens == 40 + 12 + 72 + 16 + 300);
  CHECK(profile.all.output.sum_tokens == 20 + 3 + 10 + 8 + 1);
  CHECK(profile.left.input.sum_tokens == profile.all.input.sum_tokens);
  CHECK(profile.left.input.mean_tokens == 88.0);  // 440 / 5
  CHECK(profile.thinking_tokens == 5 + 1);
  CHECK(profile.closed_loop_rows == 1);
  CHECK(profile.timeless_rows == 1);
  // Stamps 0, 250, 250, 300, 1750 ms; without the failed row no 300.
  CHECK(profile.all.arrivals.arrivals == 5);
  CHECK(profile.all.arrivals.longest_silence_ns == 1'450'000'000);
  CHECK(profile.left.arrivals.arrivals == 4);
  CHECK(profile.left.arrivals.longest_silence_ns == 1'500'000'000);
  CHECK(profile.left.arrivals.ties == 1);
}

TEST_CASE("a profile knows classes, sessions and measurements") {
  const TraceProfile profile = profile_trace(sample_path("headroom.csv"));
  REQUIRE(profile.classes.size() == 4);
  CHECK(profile.classes[0].name.empty());
  CHECK(profile.classes[0].rows == 1);
  CHECK(profile.classes[1].name == "batch, \"night\"");
  CHECK(profile.classes[2].name == "chat");
  CHECK(profile.classes[2].rows == 3);
  CHECK(profile.sessions.sessions == 2);
  CHECK(profile.sessions.rows == 3);
  CHECK(profile.sessions.p50_turns == 1);  // between 1 and 2, rounded down
  CHECK(profile.sessions.max_turns == 2);
  REQUIRE(profile.ttft.has_value());
  CHECK(profile.ttft->rows == 2);
  CHECK(profile.ttft->mean_ms == 15.5);  // 31 and 0 ms
  CHECK(profile.ttft->max_ms == 31);
  CHECK(profile.e2el->p50_ms == Approx(205).epsilon(0.0005));
  // The row of the same session begins with all 40 tokens of the first: two full blocks of 16. The
  // one of another session shares the first block.
  CHECK(profile.prefix.rows == 3);
  CHECK(profile.prefix.prefix_tokens == 40 + 72 + 16);
  CHECK(profile.prefix.hit_tokens == 32 + 16);
}

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

TEST_CASE("a file that steps back in time has the profile of the sorted one, and says so") {
  const std::vector<std::string> rows{"2024-05-12 00:00:00.5,10,5\n", "2024-05-12 00:00:01,20,6\n",
                                      "2024-05-12 00:01:30,30,7\n", "2024-05-12 00:03:00,40,8\n"};
  const TempFile in_order(kHeader + rows[0] + rows[1] + rows[2] + rows[3]);
  const TempFile shuffled(kHeader + rows[2] + rows[0] + rows[3] + rows[1]);
  const TraceProfile expected = profile_trace(in_order.path());
  const TraceProfile profile = profile_trace(shuffled.path());
  CHECK(expected.backward_steps == 0);
  CHECK_FALSE(expected.in_memory);
  CHECK(profile.backward_steps == 2);
  CHECK(profile.in_memory);
  CHECK(profile.all.rows == 4);
  CHECK(profile.all.input.sum_tokens == 100);
  CHECK(profile.all.arrivals.first_ns == expected.all.arrivals.first_ns);
  CHECK(profile.all.arrivals.span_ns == 179'500'000'000);
  CHECK(profile.all.arrivals.longest_silence_ns == 90'000'000'000);
  CHECK(profile.all.arrivals.gap_cv == expected.all.arrivals.gap_cv);
  // From 0.5 s: two rows in the first minute, one in each of the next two.
  CHECK(profile.all.arrivals.minutes == 3);
  CHECK(profile.all.arrivals.peak_minute_arrivals == 2);
}

TEST_CASE("a trace without rows, or with a bad one, is refused") {
  const TempFile empty(kHeader);
  CHECK_THROWS_WITH(profile_trace(empty.path()), Catch::EndsWith(": has no rows"));
  const TempFile bad(kHeader + "2024-05-12 00:00:00,1,1\n2024-05-12 00:00:01,x,1\n");
  CHECK_THROWS_WITH(profile_trace(bad.path()),
                    Catch::Contains(bad.name() + ":3: ContextTokens is 'x'"));
  const TempFile good(kHeader + "2024-05-12 00:00:00,1,1\n");
  CHECK_THROWS_WITH(profile_trace(good.path(), {.kv_tokens = 0}),
                    "--kv-tokens 0: expected at least 1 token");
  CHECK_THROWS_AS(profile_trace(good.path(), {.max_model_len = -1}), ConfigError);
}

}  // namespace
}  // namespace headroom::trace_profile_test
