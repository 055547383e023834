#pragma once
// A file of lengths, for empirical laws.

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// One integer per line, or `input,output` per line (a first line of exactly these words is a
// header). `output` stays empty in a file of single integers.
struct LengthTable {
  std::vector<std::int64_t> prompt;
  std::vector<std::int64_t> output;
};

// DataError on anything else, with file:line.
[[nodiscard]] LengthTable read_length_table(const std::string& path);

}  // namespace headroom
