#include "sim/app/input_text.hpp"

#include <filesystem>

#include "sim/kernel/text_file.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {

std::string input_path(const std::string& name) { return name == "-" ? kStandardInput : name; }

bool is_input(const std::string& path) {
  std::error_code ignored;
  return path == kStandardInput || std::filesystem::is_regular_file(path, ignored);
}

std::string input_text(const std::string& path) {
  if (path != kStandardInput) return read_text_file(path, kMostDataBytes);
  static const std::string standard_input = read_text_file(path, kMostDataBytes);
  return standard_input;
}

}  // namespace headroom
