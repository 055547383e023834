#include "sim/report/text/study_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace headroom {

std::string shown_setting(const std::string& json) {
  const bool text = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  std::string value = text ? json.substr(1, json.size() - 2) : json;
  if (value.size() > 40) value = value.substr(0, 37) + "...";
  return value;
}

std::map<std::string, std::string> shown_settings(const std::vector<std::string>& jsons) {
  std::map<std::string, std::vector<std::pair<std::string, nlohmann::ordered_json>>> by_name;
  std::map<std::string, std::string> shown;
  for (const std::string& json : jsons) {
    if (!shown.emplace(json, shown_setting(json)).second) continue;
    const auto value = nlohmann::ordered_json::parse(json, nullptr, false);
    if (!value.is_object() || !value.contains("name") || !value["name"].is_string()) continue;
    by_name[value["name"].get<std::string>()].emplace_back(json, value);
  }
  for (const auto& [name, twins] : by_name) {
    for (const auto& [json, value] : twins) {
      std::string text = name;
      for (const auto& item : value.items()) {
        const bool differs = std::ranges::any_of(twins, [&item](const auto& twin) {
          const auto found = twin.second.find(item.key());
          return found == twin.second.end() || *found != item.value();
        });
        if (differs) text += fmt::format(" {} {}", item.key(), shown_setting(item.value().dump()));
      }
      shown[json] = std::move(text);
    }
  }
  return shown;
}

StudyPoints::StudyPoints(const std::vector<StoredParameter>& parameters) {
  std::set<std::string> paths;
  std::map<std::string, std::vector<std::string>> jsons;
  for (const StoredParameter& one : parameters) {
    paths.insert(one.path);
    values_[one.point][one.path] = one.json;
    jsons[one.path].push_back(one.json);
  }
  for (const auto& [path, values] : jsons) names_[path] = shown_settings(values);
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
  for (const std::string& path : paths_) {
    cells.push_back(names_.at(path).at(found->second.at(path)));
  }
  return cells;
}

}  // namespace headroom
