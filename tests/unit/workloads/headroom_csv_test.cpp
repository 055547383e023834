#include "workloads/traces/headroom_csv.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::headroom_csv_test {

using Records = std::vector<std::string>;

namespace {

const std::string kHeader = "arrival_ns,prompt_tokens,output_tokens";

TraceClock clock_of(const std::string& content) {
  const TempFile file(content);
  return TraceFile(file.path()).clock();
}

// A file of one row with more columns.
std::string with(const std::string& columns, const std::string& values) {
  return kHeader + "," + columns + "\n5,100,50," + values + "\n";
}

}  // namespace

TEST_CASE("Headroom's own table states all fields of a record", "[workloads]") {
  CHECK(records_of_sample("headroom.csv") ==
        Records{"0,40,20 thinking=5 max=64 class='chat' session=1 "
                "prefix=18446744073709551615:16|7:24 answer=901 ttft=31000000 e2el=410000000",
                "250000000,12,3 priority=-1 class='batch, \"night\"'",
                "-,72,10 max=64 class='chat' session=1 after=1500000000 "
                "prefix=18446744073709551615:16|7:24|901:20|8:12 answer=902",
                "250000000,16,8 priority=2 session=18446744073709551614 "
                "prefix=18446744073709551615:16 ttft=0 e2el=0",
                "1750000000,300,1 thinking=1 max=2048 priority=-3 class='chat'",
                "300000000,0,0 class='failed'"});
}

TEST_CASE("the columns of Headroom's table go by their names", "[workloads]") {
  for (const std::string& file :
       same_files("class,output_tokens,arrival_ns,prompt_tokens\na,7,1000,5\n,,0,\n")) {
    CHECK(records_of(file) == Records{"1000,5,7 class='a'", "0,0,0"});
  }
  CHECK(records_of(kHeader + "\n").empty());
}

TEST_CASE("the largest numbers of Headroom's table are accepted", "[workloads]") {
  CHECK(records_of(kHeader + ",max_tokens,priority,output_segment,gives_up_ns,measured_ttft_ns\n"
                             "9000000000000000000,2147483647,2147483647,2147483647,-2147483648,"
                             "18446744073709551615,9000000000000000000,9000000000000000000\n") ==
        Records{"9000000000000000000,2147483647,2147483647 max=2147483647 priority=-2147483648 "
                "answer=18446744073709551615 leaves=9000000000000000000 ttft=9000000000000000000"});
}

TEST_CASE("the header and the first row of Headroom's table tell the clock", "[workloads]") {
  const std::string columns = ",prompt_tokens,output_tokens,session,after_previous_ns\n";
  CHECK(clock_of("arrival_ns" + columns + "0,1,1,,\n") == TraceClock::absolute);
  CHECK(clock_of("arrival_ns" + columns) == TraceClock::absolute);
  CHECK(clock_of("arrival_ns" + columns + ",1,1,,\n") == TraceClock::none);
  CHECK(clock_of("session_time_ns" + columns + "0,1,1,4,\n") == TraceClock::per_session);
  CHECK(records_of("arrival_ns" + columns + ",1,1,4,\n,2,2,4,9\n,3,3,,\n") ==
        Records{"-,1,1 session=4", "-,2,2 session=4 after=9", "-,3,3"});
  CHECK(records_of("session_time_ns" + columns + "0,1,1,4,\n,2,2,4,9\n7,3,3,4,\n") ==
        Records{"0,1,1 session=4", "-,2,2 session=4 after=9", "7,3,3 session=4"});
}

TEST_CASE("rows of Headroom's table whose times do not fit its clock are refused", "[workloads]") {
  const std::string columns = ",prompt_tokens,output_tokens,session,after_previous_ns\n";
  CHECK(data_error("arrival_ns" + columns + "0,1,1,,\n,1,1,4,\n") ==
        ":3: arrival_ns is '', expected a time, because the row has no after_previous_ns (1 rows "
        "read)");
  CHECK(data_error("arrival_ns" + columns + ",1,1,,\n0,1,1,,\n") ==
        ":3: arrival_ns is '0', expected empty, as in the first row (1 rows read)");
  CHECK(data_error("arrival_ns" + columns + "0,1,1,,5\n") ==
        ":2: after_previous_ns is '5', expected empty in a row without a session (0 rows read)");
  CHECK(data_error("session_time_ns" + columns + "0,1,1,,\n") ==
        ":2: session_time_ns is '0', expected a row with a session: this is the time since the "
        "session began (0 rows read)");
}

TEST_CASE("an unknown column in Headroom's table is refused", "[workloads]") {
  CHECK(data_error(with("clas", "x")) ==
        ":1: unknown column 'clas' in the header; known columns: arrival_ns, prompt_tokens, "
        "output_tokens, thinking_tokens, max_tokens, priority, class, session, after_previous_ns, "
        "prefix, output_segment, gives_up_ns, measured_ttft_ns, measured_e2el_ns, session_time_ns");
  CHECK(data_error(with("class,class", "x,y")) == ":1: second column 'class' in the header");
  CHECK(data_error("session_time_ns," + kHeader + "\n") ==
        ":1: columns 'arrival_ns' and 'session_time_ns' in one header");
}

TEST_CASE("a malformed field of Headroom's table is refused with place, column and value",
          "[workloads]") {
  CHECK(data_error(kHeader + "\n0,1,1\n12.0,1,1\n") ==
        ":3: arrival_ns is '12.0', expected an integer in 0 .. 9000000000000000000"
        " (1 rows read)");
  CHECK(data_error(kHeader + "\n9000000000000000001,1,1\n") ==
        ":2: arrival_ns is '9000000000000000001', expected an integer in 0 .. "
        "9000000000000000000 (0 rows read)");
  CHECK(data_error(kHeader + "\n-1,1,1\n") ==
        ":2: arrival_ns is '-1', expected an integer in 0 .. 9000000000000000000 (0 rows read)");
  CHECK(data_error(kHeader + "\n0,2147483648,1\n") ==
        ":2: prompt_tokens is '2147483648', expected an integer in 0 .. 2147483647"
        " (0 rows read)");
  CHECK(data_error(kHeader + "\n0,1, 1\n") ==
        ":2: output_tokens is ' 1', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(data_error(with("thinking_tokens", "51")) ==
        ":2: thinking_tokens is '51', expected an integer in 0 .. 50 (0 rows read)");
  CHECK(data_error(with("session", "18446744073709551615")) ==
        ":2: session is '18446744073709551615', expected an integer in 0 .. "
        "18446744073709551614 (0 rows read)");
  CHECK(data_error(with("priority", "nan")) ==
        ":2: priority is 'nan', expected an integer in -2147483648 .. 2147483647 (0 rows read)");
  CHECK(data_error(with("class", "\"a")) ==
        ":2: row is '5,100,50,\"a', expected 4 comma-separated fields (0 rows read)");
  CHECK(data_error(with("measured_e2el_ns", "-1")) ==
        ":2: measured_e2el_ns is '-1', expected an integer in 0 .. 9000000000000000000"
        " (0 rows read)");
}

TEST_CASE("a malformed prefix in Headroom's table is refused", "[workloads]") {
  for (const std::string bad : {"1", "1:", ":1", "1:0", "1:-1", "x:1", "1:1|", "|1:1", "1:1||2:1",
                                "18446744073709551616:1", "1:2147483648"}) {
    CHECK(data_error(with("prefix", bad)) ==
          ":2: prefix is '" + bad +
              "', expected id:tokens|id:tokens..., 1 or more tokens each (0 rows read)");
  }
  CHECK(data_error(with("prefix", "1:60|2:41")) ==
        ":2: prefix is '1:60|2:41', expected at most the 100 tokens of the prompt, not 101"
        " (0 rows read)");
  CHECK(records_of(with("prefix", "1:60|2:40")) == Records{"5,100,50 prefix=1:60|2:40"});
}

TEST_CASE("seconds in a column of nanoseconds are doubted", "[workloads]") {
  const auto warning = [](const std::string& times) {
    std::string content = kHeader + "\n";
    std::size_t at = 0;
    while (at < times.size()) {
      const std::size_t end = std::min(times.find(' ', at), times.size());
      content += times.substr(at, end - at) + ",10,5\n";
      at = end + 1;
    }
    const TempFile file(content);
    return read_trace(file.path(), {}).warning;
  };
  CHECK(warning("0 5 3600 7000 7200") ==
        "arrival_ns holds nanoseconds, but its 5 rows lie within 7200 ns (5.6e+05 requests/s): the "
        "numbers look like seconds or milliseconds; multiply them by 10^9 or 10^6");
  CHECK(warning("0 10000 20000 30000 39999") != "");
  CHECK(warning("0 10000 20000 30000 40000").empty());  // 100,000 requests/s
  CHECK(warning("0 1 2 3").empty());                    // too few rows
  CHECK(warning("7 7 7 7 7").empty());                  // a batch at one time
}

TEST_CASE("a table that ends without a line break may be cut", "[workloads]") {
  const TempFile whole(kHeader + "\n0,10,500\n");
  CHECK(read_trace(whole.path(), {}).warning.empty());
  const TempFile cut(kHeader + "\n0,10,50");
  CHECK(read_trace(cut.path(), {}).warning ==
        "line 2 ends without a line break: if the file was truncated there, its last value is too "
        "short");
  CHECK(data_error(kHeader + "\n0,10") ==
        ":2: row is '0,10', expected 3 comma-separated fields (0 rows read); the file ends there "
        "without a line break: is it truncated?");
}

}  // namespace headroom::headroom_csv_test
