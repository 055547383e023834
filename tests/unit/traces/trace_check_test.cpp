#include "sim/traces/trace_check.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/kernel/errors.hpp"
#include "sim/traces/trace_convert.hpp"
#include "sim/traces/trace_profile.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"

namespace headroom::trace_check_test {
namespace {

void check_odd(const OddRows& odd, std::int64_t rows, std::int64_t row, std::int64_t line) {
  CHECK(odd.rows == rows);
  CHECK(odd.first_row == row);
  CHECK(odd.first_line == line);
}

TEST_CASE("every odd row is counted under its kind, with the place of the first") {
  const TempFile file(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2024-05-12 00:00:05,10,5\n"
      "\n"
      "2024-05-12 00:00:05,10,0\n"  // row 2, line 4: tie, no output
      "2024-05-12 00:00:04,0,5\n"   // row 3, line 5: back, no prompt
      "2024-05-12 00:00:04,0,0\n"   // row 4, line 6: tie, neither
      "2024-05-12 00:00:03,10,0\n"  // row 5, line 7: back, no output
      "2024-05-12 00:00:09,1,1\n");
  const TraceCheck check = check_trace(file.path());
  CHECK(check.file == file.name());
  CHECK(check.format == "azure");
  CHECK(check.rows == 6);
  CHECK(check.usable_rows == 2);
  check_odd(check.ties, 2, 2, 4);
  check_odd(check.backward_steps, 2, 3, 5);
  check_odd(check.zero_output, 2, 2, 4);
  check_odd(check.zero_prompt, 1, 3, 5);
  check_odd(check.zero_both, 1, 4, 6);
}

TEST_CASE("a clean file has nothing odd") {
  const TraceCheck check = check_trace(sample_path("splitwise.csv"));
  check_odd(check.zero_prompt, 0, 0, 0);
  check_odd(check.zero_both, 0, 0, 0);
}

TEST_CASE("rows of a file that is one document have no line of their own") {
  const TraceCheck check = check_trace(sample_path("sharegpt.json"));
  CHECK(check.clock == TraceClock::none);
  CHECK(check.rows == 6);
  check_odd(check.zero_output, 2, 3, 0);
  check_odd(check.zero_both, 1, 4, 0);
  CHECK(check.ties.rows == 0);  // no times
}

TEST_CASE("a malformed row and a file without a usable one are refused") {
  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const TempFile bad(header + "2024-05-12 00:00:05,10,5\nyesterday,10,5\n");
  CHECK_THROWS_WITH(check_trace(bad.path()), Catch::Contains(bad.name() + ":3: TIMESTAMP is"));
  const TempFile failed(header + "2024-05-12 00:00:05,10,0\n");
  CHECK_THROWS_WITH(check_trace(failed.path()),
                    Catch::Contains("no request left (1 rows read, all with zero tokens)"));
  const TempFile empty(header);
  CHECK_THROWS_AS(check_trace(empty.path()), DataError);
}

TEST_CASE("seconds in arrival_ns are doubted in every description of the file") {
  const TempFile file(
      "arrival_ns,prompt_tokens,output_tokens\n0,9,9\n1,9,9\n2,9,9\n3,9,9\n7200,9,9\n");
  const std::string warning = check_trace(file.path()).warning;
  CHECK(warning.starts_with("arrival_ns holds nanoseconds, but its 5 rows lie within 7200 ns"));
  CHECK(profile_trace(file.path()).warning == warning);
  CHECK(convert_trace(file.path(), TraceTarget::headroom, [](std::string_view) {}).warning ==
        warning);
}

}  // namespace
}  // namespace headroom::trace_check_test
