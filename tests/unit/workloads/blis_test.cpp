#include "workloads/traces/blis.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom::blis_test {

using Records = std::vector<std::string>;

namespace {

const std::string kHeader = "request_id,input_tokens,output_tokens,arrival_time_us";

// A file of one row with more columns.
std::string with(const std::string& columns, const std::string& values) {
  return kHeader + "," + columns + "\n0,100,50,2000," + values + "\n";
}

// A folder with a table and the YAML file that belongs to it.
class TraceFolder {
 public:
  TraceFolder(const std::string& table_name, const std::string& table,
              const std::string& header_name, const std::string& header)
      : folder_(std::filesystem::temp_directory_path() /
                ("headroom_blis_" + std::to_string(::getpid()))),
        table_(folder_ / table_name) {
    std::filesystem::create_directory(folder_);
    std::ofstream(table_) << table;
    std::ofstream(folder_ / header_name) << header;
  }
  ~TraceFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;

  [[nodiscard]] std::string table() const { return table_.string(); }

 private:
  std::filesystem::path folder_;
  std::filesystem::path table_;
};

const std::string kRounds =
    "session_id,round_index,prefix_group,prefix_length,input_tokens,output_tokens,"
    "arrival_time_us,think_time_us\n"
    "a,0,sys,32,100,10,0,\n"
    "a,1,,0,20,5,50,7\n"
    "b,0,sys,32,1,2,60,\n"
    "a,2,,0,0,6,90,0\n"
    ",0,sys,32,8,9,99,\n";

}  // namespace

TEST_CASE("BLIS rows have measured latencies, prefix groups, classes and thinking", "[workloads]") {
  const std::uint64_t s1 = text_id("s1");
  const std::uint64_t system = text_id("system");
  // Prompts: 48 shared + 16, 48 + 40, the server's count 108 in place of 100, 100, 32 + 0, 9.
  CHECK(records_of_sample("blis.csv") ==
        Records{fmt::format("1010000,64,20 thinking=5 class='critical' session={} prefix={}:48 "
                            "ttft=30000000 e2el=410000000",
                            s1, system),
                fmt::format("500020000,88,10 class='critical' session={} prefix={}:48 "
                            "ttft=22500000 e2el=200000000",
                            s1, system),
                "500000000,108,50 thinking=25 priority=6 class='batch' e2el=1000000000",
                "600100000,100,0 priority=6 class='batch'",
                fmt::format("700000000,32,5 thinking=5 prefix={}:32", text_id("other")),
                "800000000,9,1 ttft=12000000 e2el=12000000"});
}

TEST_CASE("BLIS rows need no more than token counts and arrivals", "[workloads]") {
  for (const std::string& file : same_files(kHeader + "\n0,100,50,1\n1,7,0,100000\n")) {
    CHECK(records_of(file) == Records{"1000,100,50", "100000000,7,0"});
  }
}

TEST_CASE("BLIS rounds that do not accumulate state their whole prompts", "[workloads]") {
  const std::uint64_t a = text_id("a");
  const std::uint64_t sys = text_id("sys");
  CHECK(records_of(kRounds) ==
        Records{fmt::format("0,132,10 session={} prefix={}:32", a, sys),
                fmt::format("50000,20,5 session={} after=7000", a),
                fmt::format("60000,33,2 session={} prefix={}:32", text_id("b"), sys),
                fmt::format("90000,0,6 session={} after=0", a),
                fmt::format("99000,40,9 prefix={}:32", sys)});
}

TEST_CASE("BLIS rounds that accumulate grow their session's context", "[workloads]") {
  const std::uint64_t a = text_id("a");
  const std::uint64_t b = text_id("b");
  const std::uint64_t sys = text_id("sys");
  const auto piece = [a](std::uint64_t n) { return mixed_id(a, n); };
  const Records expected = {
      fmt::format("0,132,10 session={} prefix={}:32|{}:100 answer={}", a, sys, piece(1), piece(2)),
      // 32 + 100, the answer of 10, and 20 new ones
      fmt::format("50000,162,5 session={} after=7000 prefix={}:32|{}:100|{}:10|{}:20 answer={}", a,
                  sys, piece(1), piece(2), piece(3), piece(4)),
      fmt::format("60000,33,2 session={} prefix={}:32|{}:1 answer={}", b, sys, mixed_id(b, 1),
                  mixed_id(b, 2)),
      fmt::format("90000,167,6 session={} after=0 prefix={}:32|{}:100|{}:10|{}:20|{}:5 answer={}",
                  a, sys, piece(1), piece(2), piece(3), piece(4), piece(5)),
      fmt::format("99000,40,9 prefix={}:32", sys)};
  const std::string yaml =
      "trace_version: 2\ntime_unit: \"microseconds\"\nmode: generated\n"
      "session_context_growth: accumulate\n";
  {
    const TraceFolder folder("x.csv", kRounds, "x.yaml", yaml);
    CHECK(records_of_file(folder.table()) == expected);
  }
  const TraceFolder folder("trace_data.csv", kRounds, "trace_header.yaml", yaml);
  CHECK(records_of_file(folder.table()) == expected);
}

TEST_CASE("a compacted BLIS round shares nothing with the rounds before it", "[workloads]") {
  const std::uint64_t a = text_id("a");
  // The column alone tells that rounds accumulate.
  CHECK(records_of("session_id,round_index,input_tokens,input_tokens_reset,"
                   "output_tokens,arrival_time_us\n"
                   "a,0,100,,10,0\na,1,0,60,5,1\na,2,3,,1,2\n") ==
        Records{fmt::format("0,100,10 session={} prefix={}:100 answer={}", a, mixed_id(a, 1),
                            mixed_id(a, 2)),
                fmt::format("1000,60,5 session={} prefix={}:60 answer={}", a, mixed_id(a, 3),
                            mixed_id(a, 4)),
                fmt::format("2000,68,1 session={} prefix={}:60|{}:5|{}:3 answer={}", a,
                            mixed_id(a, 3), mixed_id(a, 4), mixed_id(a, 5), mixed_id(a, 6))});
}

TEST_CASE("a malformed BLIS row is refused with place, column and value", "[workloads]") {
  CHECK(data_error(kHeader + "\n0,1,1,1\n0,1,1,soon\n") ==
        ":3: arrival_time_us is 'soon', expected a decimal number >= 0 within 285 years"
        " (1 rows read)");
  CHECK(data_error(kHeader + "\n0,-1,1,1\n") ==
        ":2: input_tokens is '-1', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(data_error(with("send_time_us,first_chunk_time_us", "3000,2999")) ==
        ":2: first_chunk_time_us is '2999', expected 0, or a time after the request was sent (0 "
        "rows read)");
  CHECK(data_error(with("last_chunk_time_us", "1999")) ==
        ":2: last_chunk_time_us is '1999', expected 0, or a time after the request was sent (0 "
        "rows read)");
  for (const std::string bad : {"1.1", "-0.1", "nan"}) {
    CHECK(data_error(with("reason_ratio", bad)) ==
          ":2: reason_ratio is '" + bad + "', expected a decimal number in 0 .. 1 (0 rows read)");
  }
  CHECK(data_error(with("prefix_group,prefix_length", "g,2147483647")) ==
        ":2: prefix_length is '2147483647', expected at most 2147483647, with input_tokens"
        " (0 rows read)");
  CHECK(data_error(with("session_id,input_tokens_reset", "a,")) ==
        ":1: no column 'round_index' in the header");
  CHECK(data_error(with("session_id,round_index,input_tokens_reset", "a,1,")) ==
        ":2: round_index is '1', expected 0, the next round of its session (0 rows read)");
}

TEST_CASE("a YAML header of a BLIS trace is not its table", "[workloads]") {
  CHECK(data_error("trace_version: 2\ntime_unit: microseconds\n") ==
        ": is the YAML header of a BLIS trace, not its table: name its CSV file");
}

TEST_CASE("a YAML header that states something unknown is refused", "[workloads]") {
  const auto error_with = [](const std::string& yaml) -> std::string {
    const TraceFolder folder("data.csv", kRounds, "header.yaml", "trace_version: 2\n" + yaml);
    try {
      static_cast<void>(records_of_file(folder.table()));
    } catch (const DataError& error) {
      const std::string message = error.what();
      return message.substr(message.rfind("header.yaml"));
    }
    return "no error";
  };
  CHECK(error_with("time_unit: us\n") == "no error");
  CHECK(error_with("time_unit: ms\n") == "header.yaml:2: time_unit is 'ms', expected microseconds");
  CHECK(error_with("session_context_growth: Accumulate\n") ==
        "header.yaml:2: session_context_growth is 'Accumulate', expected accumulate or nothing");
}

}  // namespace headroom::blis_test
