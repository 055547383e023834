// Progress where lines are not written over, as in logs of CI.

#include <catch2/catch.hpp>
#include <vector>

#include "sim/app/progress.hpp"

namespace headroom::progress_lines_test {
namespace {

std::vector<std::size_t> told(std::size_t all) {
  std::vector<std::size_t> steps;
  for (std::size_t done = 1; done <= all; ++done) {
    if (is_told(done, all)) steps.push_back(done);
  }
  return steps;
}

}  // namespace

TEST_CASE("the first, every tenth part and the last of many steps have a line") {
  CHECK(told(80) == std::vector<std::size_t>{1, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80});
  CHECK(told(1000).size() == 11);
  CHECK(told(1000).back() == 1000);
}

TEST_CASE("few steps have a line each") {
  CHECK(told(1) == std::vector<std::size_t>{1});
  CHECK(told(3) == std::vector<std::size_t>{1, 2, 3});
}

}  // namespace headroom::progress_lines_test
