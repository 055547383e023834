#include "sim/report/files/result_directory.hpp"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/partial_path.hpp"

namespace headroom::result_directory_test {
namespace fs = std::filesystem;

namespace {

// An empty folder of this test's own, removed afterwards.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("headroom-test-" + std::to_string(::getpid()));
  Scratch() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Scratch() { fs::remove_all(path); }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {}));
  }
};

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("results appear only when they are published") {
  const Scratch scratch;
  const fs::path target = scratch.path / "a" / "b";
  {
    ResultDirectory directory(target.string());
    put(directory.path("summary.json"), "{}");
    CHECK_FALSE(fs::exists(target));
    directory.publish();
  }
  CHECK(text_of(target / "summary.json") == "{}");
  CHECK(std::distance(fs::directory_iterator(scratch.path / "a"), {}) == 1);
}

TEST_CASE("a signal handler can remove results that are not published") {
  const Scratch scratch;
  ResultDirectory directory((scratch.path / "r").string());
  put(directory.path("summary.json"), "{");
  put(directory.path("requests.csv"), "a");
  CHECK(scratch.entries() == 1);
  remove_partial_paths();
  CHECK(scratch.entries() == 0);
}

TEST_CASE("an abandoned result leaves nothing behind, parents included") {
  const Scratch scratch;
  {
    const ResultDirectory directory((scratch.path / "a" / "b" / "c").string());
    put(directory.path("summary.json"), "{");
  }
  CHECK(scratch.entries() == 0);
}

TEST_CASE("earlier results are replaced as a whole") {
  const Scratch scratch;
  const fs::path target = scratch.path / "r";
  fs::create_directory(target);
  put(target / "requests.csv", "old");
  put(target / "transfers.csv", "of a fleet with roles");
  ResultDirectory directory(target.string() + "/");
  put(directory.path("summary.json"), "new");
  directory.publish();
  CHECK_FALSE(fs::exists(target / "requests.csv"));
  CHECK(text_of(target / "summary.json") == "new");
  CHECK(scratch.entries() == 1);
}

TEST_CASE("a directory with anything else in it is not touched") {
  const Scratch scratch;
  put(scratch.path / "thesis.tex", "x");
  CHECK_THROWS_WITH(ResultDirectory(scratch.path.string()),
                    Catch::Contains("it holds thesis.tex, which is not a result file"));
  CHECK(scratch.entries() == 1);
}

TEST_CASE("a file in the place of the directory is refused") {
  const Scratch scratch;
  put(scratch.path / "r", "x");
  CHECK_THROWS_WITH(ResultDirectory((scratch.path / "r").string()),
                    Catch::Contains("exists and is not a directory"));
  CHECK_THROWS_AS(ResultDirectory((scratch.path / "r" / "below").string()), ConfigError);
  CHECK(scratch.entries() == 1);
}

TEST_CASE("results of another scenario are left where they are") {
  const Scratch scratch;
  const std::string out = (scratch.path / "demo").string();
  const auto write = [&](const std::string& seqs) {
    ResultDirectory directory(out);
    put(directory.path("resolved.json"), R"({"values": {"/engine/max_num_seqs": {"value": )" +
                                             seqs + R"(, "set_by": "x"}}, "trace": {}})");
    directory.avoid_others();
    directory.publish();
    return fs::path(directory.target()).filename().string();
  };
  CHECK(write("64") == "demo");
  CHECK(write("64") == "demo");
  CHECK(write("128") == "demo-2");
  CHECK(write("256") == "demo-3");
  CHECK(write("128") == "demo-2");
  CHECK(write("64") == "demo");
  CHECK(scratch.entries() == 3);
}

}  // namespace headroom::result_directory_test
