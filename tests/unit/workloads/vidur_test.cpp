#include "workloads/traces/vidur.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/published_trace.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom::vidur_test {

using Records = std::vector<std::string>;

namespace {

const std::string kHeader = "arrived_at,num_prefill_tokens,num_decode_tokens";

// A file of one row with one more column.
std::string with(const std::string& column, const std::string& value) {
  return kHeader + "," + column + "\n1.5,40,8," + value + "\n";
}

std::string with_plans(const std::string& plans, const std::string& columns = "",
                       const std::string& values = "") {
  return kHeader + ",thinking_round_plans_json" + columns + "\n1.5,40,8," + plans + values + "\n";
}

const std::string kTwoRounds = R"("[{""num_prefill_tokens"":24,""num_decode_tokens"":16},)"
                               R"({""num_prefill_tokens"":40,""num_decode_tokens"":8}]")";

}  // namespace

TEST_CASE("the published Vidur files are read as their reference values say", "[workloads]") {
  for (const char* name :
       {"vidur-processed/splitwise_code.csv", "vidur-processed/splitwise_conv.csv"}) {
    const std::optional<Trace> trace = check_published(name, "vidur");
    if (trace) CHECK(trace->backward_steps == 0);
  }
}

TEST_CASE("the published file of lengths has no clock", "[workloads]") {
  const std::filesystem::path path =
      std::filesystem::path(HEADROOM_SHARED_DIR) /
      "traces/vidur-processed/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv";
  if (!std::filesystem::exists(path)) {
    WARN("skipped: " << path.filename() << " is not on this machine");
    return;
  }
  const Trace trace = read_trace(path.string(), {});
  CHECK(trace.clock == TraceClock::none);
  CHECK(trace.rows.size() == 28'257);
  // The longest prompt and output of the inventory of published traces.
  CHECK(std::ranges::max(trace.rows, {}, &TraceRow::prompt_tokens).prompt_tokens == 4054);
  CHECK(std::ranges::max(trace.rows, {}, &TraceRow::output_tokens).output_tokens == 4056);
}

TEST_CASE("Frontier's columns are sessions, blocks, priority and class", "[workloads]") {
  // Blocks of 16 tokens: 40 = 16 + 16 + 8, 36 = 16 + 16 + 4, 20 = 16 + 4.
  CHECK(records_of_sample("vidur.csv") ==
        Records{
            "0,40,8 class='chat' session=7 prefix=11:16|22:16|33:8", "52000000,32,4 class='batch'",
            "250000000,48,3 priority=1 class='chat' session=7 prefix=11:16|22:16|44:16",
            "199961506000,36,12 priority=-2 session=8 prefix=11:16|22:16|55:4",
            "200500000000,20,20 class='batch' session=9 prefix=61:16|62:4", "200500000000,0,5"});
}

TEST_CASE("a file of lengths states no times", "[workloads]") {
  CHECK(records_of_sample("vidur_lengths.csv") ==
        Records{"-,372,54", "-,215,156", "-,1,1", "-,900,12", "-,64,512", "-,33,0"});
  const TraceFile file(sample_path("vidur_lengths.csv"));
  CHECK(file.clock() == TraceClock::none);
  CHECK(file.format().name == "vidur");
}

TEST_CASE("Vidur rows are read whatever the line ends", "[workloads]") {
  for (const std::string& file : same_files(kHeader + "\n0.0,4808,10\n0.052,3180,8\n")) {
    CHECK(records_of(file) == Records{"0,4808,10", "52000000,3180,8"});
  }
}

TEST_CASE("block ids that go on into the answer end with the prompt", "[workloads]") {
  // 40 + 8 tokens are 3 blocks of 16 or 12 of 4; the prompt ends within the third, with the tenth.
  CHECK(records_of(with("block_hash_ids", "1|2|3")) == Records{"1500000000,40,8 prefix=1:16|2:16"
                                                               "|3:8"});
  CHECK(records_of(with("block_hash_ids,block_size", "\"1,2,3,4,5,6,7,8,9,10,11,12\",4")) ==
        Records{"1500000000,40,8 prefix=1:4|2:4|3:4|4:4|5:4|6:4|7:4|8:4|9:4|10:4"});
  CHECK(records_of(with("block_hash_ids", "1")) == Records{"1500000000,40,8 prefix=1:16"});
  CHECK(records_of(with("block_hash_ids", "[]")) == Records{"1500000000,40,8"});
}

TEST_CASE("a block id of more than 64 bits stands for its text", "[workloads]") {
  const std::string wide = "123456789012345678901234567890";
  CHECK(records_of(with("block_hash_ids", wide + "|-5")) ==
        Records{fmt::format("1500000000,40,8 prefix={}:16|{}:16", text_id(wide), text_id("-5"))});
}

TEST_CASE("a row of several rounds becomes requests of one session", "[workloads]") {
  const std::uint64_t first_row = mixed_id(kNoSession, 0);
  CHECK(records_of(with_plans(kTwoRounds)) ==
        Records{fmt::format("1500000000,24,16 session={}", first_row),
                fmt::format("-,40,8 session={} after=1000000", first_row)});  // 1 ms by default
  CHECK(records_of(with_plans(kTwoRounds,
                              ",thinking_depth,tool_call_latency,session_id,block_hash_ids,cohort",
                              ",2,0.25,7,1|2|3,x")) ==
        Records{"1500000000,24,16 class='x' session=7 prefix=1:16|2:8",
                "-,40,8 class='x' session=7 after=250000000 prefix=1:16|2:16|3:8"});
  CHECK(records_of(with("thinking_depth", "1")) == Records{"1500000000,40,8"});
}

TEST_CASE("a malformed Vidur row is refused with place, column and value", "[workloads]") {
  CHECK(data_error(kHeader + "\n1,1,1\nnan,1,1\n") ==
        ":3: arrived_at is 'nan', expected a decimal number >= 0 within 285 years (1 rows read)");
  CHECK(data_error(kHeader + "\n,1,1\n") ==
        ":2: arrived_at is '', expected a decimal number >= 0 within 285 years (0 rows read)");
  CHECK(data_error(kHeader + "\n1,1.5,1\n") ==
        ":2: num_prefill_tokens is '1.5', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(data_error(kHeader + "\n1,1,-1\n") ==
        ":2: num_decode_tokens is '-1', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(data_error(with("priority", "low")) ==
        ":2: priority is 'low', expected a 64-bit integer (0 rows read)");
  CHECK(data_error(with("priority", "2147483648")) ==
        ":2: priority is '2147483648', expected a 32-bit integer (0 rows read)");
}

TEST_CASE("malformed block ids and rounds are refused with place, column and value",
          "[workloads]") {
  for (const std::string bad : {"1|x", "1||2", "1|2|", "[1", "1 2"}) {
    CHECK(data_error(with("block_hash_ids", bad)) ==
          ":2: block_hash_ids is '" + bad +
              "', expected integers, as in 11|22 or [11,22] (0 rows read)");
  }
  CHECK(data_error(with("block_hash_ids", "1|2|3|4")) ==
        ":2: block_hash_ids is '1|2|3|4', expected at most 3 ids: 48 tokens in blocks of 16"
        " (0 rows read)");
  // 48 tokens end within the second block of 32.
  CHECK(data_error(with("block_hash_ids,block_size", "1|2,32")) == "no error");
  CHECK(data_error(with("block_hash_ids,block_size", "1|2|3,32")) ==
        ":2: block_hash_ids is '1|2|3', expected at most 2 ids: 48 tokens in blocks of 32"
        " (0 rows read)");
  CHECK(data_error(with("thinking_depth", "2")) ==
        ":2: thinking_depth is '2', expected 1, the number of rounds in thinking_round_plans_json"
        " (0 rows read)");
  CHECK(data_error(with_plans("[7]")) ==
        ":2: thinking_round_plans_json is '[7]', expected rounds, the last with the counts of the "
        "row (0 rows read)");
  CHECK(data_error(with_plans("[{}]")) ==
        ":2: thinking_round_plans_json is '[{}]', expected [{\"num_prefill_tokens\": count,"
        " \"num_decode_tokens\": count}, ...] (0 rows read)");
  CHECK(data_error(with_plans("[")).starts_with(":2: malformed JSON at byte"));
}

TEST_CASE("tables of Frontier's rewrite with other times are not taken for lengths",
          "[workloads]") {
  CHECK(data_error("session_start_at,think_time,num_prefill_tokens,num_decode_tokens\n0,0,1,1\n")
            .starts_with(":1: no column is known to hold the times of requests"));
}

}  // namespace headroom::vidur_test
