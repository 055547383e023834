#include "workloads/traces/tracelab_csv.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom::tracelab_csv_test {

using Records = std::vector<std::string>;

namespace {

const std::string kHeader =
    "id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len\n";

// The identity of the n-th piece (from 1) that was appended to a session's context.
std::uint64_t piece(std::uint64_t session, std::uint64_t n) { return mixed_id(session, n); }

}  // namespace

TEST_CASE("TraceLab rounds share their session's context as far as it was kept", "[workloads]") {
  const auto a = [](std::uint64_t n) { return piece(0, n); };
  const auto b = [](std::uint64_t n) { return piece(1, n); };
  // Session 0: prompt 1 and answer 2 are kept whole; then the context of 186 tokens is cut to 100,
  // within prompt 1; then the whole context is kept. Session 1: 200 tokens (piece 1) are known from
  // elsewhere, and 26 more than its context of 274 have been there before round 1 (piece 4).
  CHECK(
      records_of_sample("tracelab_csv.csv") ==
      Records{
          fmt::format("0,120,30 session=0 prefix={}:120 answer={}", a(1), a(2)),
          fmt::format("-,166,20 session=0 after=250000000 prefix={}:120|{}:30|{}:16 answer={}",
                      a(1), a(2), a(3), a(4)),
          fmt::format("-,140,25 session=0 after=0 prefix={}:100|{}:40 answer={}", a(1), a(5), a(6)),
          fmt::format(
              "-,173,12 session=0 after=1500500000 prefix={}:100|{}:40|{}:25|{}:8 answer={}", a(1),
              a(5), a(6), a(7), a(8)),
          fmt::format("812345678,264,10 session=1 prefix={}:200|{}:64 answer={}", b(1), b(2), b(3)),
          fmt::format("-,305,40 session=1 after=33250000 "
                      "prefix={}:200|{}:64|{}:10|{}:26|{}:5 answer={}",
                      b(1), b(2), b(3), b(4), b(5), b(6)),
          fmt::format("1730000001,90,60 session=2 prefix={}:90 answer={}", piece(2, 1),
                      piece(2, 2))});
}

TEST_CASE("TraceLab sessions may interleave, and have names", "[workloads]") {
  const std::uint64_t x = text_id("x");
  const Records records = records_of(kHeader + "x,10,5,1,0,7,0\n4,3,2,1,0,9,0\nx,1,1,1,1,0,15\n");
  REQUIRE(records.size() == 3);
  CHECK(records[2] ==
        fmt::format("-,16,1 session={} after=7000000 prefix={}:10|{}:5|{}:1 answer={}", x,
                    piece(x, 1), piece(x, 2), piece(x, 3), piece(x, 4)));
}

TEST_CASE("TraceLab sessions without arrival times start at their own zero", "[workloads]") {
  const TempFile file(
      "session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"
      "5,0,0,10,2,1.5\n5,1,12,3,0,\n");
  CHECK(records_of_file(file.path()) ==
        Records{fmt::format("0,10,2 session=5 prefix={}:10 answer={}", piece(5, 1), piece(5, 2)),
                fmt::format("-,15,0 session=5 after=1500000 prefix={}:10|{}:2|{}:3", piece(5, 1),
                            piece(5, 2), piece(5, 3))});
  CHECK(TraceFile(file.path()).clock() == TraceClock::per_session);
}

TEST_CASE("TraceLab rounds are read whatever the line ends", "[workloads]") {
  for (const std::string& file : same_files(kHeader + "3,10,0,1,0,7,0\n")) {
    CHECK(records_of(file) ==
          Records{fmt::format("1000000,10,0 session=3 prefix={}:10", piece(3, 1))});
  }
}

TEST_CASE("a malformed TraceLab round is refused with place, column and value", "[workloads]") {
  const std::string good = "0,10,5,1,0,7,0\n";
  CHECK(data_error(kHeader + good + "0,1,1,1,2,0,15\n") ==
        ":3: round_idx is '2', expected 1, the next round of its session (1 rows read)");
  CHECK(data_error(kHeader + good + good) ==
        ":3: round_idx is '0', expected 1, the next round of its session (1 rows read)");
  CHECK(data_error(kHeader + ",1,1,1,0,0,15\n") ==
        ":2: id is '', expected the session of the round (0 rows read)");
  CHECK(data_error(kHeader + "0,1,1,,0,0,15\n") ==
        ":2: arrival_time is '', expected a decimal number >= 0 within 285 years (0 rows read)");
  CHECK(data_error(kHeader + "0,1,1,1,0,-1,15\n") ==
        ":2: tool_wait_after_ms is '-1', expected a decimal number >= 0 within 285 years"
        " (0 rows read)");
  CHECK(data_error(kHeader + "0,2147483647,1,1,0,0,1\n") ==
        ":2: prefix_len is '1', expected at most 2147483647, with input_len (0 rows read)");
  CHECK(data_error(kHeader + "0,1,x,1,0,0,1\n") ==
        ":2: output_len is 'x', expected an integer in 0 .. 2147483647 (0 rows read)");
}

}  // namespace headroom::tracelab_csv_test
