#include "workloads/traces/azure.hpp"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "sim/kernel/digest.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/published_trace.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::azure_test {
namespace {

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

Trace read(const std::string& content, ZeroTokens zero_tokens = ZeroTokens::drop) {
  const TempFile file(content);
  return read_trace(file.path(), {.zero_tokens = zero_tokens});
}

// "time_ns,prompt,output;" of all rows.
std::string text(const Trace& trace) {
  std::string all;
  for (const TraceRow& row : trace.rows) {
    all += std::to_string(row.time_ns) + ',' + std::to_string(row.prompt_tokens) + ',' +
           std::to_string(row.output_tokens) + ';';
  }
  return all;
}

void check(const std::string& published) {
  const std::optional<Trace> trace = check_published(published, "azure");
  if (!trace) return;
  CHECK(trace->backward_steps == 0);
  CHECK(trace->rows_dropped.total() == 0);
}

}  // namespace

TEST_CASE("the Azure 2023 code trace is read as its reference values say", "[workloads]") {
  check("azure-llm-2023/AzureLLMInferenceTrace_code.csv");
}

TEST_CASE("the Azure 2023 conversation trace is read as its reference values say", "[workloads]") {
  check("azure-llm-2023/AzureLLMInferenceTrace_conv.csv");
}

TEST_CASE("rows of 2024 with an offset, without a fraction and with Z are read", "[workloads]") {
  const Trace trace = read(kHeader +
                           "2024-05-12 08:47:44.022580+00:00,100,10\n"
                           "2024-05-12 08:47:45+00:00,200,20\n"
                           "2024-05-12T08:47:46.5Z,300,30\n"
                           "2024-05-12 10:47:46.500001+02:00,400,40\n");
  CHECK(text(trace) ==
        "0,100,10;"
        "977420000,200,20;"     // 1 - 0.022580 s
        "2477420000,300,30;"    // 2.5 - 0.022580 s
        "2477421000,400,40;");  // 08:47:46.500001 UTC
}

TEST_CASE("a short timestamp before a comma where the one before ended is read", "[workloads]") {
  const Trace trace = read(kHeader +
                           "2024-05-12 08:47:44.500000+00:00,100,10\n"  // 32 characters
                           "2024-05-12 08:47:45,000000000200,20\n"      // 19 + 1 + 12
                           "2024-05-12 08:47:46.500000+00:00,300,30\n"
                           "2024-05-12 08:47:47.00000000,,40\n");
  CHECK(text(trace) == "0,100,10;500000000,200,20;2000000000,300,30;");
}

TEST_CASE("line ends, blank lines, byte order mark and a missing last newline do not matter",
          "[workloads]") {
  const std::string row1 = "2023-11-16 18:15:46.6805900,374,44";
  const std::string row2 = "2023-11-16 18:15:50.9951690,396,109";
  const std::string expected = "0,374,44;4314579000,396,109;";
  CHECK(text(read(kHeader + row1 + "\n" + row2 + "\n")) == expected);
  CHECK(text(read("TIMESTAMP,ContextTokens,GeneratedTokens\r\n" + row1 + "\r\n" + row2)) ==
        expected);
  CHECK(text(read("\xEF\xBB\xBF" + kHeader + row1 + "\n" + row2)) == expected);
  CHECK(text(read("\n\r\n" + kHeader + "\n" + row1 + "\n\n\r\n" + row2 + "\n\n")) == expected);
}

TEST_CASE("columns go by their names", "[workloads]") {
  const Trace trace = read(
      "NumImages,GeneratedTokens,TIMESTAMP,ContextTokens\n"
      "3,10,2024-10-15 00:00:00,700\n");
  CHECK(text(trace) == "0,700,10;");
}

TEST_CASE("a file longer than a block is read without a seam and sorted stably", "[workloads]") {
  // 20000 rows of at least 28 bytes are more than two blocks of 256 KiB.
  std::string content = kHeader;
  for (int i = 0; i < 20'000; ++i) {
    const std::string second = std::to_string(10 + i % 50);
    content += "2024-05-12 08:00:" + second + ',' + std::to_string(i + 1) + ",2000\n";
  }
  const Trace trace = read(content);
  CHECK(trace.backward_steps == 399);  // once after every 50 rows but the last
  REQUIRE(trace.rows.size() == 20'000);
  // Second s holds the rows s, s + 50, s + 100 ...: 400 of them, in the order of the file.
  for (int i = 0; i < 20'000; ++i) {
    const TraceRow& row = trace.rows[static_cast<std::size_t>(i)];
    const int second = i / 400;
    const int row_of_file = second + 50 * (i % 400);
    REQUIRE(row.time_ns == second * kNsPerSecond);
    REQUIRE(row.prompt_tokens == row_of_file + 1);
  }
}

TEST_CASE("a trace comes through a pipe, hash included", "[workloads]") {
  const std::string content = "\xEF\xBB\xBF" + kHeader + "2024-05-12 08:00:00,1,2\n";
  std::array<int, 2> ends{};  // read, write; the content fits into the pipe
  REQUIRE(::pipe(ends.data()) == 0);
  REQUIRE(::write(ends[1], content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  ::close(ends[1]);
  const Trace trace = read_trace("/dev/fd/" + std::to_string(ends[0]), {});
  ::close(ends[0]);
  CHECK(text(trace) == "0,1,2;");
  CHECK(trace.sha256() == sha256_hex(content));
}

TEST_CASE("rows are rebased to the earliest and sorted, ties in the order of the file",
          "[workloads]") {
  const Trace trace = read(kHeader +
                           "2024-05-12 08:00:05,1,1\n"
                           "2024-05-12 08:00:03,2,2\n"
                           "2024-05-12 08:00:05,3,3\n"
                           "2024-05-12 08:00:05,4,4\n"
                           "2024-05-12 08:00:03,5,5\n");
  CHECK(text(trace) == "0,2,2;0,5,5;2000000000,1,1;2000000000,3,3;2000000000,4,4;");
  CHECK(trace.backward_steps == 2);
}

TEST_CASE("rows with zero or missing tokens are dropped and counted by what is missing",
          "[workloads]") {
  const std::string content = kHeader +
                              "2024-05-12 08:00:00,0,5\n"
                              "2024-05-12 08:00:01,5,0\n"
                              "2024-05-12 08:00:02,5,\n"
                              "2024-05-12 08:00:03,,\n"
                              "2024-05-12 08:00:04,7,8\n";
  const Trace dropped = read(content);
  CHECK(text(dropped) == "4000000000,7,8;");  // relative to the first row, although it is dropped
  CHECK(dropped.rows_read == 5);
  CHECK(dropped.rows_dropped.prompt_only == 1);
  CHECK(dropped.rows_dropped.output_only == 2);
  CHECK(dropped.rows_dropped.both == 1);
  CHECK(dropped.rows_clamped.total() == 0);

  const Trace clamped = read(content, ZeroTokens::clamp);
  CHECK(text(clamped) == "0,1,5;1000000000,5,1;2000000000,5,1;3000000000,1,1;4000000000,7,8;");
  CHECK(clamped.rows_clamped.total() == 4);
  CHECK(clamped.rows_dropped.total() == 0);
}

}  // namespace headroom::azure_test
