#include "sim/report/page/study_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "workloads/traces/shown.hpp"

namespace headroom {
namespace {

constexpr std::size_t kErrors = 200;

// What stays in a page when not everything can.
constexpr std::array<std::string_view, 16> kFirstMetrics{
    "request_throughput", "output_throughput", "median_ttft_ms",  "p99_ttft_ms",
    "median_tpot_ms",     "p99_tpot_ms",       "mean_tpot_ms",    "p99_itl_ms",
    "median_e2el_ms",     "p99_e2el_ms",       "request_goodput", "completed",
    "rejected",           "oom_count",         "preemptions",     "max_kv_used_share"};

// Six digits are more than any figure shows.
Json rounded(double value) { return Json::parse(fmt::format("{:.6g}", value), nullptr, false); }

// Warnings of a study, each once with the points that have it. Those on too few finished requests
// differ in that number alone: they are one, with the range of it.
class WarningLines {
 public:
  void add(const std::string& text, std::size_t row) {
    constexpr std::string_view kBehind = " finished request";
    std::size_t end = text.find(kBehind);
    std::size_t begin = end;
    while (begin != std::string::npos && begin > 0 && is_digit(text[begin - 1])) --begin;
    if (begin == end || end - begin > kMostDigits) begin = end = std::string::npos;
    const bool counts = end != std::string::npos;
    Line& line = lines_[counts ? text.substr(0, begin) : text];
    const std::int64_t count = counts ? std::stoll(text.substr(begin, end - begin)) : 0;
    if (line.points.empty()) line = {.text = text, .low = count, .high = count, .points = {}};
    line.counts = counts;
    line.low = std::min(line.low, count);
    if (count >= line.high) {  // of one request alone the sentence has another number
      line.text = text;
      line.high = count;
    }
    if (line.points.empty() || line.points.back() != row) line.points.push_back(row);
  }

  [[nodiscard]] Json json() const {
    Json list = Json::array();
    for (const auto& [key, line] : lines_) {
      std::string text = line.text;
      if (line.counts && line.low < line.high)
        text.insert(key.size(), fmt::format("{} to ", line.low));
      list.push_back({{"value", text}, {"points", line.points}});
    }
    return list;
  }

 private:
  static constexpr std::size_t kMostDigits = 18;

  struct Line {
    std::string text;  // of the highest count
    bool counts = false;
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::vector<std::size_t> points;
  };

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::map<std::string, Line> lines_;  // by the text, or what stands before its count
};

Json value_of(const std::string& path, const VariedValue& parameter) {
  Json value = Json::parse(parameter.value, nullptr, false);
  if (value.is_discarded()) {
    throw ConfigError(Complaint{
        .origin = path,
        .problem = fmt::format("table parameters, point {}, {}: not a JSON value: {}",
                               parameter.point, shown(parameter.path), shown(parameter.value))});
  }
  return value;
}

struct Axis {
  std::string path;
  std::vector<Json> values;
};

void sort_numbers(std::vector<Json>& values) {
  if (std::ranges::all_of(values, [](const Json& one) { return one.is_number(); })) {
    std::ranges::stable_sort(values, {}, [](const Json& one) { return one.get<double>(); });
  }
}

// Everything by point: results of a point's replications stand together.
class StudyPage {
 public:
  explicit StudyPage(const std::string& path) : path_(path), database_(path) {
    runs_ = database_.runs();
    parameters_ = database_.parameters();
    searches_ = database_.searches();
    find_points();
    find_axes();
  }

  [[nodiscard]] Json data() {
    const std::map<std::string, std::string> meta = database_.meta();
    const auto text = [&](const char* key) {
      const auto found = meta.find(key);
      return found == meta.end() ? std::string() : found->second;
    };
    Json study = Json::parse(text("study"), nullptr, false);
    if (study.is_discarded()) study = nullptr;
    Json json = {{"name", text("study_name")},
                 {"path", path_},
                 {"headroom_version", text("headroom_version")},
                 {"total_runs", text("total_runs")},
                 {"study", std::move(study)},
                 {"axes", axes_data()},
                 {"points", points_data()},
                 {"replications", replications()}};
    add_values(json);
    add_status(json);
    add_summaries(json);
    json["searches"] = searches_data();
    return json;
  }

 private:
  void find_points() {
    for (const VariedValue& one : parameters_) points_.insert(one.point);
    for (const StudyRun& run : runs_) points_.insert(run.point);
    for (const StoredSearch& search : searches_) points_.insert(search.point);
    for (const std::int64_t point : points_) row_of_.emplace(point, row_of_.size());
    runs_of_.resize(points_.size());
    for (const StudyRun& run : runs_) runs_of_[row_of_.at(run.point)].push_back(&run);
  }

  void find_axes() {
    for (const VariedValue& one : parameters_) {
      auto axis = std::ranges::find(axes_, one.path, &Axis::path);
      if (axis == axes_.end()) axis = axes_.insert(axes_.end(), Axis{one.path, {}});
      const Json value = value_of(path_, one);
      if (std::ranges::find(axis->values, value) == axis->values.end()) {
        axis->values.push_back(value);
      }
    }
    for (Axis& axis : axes_) sort_numbers(axis.values);
  }

  [[nodiscard]] Json axes_data() const {
    Json axes = Json::array();
    for (const Axis& axis : axes_) axes.push_back({{"path", axis.path}, {"values", axis.values}});
    return axes;
  }

  [[nodiscard]] Json points_data() const {
    Json points = Json::array();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      points.push_back(std::vector<Json>(axes_.size(), nullptr));
    }
    for (const VariedValue& one : parameters_) {
      const auto axis = std::ranges::find(axes_, one.path, &Axis::path);
      const auto value = std::ranges::find(axis->values, value_of(path_, one));
      points[row_of_.at(one.point)][static_cast<std::size_t>(axis - axes_.begin())] =
          value - axis->values.begin();
    }
    return points;
  }

  [[nodiscard]] std::size_t replications() const {
    std::size_t most = 0;
    for (const auto& runs : runs_of_) most = std::max(most, runs.size());
    return most;
  }

  // The names of all metrics, those of kFirstMetrics first.
  [[nodiscard]] std::vector<std::string> metric_names() const {
    std::set<std::string> all;
    for (const StudyRun& run : runs_) {
      for (const auto& [name, value] : run.metrics) all.insert(name);
    }
    std::vector<std::string> names;
    for (const std::string_view name : kFirstMetrics) {
      if (all.erase(std::string(name)) > 0) names.emplace_back(name);
    }
    names.insert(names.end(), all.begin(), all.end());
    return names;
  }

  void add_values(Json& json) const {
    const std::vector<std::string> names = metric_names();
    const std::size_t per_metric = points_.size() * (replications() > 1 ? 3 : 1);
    const std::size_t most = kStudyNumbers / std::max<std::size_t>(per_metric, 1);
    const auto kept =
        static_cast<std::ptrdiff_t>(std::min(names.size(), std::max<std::size_t>(most, 1)));
    const auto cut = names.begin() + kept;
    json["metrics"] = std::vector<std::string>(names.begin(), cut);
    json["left_out"] = std::vector<std::string>(cut, names.end());
    Json values = Json::object();
    for (auto name = names.begin(); name != cut; ++name) values[*name] = values_of(*name);
    json["values"] = std::move(values);
  }

  [[nodiscard]] Json values_of(const std::string& metric) const {
    Json mean = Json::array();
    Json low = Json::array();
    Json high = Json::array();
    for (const auto& runs : runs_of_) {
      std::vector<double> values;
      for (const StudyRun* run : runs) {
        for (const auto& [name, value] : run->metrics) {
          if (name == metric) values.push_back(value);
        }
      }
      if (values.empty()) {
        for (Json* column : {&mean, &low, &high}) column->push_back(nullptr);
        continue;
      }
      double sum = 0;
      for (const double value : values) sum += value;
      mean.push_back(rounded(sum / static_cast<double>(values.size())));
      low.push_back(rounded(*std::ranges::min_element(values)));
      high.push_back(rounded(*std::ranges::max_element(values)));
    }
    Json json = {{"mean", std::move(mean)}};
    if (replications() < 2) return json;
    json["low"] = std::move(low);
    json["high"] = std::move(high);
    return json;
  }

  void add_status(Json& json) const {
    Json status = Json::array();
    Json ooms = Json::array();
    Json errors = Json::array();
    for (const auto& runs : runs_of_) {
      std::int64_t failed = 0;
      std::int64_t unsteady = 0;
      std::map<std::string, std::int64_t> kinds;
      for (const StudyRun* run : runs) {
        if (run->failed) ++failed;
        if (run->stationary == false) ++unsteady;
        for (const StudyOom& oom : run->ooms) kinds[oom.kind] += oom.count;
        if (run->failed && errors.size() < kErrors) {
          errors.push_back(Json::array({run->run, row_of_.at(run->point), run->error}));
        }
      }
      const auto all = static_cast<std::int64_t>(runs.size());
      status.push_back({{"done", all - failed}, {"failed", failed}, {"not_stationary", unsteady}});
      ooms.push_back(kinds);
    }
    json["status"] = std::move(status);
    json["oom"] = std::move(ooms);
    json["errors"] = std::move(errors);
  }

  // Equal budgets, warnings and error ranges stand once, with the points that have them.
  void add_summaries(Json& json) const {
    WarningLines warnings;
    std::map<std::string, Json> budgets;
    std::map<std::string, Json> errors;
    database_.each_summary([&](std::int64_t point, std::string_view text) {
      const Json summary = Json::parse(text, nullptr, false);
      if (!summary.is_object()) {
        throw ConfigError(Complaint{
            .origin = path_,
            .problem = fmt::format("table runs, point {}: summary is not a JSON object", point)});
      }
      const std::size_t row = row_of_.at(point);
      const Json memory = summary.value("memory", Json::object());
      const Json budget = {{"capacity_bytes", memory.value("capacity_bytes", Json(nullptr))},
                           {"budget_bytes", memory.value("budget_bytes", Json::object())},
                           {"kv_tokens", memory.value("kv_tokens", Json(nullptr))}};
      budgets[budget.dump()].push_back(row);
      errors[summary.value("expected_error", Json::object()).dump()].push_back(row);
      for (const Json& one : summary.value("warnings", Json::array())) {
        warnings.add(one.is_string() ? one.get<std::string>() : one.dump(), row);
      }
    });
    const auto listed = [](const std::map<std::string, Json>& found) {
      Json list = Json::array();
      for (const auto& [text, points] : found) {
        list.push_back({{"value", Json::parse(text)}, {"points", points}});
      }
      return list;
    };
    json["warnings"] = warnings.json();
    json["budgets"] = listed(budgets);
    json["expected_errors"] = listed(errors);
  }

  [[nodiscard]] Json searches_data() const {
    Json list = Json::array();
    for (const StoredSearch& search : searches_) {
      const auto number = [](const std::optional<double>& value) {
        return value ? rounded(*value) : Json(nullptr);
      };
      Json detail = Json::parse(search.detail, nullptr, false);
      if (!detail.is_object()) {
        throw ConfigError(Complaint{
            .origin = path_,
            .problem = fmt::format("table searches, {} of point {}: detail is not a JSON object",
                                   shown(search.name), search.point)});
      }
      list.push_back({{"name", search.name},
                      {"kind", search.kind},
                      {"row", row_of_.at(search.point)},
                      {"value", number(search.value)},
                      {"low", number(search.low)},
                      {"high", number(search.high)},
                      {"status", search.status},
                      {"detail", std::move(detail)}});
    }
    return list;
  }

  std::string path_;
  StoredStudy database_;
  std::vector<StudyRun> runs_;
  std::vector<VariedValue> parameters_;
  std::vector<StoredSearch> searches_;
  std::set<std::int64_t> points_;
  std::map<std::int64_t, std::size_t> row_of_;         // of a point in all that is by point
  std::vector<std::vector<const StudyRun*>> runs_of_;  // by row
  std::vector<Axis> axes_;
};

}  // namespace

Json study_data(const std::string& path) { return StudyPage(path).data(); }

}  // namespace headroom
