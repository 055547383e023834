#pragma once
// The points of a study by what is varied, as columns of a table.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/study/store/results_store.hpp"

namespace headroom {

// Columns of text that a table of points may take; wider than the other ones, for many parameters.
inline constexpr std::size_t kStudyTextWidth = 160;

// A value as a person writes it: text without quotes, long ones cut.
[[nodiscard]] std::string shown_setting(const std::string& json);

// The same of all values of one parameter, by their JSON. Objects with a name are called by it, and
// where they share it by the keys in which they differ: "trtllm max_num_tokens 16384".
[[nodiscard]] std::map<std::string, std::string> shown_settings(
    const std::vector<std::string>& jsons);

class StudyPoints {
 public:
  explicit StudyPoints(const std::vector<StoredParameter>& parameters);

  // "point", and for each path its last name, or all of it where two paths end alike.
  [[nodiscard]] std::vector<std::string> head() const;
  [[nodiscard]] std::vector<std::string> cells(std::int64_t point) const;

 private:
  std::vector<std::string> paths_;                                   // in their order
  std::map<std::string, std::map<std::string, std::string>> names_;  // by path, of JSON values
  std::map<std::int64_t, std::map<std::string, std::string>> values_;
};

}  // namespace headroom
