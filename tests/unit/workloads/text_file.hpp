#pragma once
// The bytes of a file.

#include <fstream>
#include <sstream>
#include <string>

namespace headroom {

[[nodiscard]] inline std::string text_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

}  // namespace headroom
