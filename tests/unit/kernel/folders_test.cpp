#include "sim/kernel/folders.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::folders_test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_below(const TempFolder& folder, int levels) {
  std::vector<std::string> names;
  for (const fs::path& found : folders_below(folder.path(), levels)) {
    names.push_back(fs::relative(found, folder.path()).generic_string());
  }
  return names;
}

}  // namespace

TEST_CASE("folders are listed by path, down to the level asked for", "[folders]") {
  const TempFolder folder;
  folder.write("b/file", "");
  folder.write("a/c/d/file", "");
  CHECK(names_below(folder, 0) == std::vector<std::string>{"."});
  CHECK(names_below(folder, 1) == std::vector<std::string>{".", "a", "b"});
  CHECK(names_below(folder, 2) == std::vector<std::string>{".", "a", "a/c", "b"});
}

TEST_CASE("links to folders are listed and not followed", "[folders]") {
  const TempFolder folder;
  folder.write("a/inner/file", "");
  fs::create_directory_symlink(folder.path(), folder.path() + "/a/up");
  CHECK(names_below(folder, 9).size() == 4);  // ".", a, a/inner and a/up, which relative() follows
}

TEST_CASE("a loop of links is an error that names it, not a missing file", "[folders]") {
  const TempFolder folder;
  const std::string loop = folder.path() + "/loop";
  fs::create_symlink("loop", loop);
  const std::string why = loop + ": cannot read: Too many levels of symbolic links";
  CHECK_THROWS_WITH(is_there(loop), why);
  CHECK_THROWS_WITH(is_folder(loop), why);
  CHECK_THROWS_WITH(folders_in(folder.path()), why);
  CHECK_THROWS_AS(folders_below(folder.path(), 1), ConfigError);
  CHECK_FALSE(is_there(folder.path() + "/no"));
  CHECK_FALSE(is_folder(folder.path() + "/no/more"));
  CHECK_THROWS_WITH(folders_in(folder.path() + "/no"),
                    folder.path() + "/no: cannot read: No such file or directory");
}

}  // namespace headroom::folders_test
