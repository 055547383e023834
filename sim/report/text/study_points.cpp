#include "sim/report/text/study_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace headroom {

std::string shown_setting(const std::string& json) {
  const bool text = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  std::string value = text ? json.substr(1, json.size() - 2) : json;
  if (value.size() > 40) value = value.substr(0, 37) + "...";
  return value;
}

StudyPoints::StudyPoints(const std::vector<StoredParameter>& parameters) {
  std::set<std::string> paths;
  for (const StoredParameter& one : parameters) {
    paths.insert(one.path);
    values_[one.point][one.path] = one.json;
  }
  paths_.assign(paths.begin(), paths.end());
}

std::vector<std::string> StudyPoints::head() const {
  const auto last_name = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  std::vector<std::string> head{"point"};
  for (const std::string& path : paths_) {
    const std::string last = last_name(path);
    const auto same = std::ranges::count(paths_, last, last_name);
    head.push_back(same > 1 ? path : last);
  }
  return head;
}

std::vector<std::string> StudyPoints::cells(std::int64_t point) const {
  std::vector<std::string> cells{fmt::format("{}", point)};
  const auto found = values_.find(point);
  for (const std::string& path : paths_) cells.push_back(shown_setting(found->second.at(path)));
  return cells;
}

}  // namespace headroom
