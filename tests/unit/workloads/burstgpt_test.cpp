#include "workloads/traces/burstgpt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/workloads/published_trace.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom::burstgpt_test {
namespace {

const std::string kHeader =
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
const std::string kGoodRow = "5,ChatGPT,472,18,490,Conversation log\n";

}  // namespace

TEST_CASE("the published BurstGPT files are read as their reference values say", "[workloads]") {
  const std::optional<Trace> week =
      check_published("burstgpt-slices/BurstGPT_first7days.csv", "burstgpt");
  if (week) {
    CHECK(week->backward_steps == 0);
    // Week 1 of the reference: 1,538 failures, 1,535 of them without a prompt count.
    CHECK(week->rows_dropped.total() == 1'538);
    CHECK(week->rows_dropped.both == 1'535);
    CHECK(week->classes == std::vector<std::string>{"ChatGPT", "GPT-4"});
  }
  check_published("burstgpt-slices/burstgpt_slice.csv", "burstgpt");
}

TEST_CASE("the sessions of the third BurstGPT file are told apart", "[workloads]") {
  const std::optional<Trace> trace =
      check_published("burstgpt-slices/burstgpt3_slice.csv", "burstgpt");
  if (!trace) return;
  std::map<std::uint64_t, int> turns;
  TraceFile file(trace->path);
  TraceRecord record;
  while (file.next(record)) {
    if (record.session != kNoSession) ++turns[record.session];
  }
  // The published slice: 135 sessions of up to 24 turns, failed ones included.
  CHECK(turns.size() == 135);
  int most = 0;
  for (const auto& [session, count] : turns) most = std::max(most, count);
  CHECK(most == 24);
}

TEST_CASE("BurstGPT rows with sessions keep failures, ties and an empty session", "[workloads]") {
  const std::uint64_t a = text_id("5f1c3a52-0b1d-4c55-9d0e-7f2f3b0a9e11");
  const std::uint64_t b = text_id("a7f0b6d4-71e2-4a8c-8c39-3b1f0f6f2c02");
  CHECK(records_of_sample("burstgpt.csv") ==
        std::vector<std::string>{
            fmt::format("19440110000000000,906,446 class='GPT-4' session={}", a),
            "19440110000000000,36,29 class='ChatGPT'",
            fmt::format("19440161000000000,120,64 class='ChatGPT' session={}", b),
            "19440170000000000,0,0 class='ChatGPT'", "19440171000000000,310,0 class='GPT-4'",
            fmt::format("19440203000000000,1388,210 class='GPT-4' session={}", a),
            fmt::format("19440240000000000,95,71 class='GPT-4' session={}", b),
            "19440240000000000,18,7 class='ChatGPT'"});
}

TEST_CASE("BurstGPT rows without sessions are read whatever the line ends", "[workloads]") {
  const std::vector<std::string> expected = {"5000000000,472,18 class='ChatGPT'",
                                             "45000000000,1087,230 class='GPT-4'"};
  for (const std::string& file :
       same_files(kHeader + kGoodRow + "45,GPT-4,1087,230,1317,API log\n")) {
    CHECK(records_of(file) == expected);
  }
}

TEST_CASE("a malformed BurstGPT row is refused with place, column and value", "[workloads]") {
  CHECK(data_error(kHeader + kGoodRow + "x,ChatGPT,1,1,2,API log\n") ==
        ":3: Timestamp is 'x', expected a decimal number >= 0 within 285 years (1 rows read)");
  CHECK(data_error(kHeader + ",ChatGPT,1,1,2,API log\n") ==
        ":2: Timestamp is '', expected a decimal number >= 0 within 285 years (0 rows read)");
  CHECK(data_error(kHeader + "nan,ChatGPT,1,1,2,API log\n") ==
        ":2: Timestamp is 'nan', expected a decimal number >= 0 within 285 years (0 rows read)");
  CHECK(data_error(kHeader + "-5,ChatGPT,1,1,2,API log\n") ==
        ":2: Timestamp is '-5', expected a decimal number >= 0 within 285 years (0 rows read)");
  CHECK(data_error(kHeader + "9300000000,ChatGPT,1,1,2,API log\n") ==
        ":2: Timestamp is '9300000000', expected a decimal number >= 0 within 285 years"
        " (0 rows read)");
  CHECK(data_error(kHeader + "5,ChatGPT,-1,1,2,API log\n") ==
        ":2: Request tokens is '-1', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(data_error(kHeader + kGoodRow + kGoodRow + "5,ChatGPT,1,2147483648,2,API log\n") ==
        ":4: Response tokens is '2147483648', expected an integer in 0 .. 2147483647"
        " (2 rows read)");
  CHECK(data_error(kHeader + "5,ChatGPT,1,1\n") ==
        ":2: row is '5,ChatGPT,1,1', expected 6 comma-separated fields (0 rows read)");
}

}  // namespace headroom::burstgpt_test
