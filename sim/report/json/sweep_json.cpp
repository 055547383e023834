#include "sim/report/json/sweep_json.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "sim/report/json/json_text.hpp"
#include "sim/study/store/stored_study.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

// From best to worst; a run that failed has none and comes last.
std::ptrdiff_t badness(const std::string& verdict) {
  constexpr std::array<std::string_view, 4> kVerdicts{"holds", "tight", "does_not_hold",
                                                      "does_not_start"};
  return std::ranges::find(kVerdicts, verdict) - kVerdicts.begin();
}

Json mean_metrics(std::span<const StudyRun> runs) {
  std::map<std::string, std::pair<double, int>> sums;
  for (const StudyRun& run : runs) {
    for (const auto& [name, value] : run.metrics) {
      sums[name].first += value;
      ++sums[name].second;
    }
  }
  Json metrics = Json::object();
  for (const auto& [name, sum] : sums) metrics[name] = sum.first / sum.second;
  return metrics;
}

Json judged(const RunWords* words) {
  if (words == nullptr || words->verdict.empty()) {
    return {{"verdict", nullptr}, {"reason", nullptr}, {"binds", nullptr}};
  }
  return {{"verdict", words->verdict}, {"reason", words->reason}, {"binds", words->binds}};
}

class Points {
 public:
  explicit Points(const StoredStudy& study) : runs_(study.runs()) {
    for (const RunWords& words : study.verdicts()) words_.emplace(words.run, words);
    for (const VariedValue& varied : study.parameters()) {
      settings_[varied.point][varied.path] = Json::parse(varied.value, nullptr, false);
    }
  }

  Json json() const {
    Json points = Json::array();
    for (std::size_t i = 0; i < runs_.size();) {
      std::size_t end = i;
      while (end < runs_.size() && runs_[end].point == runs_[i].point) ++end;
      points.push_back(point_json({runs_.data() + i, end - i}));
      i = end;
    }
    return points;
  }

 private:
  [[nodiscard]] const RunWords* words_of(const StudyRun& run) const {
    const auto found = words_.find(run.run);
    return found == words_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] Json point_json(std::span<const StudyRun> runs) const {
    const std::int64_t point = runs.front().point;
    const auto settings = settings_.find(point);
    Json json = {{"point", point},
                 {"settings", settings == settings_.end() ? Json::object() : settings->second}};
    const RunWords* worst = nullptr;
    Json all = Json::array();
    for (const StudyRun& run : runs) {
      const RunWords* words = words_of(run);
      const bool is_worse = words != nullptr &&
                            (worst == nullptr || badness(words->verdict) > badness(worst->verdict));
      if (is_worse) worst = words;
      Json one = {{"run", run.run}, {"replication", run.replication}, {"seed", run.seed}};
      one.update(judged(words));
      if (run.failed) one["error"] = run.error;
      all.push_back(std::move(one));
    }
    json.update(judged(worst));
    json["metrics"] = mean_metrics(runs);
    json["runs"] = std::move(all);
    return json;
  }

  std::vector<StudyRun> runs_;
  std::map<std::int64_t, RunWords> words_;
  std::map<std::int64_t, Json> settings_;
};

Json searches_json(const StoredStudy& study) {
  Json searches = Json::array();
  for (const StoredSearch& search : study.searches()) {
    searches.push_back({{"search", search.name},
                        {"kind", search.kind},
                        {"point", search.point},
                        {"value", optional_json(search.value)},
                        {"low", optional_json(search.low)},
                        {"high", optional_json(search.high)},
                        {"status", search.status}});
  }
  return searches;
}

}  // namespace

std::string sweep_json(const std::string& path) {
  const StoredStudy study(path);
  const std::map<std::string, std::string> meta = study.meta();
  const auto name = meta.find("study_name");
  Json json = {{"study", name == meta.end() ? "" : name->second},
               {"file", path},
               {"points", Points(study).json()}};
  if (Json searches = searches_json(study); !searches.empty()) json["searches"] = searches;
  return json_text(json);
}

}  // namespace headroom
