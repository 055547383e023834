#include "sim/kernel/text_file.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "sim/kernel/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headroom::text_file_test {
namespace {

using namespace std::string_literals;

std::string refusal(const std::string& path, std::size_t most_bytes = kMostTextBytes) {
  try {
    static_cast<void>(read_text_file(path, most_bytes));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a text file is read whole", "[text_file]") {
  const TempFolder folder;
  const std::string text = "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82\n\0second"s;
  folder.write("a.txt", text);
  CHECK(read_text_file(folder.path() + "/a.txt") == text);
}

TEST_CASE("a pipe is read as a file is", "[text_file]") {
  const TempFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { folder.write("pipe", "from a pipe"); });
  CHECK(read_text_file(pipe) == "from a pipe");
  writer.join();
}

TEST_CASE("what is no text file is refused by name and reason", "[text_file]") {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.txt";
  CHECK(refusal(path) == path + ": cannot read: No such file or directory");
  CHECK(refusal(folder.path()) == folder.path() + ": cannot read: Is a directory");
  CHECK(refusal("/dev/zero") ==
        "/dev/zero: cannot read: a device or socket: expected a file or a pipe");
  folder.write("a.txt", std::string((1 << 20) + 1, 'x'));
  CHECK(refusal(path, 1 << 20) == path + ": cannot read: larger than 1 MiB");
  folder.write("a.txt", "version https://git-lfs.github.com/spec/v1\n");
  CHECK(refusal(path).starts_with(path + ": cannot read: a git-lfs pointer"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("a.txt", path);
  CHECK(refusal(path) == path + ": cannot read: Too many levels of symbolic links");
}

TEST_CASE("bytes that are not UTF-8 are refused with their line", "[text_file]") {
  const TempFolder folder;
  folder.write("a.log", "one\ntwo \xff\n");
  CHECK(refusal(folder.path() + "/a.log") ==
        folder.path() + "/a.log:2: byte 0xff is not UTF-8: expected text in UTF-8");
}

TEST_CASE("UTF-8 ends where a character is cut, overlong, a surrogate or too large") {
  for (const std::string good : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK(utf8_end(good) == good.size());
  }
  for (const std::string bad :
       {"\x80", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82", "\xe2\x82x",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    CHECK(utf8_end("ab" + bad) == 2);
  }
}

}  // namespace headroom::text_file_test
