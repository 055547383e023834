#include "sim/kernel/file_roles.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::file_roles_test {
namespace fs = std::filesystem;

TEST_CASE("a file that is read is no output, under none of its names") {
  const TempFolder folder;
  const std::string file = folder.path() + "/a";
  folder.write("a", "text");
  fs::create_symlink("a", folder.path() + "/soft");
  fs::create_hard_link(file, folder.path() + "/hard");
  note_input(file);
  for (const char* name : {"/a", "/./a", "/soft", "/hard"}) {
    CHECK_THROWS_AS(OutputRole(folder.path() + name), ConfigError);
  }
  CHECK_THROWS_WITH(OutputRole(folder.path() + "/hard"),
                    folder.path() + "/hard: cannot write: it would replace " + file +
                        ", which this command reads; name another output");
  CHECK_NOTHROW(OutputRole(folder.path() + "/b"));
}

TEST_CASE("an output is not read before it has its place") {
  const TempFolder folder;
  folder.write("a", "text");
  fs::create_symlink("a", folder.path() + "/soft");
  {
    const OutputRole role(folder.path() + "/a");
    CHECK_THROWS_AS(note_input(folder.path() + "/soft"), ConfigError);
  }
  CHECK_NOTHROW(note_input(folder.path() + "/soft"));
}

TEST_CASE("a file in a folder that is replaced as a whole is no output") {
  const TempFolder folder;
  const OutputRole role(folder.path());
  CHECK_THROWS_AS(OutputRole(folder.path() + "/log.json"), ConfigError);
  CHECK_NOTHROW(OutputRole(folder.path() + "/below/log.json"));
}

TEST_CASE("an input that is gone hinders no output in its place, and devices have no role") {
  const TempFolder folder;
  folder.write("a", "text");
  note_input(folder.path() + "/a");
  fs::rename(folder.path() + "/a", folder.path() + "/b");  // as a new file in the same place
  CHECK_NOTHROW(OutputRole(folder.path() + "/b"));
  note_input("/dev/null");
  CHECK_NOTHROW(OutputRole("/dev/null"));
}

}  // namespace headroom::file_roles_test
