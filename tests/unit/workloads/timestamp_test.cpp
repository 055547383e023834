#include "workloads/traces/timestamp.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

namespace headroom::timestamp_test {
namespace {

// 2024-05-12 is day 19855: 54 years of 365 days, 13 leap days before 2024, and 132 days of 2024
// (31 + 29 + 31 + 30 + 11): 19710 + 13 + 132.
constexpr TimeNs kDay20240512 = 19'855LL * 86'400 * 1'000'000'000;
constexpr TimeNs kHour = 3'600LL * 1'000'000'000;

}  // namespace

TEST_CASE("a timestamp without an offset is UTC", "[workloads]") {
  CHECK(parse_timestamp("1970-01-01 00:00:00") == 0);
  CHECK(parse_timestamp("2024-05-12 00:00:00") == kDay20240512);
  CHECK(parse_timestamp("2024-05-12T01:00:00Z") == kDay20240512 + kHour);
}

TEST_CASE("a fraction of 1 to 9 digits is exact", "[workloads]") {
  CHECK(parse_timestamp("1970-01-01 00:00:00.5") == 500'000'000);
  CHECK(parse_timestamp("1970-01-01 00:00:01.9799600") == 1'979'960'000);
  CHECK(parse_timestamp("1970-01-01 00:00:00.000000001") == 1);
  CHECK(parse_timestamp("1970-01-01 00:00:00.123456789Z") == 123'456'789);
  CHECK_FALSE(parse_timestamp("1970-01-01 00:00:00.1234567890"));
  CHECK_FALSE(parse_timestamp("1970-01-01 00:00:00."));
}

TEST_CASE("an offset is subtracted", "[workloads]") {
  CHECK(parse_timestamp("2024-05-12 00:00:00+00:00") == kDay20240512);
  CHECK(parse_timestamp("2024-05-12 02:00:00+02:00") == kDay20240512);
  CHECK(parse_timestamp("2024-05-11 18:30:00-0530") == kDay20240512);
  CHECK(parse_timestamp("2024-05-12 00:00:00.25-01:00") == kDay20240512 + kHour + 250'000'000);
}

TEST_CASE("leap days follow the Gregorian calendar", "[workloads]") {
  constexpr TimeNs kDay = 24 * kHour;
  CHECK(parse_timestamp("2000-03-01 00:00:00").value() -
            parse_timestamp("2000-02-28 00:00:00").value() ==
        2 * kDay);
  CHECK(parse_timestamp("2100-03-01 00:00:00").value() -
            parse_timestamp("2100-02-28 00:00:00").value() ==
        kDay);
  CHECK_FALSE(parse_timestamp("2023-02-29 00:00:00"));
  CHECK_FALSE(parse_timestamp("2100-02-29 00:00:00"));
}

TEST_CASE("what a parser remembers of earlier timestamps changes nothing", "[workloads]") {
  TimestampParser parser;
  const std::string zeros(17, '\0');
  for (const std::string& text :
       {zeros + "00", std::string("1970-01-01 00:00:59"), std::string("2024-05-12 08:47:44.25Z"),
        std::string("2024-05-12 08:47:45+02:00"), std::string("2024-05-12 08:47:60"),
        std::string("2024-05-12T08:47:46"), std::string("2024-05-12 08:4"),
        std::string("2024-02-30 08:47:46"), std::string("2024-05-12T08:47:4x"),
        std::string("2024-05-12T08:47:47"), std::string("2024-05-12T08:48:00")}) {
    CAPTURE(text);
    CHECK(parser.parse(text) == parse_timestamp(text));
  }
  CHECK(parser.parse("2024-05-12 08:47:45") ==
        kDay20240512 + (8 * 60 + 47) * 60'000'000'000 + 45'000'000'000);
}

TEST_CASE("anything that is no timestamp is refused", "[workloads]") {
  for (const std::string_view text : {"",
                                      "2024",
                                      "2024-05-12",
                                      "2024-05-12 00:00",
                                      "2024-13-01 00:00:00",
                                      "2024-00-01 00:00:00",
                                      "2024-04-31 00:00:00",
                                      "2024-05-00 00:00:00",
                                      "2024-05-12 24:00:00",
                                      "2024-05-12 00:60:00",
                                      "2024-05-12 23:59:60",
                                      "2024-05-12_00:00:00",
                                      "2024/05/12 00:00:00",
                                      "1969-12-31 23:59:59",
                                      "2255-01-01 00:00:00",
                                      "2024-05-12 00:00:00 ",
                                      "2024-05-12 00:00:00+1",
                                      "2024-05-12 00:00:00+24:00",
                                      "2024-05-12 00:00:00+00:60",
                                      "2024-05-12 00:00:00+00.00",
                                      "2024-05-12 00:00:00ZZ",
                                      "2024-05-12 00:00:0x",
                                      "\"2024-05-12 00:00:00\""}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_timestamp(text));
  }
}

}  // namespace headroom::timestamp_test
