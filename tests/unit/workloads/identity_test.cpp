#include "workloads/traces/identity.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

#include "sim/serving/request.hpp"
#include "workloads/traces/json_line.hpp"

namespace headroom::identity_test {

TEST_CASE("an identity is its number in the usual spelling, or stands for its text",
          "[workloads]") {
  CHECK(identity_of("0") == 0);
  CHECK(identity_of("42") == 42);
  CHECK(identity_of("18446744073709551614") == UINT64_MAX - 1);
  CHECK(identity_of("007") == text_id("007"));
  CHECK(identity_of("-1") == text_id("-1"));
  // It would be taken for no session.
  CHECK(identity_of("18446744073709551615") == text_id("18446744073709551615"));
  CHECK(identity_of("user-7") == text_id("user-7"));
}

TEST_CASE("a row without a session name has no session", "[workloads]") {
  CHECK(session_of("") == kNoSession);
  CHECK(session_of("7") == 7);
}

TEST_CASE("an unsigned number is digits only and fits into 64 bits", "[workloads]") {
  CHECK(parse_unsigned("18446744073709551615") == UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "1.0", "18446744073709551616"}) {
    CHECK(!parse_unsigned(bad));
  }
}

}  // namespace headroom::identity_test
