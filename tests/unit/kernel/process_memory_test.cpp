#include "sim/kernel/process_memory.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/temp_folder.hpp"

namespace headroom::process_memory_test {
namespace {

std::int64_t limit_in(const TempFolder& folder) {
  return process_memory_bytes({folder.path() + "/self", folder.path()});
}

}  // namespace

TEST_CASE("the smallest limit of the control groups around the program counts", "[memory]") {
  const TempFolder folder;
  folder.write("self", "0::/outer/inner\n");
  const std::int64_t machine = limit_in(folder);
  CHECK(machine > 0);
  folder.write("outer/inner/memory.max", "max\n");
  CHECK(limit_in(folder) == machine);
  folder.write("outer/memory.max", "1048576\n");
  CHECK(limit_in(folder) == 1048576);
  folder.write("memory.max", "4096\n");  // a container sees its own group as the root
  CHECK(limit_in(folder) == 4096);
}

TEST_CASE("a limit of the first version of control groups counts", "[memory]") {
  const TempFolder folder;
  folder.write("self", "5:cpu:/\n4:memory:/job\n0::/\n");
  folder.write("memory/job/memory.limit_in_bytes", "65536\n");
  CHECK(limit_in(folder) == 65536);
}

}  // namespace headroom::process_memory_test
