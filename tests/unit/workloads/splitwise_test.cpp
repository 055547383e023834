#include "workloads/traces/splitwise.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/workloads/record_text.hpp"

namespace headroom::splitwise_test {
namespace {

const std::string kHeader =
    "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n";
const std::string kGoodRow = "0,2,0,0.5,1,512,20\n";

}  // namespace

TEST_CASE("splitwise-sim rows have integer, decimal and exponent times", "[workloads]") {
  CHECK(records_of_sample("splitwise.csv") ==
        std::vector<std::string>{"7342100,512,20 class='0'",
                                 "19187504,1024,6 class='0'",  // 19187504.3219 ns
                                 "1000000000,33,410 class='1'", "1250000000,7437,13 class='0'",
                                 "1250000000,4,1000 class='1'", "20000,64,0 class='0'"});
}

TEST_CASE("splitwise-sim rows are read whatever the line ends", "[workloads]") {
  for (const std::string& file : same_files(kHeader + kGoodRow + "1,2,7,1,1,3,4\n")) {
    CHECK(records_of(file) ==
          std::vector<std::string>{"500000000,512,20 class='0'", "1000000000,3,4 class='7'"});
  }
}

TEST_CASE("a malformed splitwise-sim row is refused with place, column and value", "[workloads]") {
  CHECK(data_error(kHeader + kGoodRow + "1,1,0,1,1,3,4\n") ==
        ":3: request_type is '1', expected 2 (generative LLM), the only type that splitwise-sim"
        " knows (1 rows read)");
  CHECK(data_error(kHeader + "0,2,0,1,8,3,4\n") ==
        ":2: batch_size is '8', expected 1: one prompt in each request (0 rows read)");
  CHECK(data_error(kHeader + "0,2,0,inf,1,3,4\n") ==
        ":2: arrival_timestamp is 'inf', expected a decimal number >= 0 within 285 years"
        " (0 rows read)");
  CHECK(data_error(kHeader + "0,2,0,1,1,-3,4\n") ==
        ":2: prompt_size is '-3', expected an integer in 0 .. 2147483647 (0 rows read)");
  CHECK(data_error(kHeader + "0,2,0,1,1,3,4e9\n") ==
        ":2: token_size is '4e9', expected an integer in 0 .. 2147483647 (0 rows read)");
}

}  // namespace headroom::splitwise_test
