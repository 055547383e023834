#include <catch2/catch.hpp>
#include <vector>

#include "hardware/engine_version.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom::names_test {

TEST_CASE("edit distance counts inserts, deletes, replacements and swaps") {
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("H100", "h100") == 0);
}

TEST_CASE("the nearest name is close or none") {
  const std::vector<std::string> names{"max_num_seqs", "max_model_len", "block_size"};
  CHECK(nearest_name("max_num_seq", names) == "max_num_seqs");
  CHECK(nearest_name("blocksize", names) == "block_size");
  CHECK(nearest_name("temperature", names).empty());
  CHECK(nearest_name("x", {}).empty());
  CHECK(nearest_name("max", names) == "max_num_seqs");  // the first that begins so
  CHECK(nearest_name("ma", names).empty());
}

TEST_CASE("engine versions compare by release") {
  CHECK(parse_engine_version("v0.19.0") == EngineVersion{0, 19});
  CHECK(parse_engine_version("0.10.1.1+cu128") == EngineVersion{0, 10});
  CHECK(parse_engine_version("0.9") < parse_engine_version("0.10"));
  CHECK(to_string(EngineVersion{1, 2}) == "1.2");
  for (const char* bad : {"", "0", "latest", "0.x", "0.1-dirty", "0.0.0+local"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_engine_version(bad), ConfigError);
  }
}

TEST_CASE("a candidate or development build has the rules of the patch before") {
  CHECK(patch_of("0.20.1") == 1);
  CHECK(patch_of("0.20.1+cu128") == 1);
  CHECK(patch_of("0.5.12.post1") == 12);
  for (const char* before : {"0.20.1rc1.dev16+g7a1eb8ac2", "0.20.1.dev0", "0.20.1rc2", "v0.20.1a1",
                             "0.20.1-beta.2", "0.20.1.alpha"}) {
    INFO(before);
    CHECK(patch_of(before) == 0);
  }
  CHECK(patch_of("0.20.0rc1") == 0);
  CHECK_FALSE(patch_of("0.20"));
}

}  // namespace headroom::names_test
