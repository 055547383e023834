#include "sim/study/search/search_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/sweep/run_row.hpp"
#include "sim/study/sweep/study_axes.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostChecks = 100;
constexpr std::int64_t kDefaultChecks = 2;
constexpr double kDefaultTolerance = 0.01;
constexpr double kLeastTolerance = 1e-4;
// Replications of a value that is not certain, as a multiple of those it begins with.
constexpr std::int64_t kMoreReplications = 4;

struct KindRow {
  SearchKind kind;
  std::string_view name;
  std::string_view path;  // default of the searched option
  std::string_view meaning;
};
constexpr std::array kKinds{
    KindRow{SearchKind::max_request_rate, "max_request_rate", "workload.arrivals.request_rate",
            "largest value at which the limits hold, every run is stationary and no request is "
            "lost to out of memory"},
    KindRow{SearchKind::max_concurrency, "max_concurrency", "workload.closed_loop.users",
            "largest value at which nothing runs out of memory"},
    KindRow{SearchKind::min_gpu_memory_utilization, "min_gpu_memory_utilization",
            "engine.gpu_memory_utilization",
            "smallest value that starts and at which nothing runs out of memory"},
    KindRow{SearchKind::pareto, "pareto", "",
            "the points of the study that no other point beats in two metrics"}};

const std::vector<std::string> kValueKeys{"name",
                                          "kind",
                                          "path",
                                          "from",
                                          "to",
                                          "tolerance",
                                          "limits",
                                          "no_preemption",
                                          "max_replications",
                                          "checks"};
const std::vector<std::string> kFrontKeys{"name", "kind", "maximize", "minimize"};

// More of it is clearly worse, or clearly better; for other metrics the file must say which it
// means.
std::optional<bool> natural_at_most(const std::string& metric) {
  if (metric.ends_with("_ms")) return true;
  if (metric == "goodput_share") return false;
  return std::nullopt;
}

class SearchReader {
 public:
  SearchReader(const JsonDocument& document, const std::vector<AxisGroup>& groups,
               std::int64_t replications)
      : document_(document), groups_(groups), replications_(replications) {}

  [[nodiscard]] std::vector<Search> searches() const {
    std::vector<Search> searches;
    if (!document_.root.contains("search")) return searches;
    const Json& list = document_.root["search"];
    if (!list.is_array() || list.empty()) {
      throw value_error(document_, "/search", list, "expected a list of one or more searches");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = fmt::format("/search/{}", i);
      Search search = read(pointer, list[i]);
      if (std::ranges::find(searches, search.name, &Search::name) != searches.end()) {
        throw key_error(document_, pointer + "/name",
                        fmt::format("two searches are named {}", search.name), ErrorKind::conflict);
      }
      searches.push_back(std::move(search));
    }
    return searches;
  }

 private:
  [[nodiscard]] Search read(const std::string& pointer, const Json& value) const {
    if (!value.is_object()) throw value_error(document_, pointer, value, "expected an object");
    const KindRow& row = kind(pointer, value);
    Search search{.name = std::string(row.name), .kind = row.kind};
    expect_keys(document_, pointer, value, search.is_front() ? kFrontKeys : kValueKeys);
    if (value.contains("name")) {
      const Json& name = value["name"];
      if (!name.is_string() || name.get<std::string>().empty()) {
        throw value_error(document_, pointer + "/name", name, "expected a name");
      }
      search.name = name.get<std::string>();
    }
    if (search.is_front()) {
      read_front(pointer, value, search.front);
    } else {
      read_value(pointer, value, row, search.value);
    }
    return search;
  }

  [[nodiscard]] const KindRow& kind(const std::string& pointer, const Json& value) const {
    std::vector<std::string> names;
    for (const KindRow& row : kKinds) names.emplace_back(row.name);
    const std::string allowed = "expected one of " + comma_list(names);
    if (!value.contains("kind")) throw missing_key(document_, pointer, "kind", allowed);
    const Json& given = value["kind"];
    const std::string name = given.is_string() ? given.get<std::string>() : "";
    const auto* const found = std::ranges::find(kKinds, name, &KindRow::name);
    if (found == kKinds.end()) {
      throw value_error(document_, pointer + "/kind", given, allowed, nearest_name(name, names),
                        given.is_string() ? ErrorKind::unknown : ErrorKind::value);
    }
    return *found;
  }

  void read_value(const std::string& pointer, const Json& value, const KindRow& row,
                  ValueSearch& search) const {
    read_option(pointer, value, row, search);
    read_range(pointer, value, search);
    search.largest = row.kind != SearchKind::min_gpu_memory_utilization;
    search.each.push_back({"started", false, 1});
    if (row.kind == SearchKind::max_request_rate) {
      search.stationary = true;
      search.each.push_back({"lost_to_oom", true, 0});
    } else {
      search.each.push_back({"oom_count", true, 0});
    }
    if (flag(pointer, value, "no_preemption")) search.each.push_back({"preemptions", true, 0});
    if (value.contains("limits")) read_limits(pointer + "/limits", value["limits"], search.limits);
    search.replications = replications_;
    const std::int64_t most = replications_ == 1 ? 1 : kMoreReplications * replications_;
    search.max_replications =
        whole(pointer, value, "max_replications", replications_, kMaxReplications)
            .value_or(std::min(most, kMaxReplications));
    search.checks = whole(pointer, value, "checks", 0, kMostChecks).value_or(kDefaultChecks);
  }

  void read_option(const std::string& pointer, const Json& value, const KindRow& row,
                   ValueSearch& search) const {
    const std::string place = pointer + "/path";
    const Json path = value.contains("path") ? value["path"] : Json(row.path);
    search.keys = read_path(document_, place, path);
    search.path = dotted_path(search.keys);
    const OptionRow* const option = option_at(search.keys);
    const std::string type = option == nullptr ? "" : type_name(*option);
    search.whole = type == "integer";
    if ((!search.whole && type != "number") || search.path == "seed") {
      throw value_error(document_, place, path, "expected an option that is a quantity");
    }
    for (const AxisGroup& group : groups_) {
      for (const StudyAxis& axis : group) {
        if (axis.path != search.path) continue;
        throw key_error(
            document_, place,
            fmt::format("the study already varies {}, so it cannot be searched too", search.path),
            ErrorKind::conflict);
      }
    }
  }

  void read_range(const std::string& pointer, const Json& value, ValueSearch& search) const {
    const std::string_view allowed =
        search.whole ? "expected an integer >= 0" : "expected a number > 0";
    search.from = end(pointer, value, "from", search.whole, allowed);
    search.to = end(pointer, value, "to", search.whole, allowed);
    if (search.to <= search.from) {
      throw key_error(document_, pointer, "an empty range: \"to\" must be above \"from\"",
                      ErrorKind::value);
    }
    search.tolerance = search.whole ? 0 : kDefaultTolerance;
    if (!value.contains("tolerance")) return;
    const Json& given = value["tolerance"];
    const double least = search.whole ? 0 : kLeastTolerance;
    if (!given.is_number() || !(given.get<double>() >= least && given.get<double>() < 1)) {
      throw value_error(document_, pointer + "/tolerance", given,
                        fmt::format("expected a share of the answer from {} to below 1", least));
    }
    search.tolerance = given.get<double>();
  }

  [[nodiscard]] double end(const std::string& pointer, const Json& value, const char* key,
                           bool is_whole, std::string_view allowed) const {
    if (!value.contains(key)) throw missing_key(document_, pointer, key, allowed);
    const Json& given = value[key];
    constexpr double kGreatest = 1e15;
    const bool fits = is_whole ? given.is_number_integer() && given.get<double>() >= 0
                               : given.is_number() && given.get<double>() > 0;
    if (!fits || given.get<double>() > kGreatest) {
      throw value_error(document_, fmt::format("{}/{}", pointer, key), given, allowed);
    }
    return given.get<double>();
  }

  [[nodiscard]] bool flag(const std::string& pointer, const Json& value, const char* key) const {
    if (!value.contains(key)) return false;
    if (!value[key].is_boolean()) {
      throw value_error(document_, fmt::format("{}/{}", pointer, key), value[key],
                        "expected true or false");
    }
    return value[key].get<bool>();
  }

  [[nodiscard]] std::optional<std::int64_t> whole(const std::string& pointer, const Json& value,
                                                  const char* key, std::int64_t least,
                                                  std::int64_t most) const {
    if (!value.contains(key)) return std::nullopt;
    const Json& given = value[key];
    const bool fits = given.is_number_integer() &&
                      given.get<double>() >= static_cast<double>(least) &&
                      given.get<double>() <= static_cast<double>(most);
    if (!fits) {
      throw value_error(document_, fmt::format("{}/{}", pointer, key), given,
                        fmt::format("expected an integer from {} to {}", least, most));
    }
    return given.get<std::int64_t>();
  }

  void check_metric(const std::string& pointer, const std::string& metric) const {
    const std::vector<std::string> known = metric_names();
    if (std::ranges::find(known, metric) != known.end()) return;
    throw key_error(document_, pointer,
                    fmt::format("a run has no metric {}", pointer_token(metric)),
                    ErrorKind::unknown, nearest_name(metric, known));
  }

  void read_limits(const std::string& pointer, const Json& value,
                   std::vector<Limit>& limits) const {
    if (!value.is_object() || value.empty()) {
      throw value_error(document_, pointer, value,
                        "expected metrics with their limits, e.g. {\"p99_ttft_ms\": 1000}");
    }
    for (const auto& [metric, bound] : value.items()) {
      const std::string place = pointer + "/" + pointer_token(metric);
      check_metric(place, metric);
      const std::optional<bool> natural = natural_at_most(metric);
      if (bound.is_number() && natural) {
        limits.push_back({metric, *natural, bound.get<double>()});
        continue;
      }
      if (!bound.is_object() || bound.empty()) {
        throw value_error(document_, place, bound,
                          natural ? "expected a number, {\"<=\": number} or {\">=\": number}"
                                  : "expected {\"<=\": number} or {\">=\": number}");
      }
      expect_keys(document_, place, bound, {"<=", ">="});
      for (const auto& [comparator, number] : bound.items()) {
        if (!number.is_number()) {
          throw value_error(document_, place + "/" + comparator, number, "expected a number");
        }
        limits.push_back({metric, comparator == "<=", number.get<double>()});
      }
    }
  }

  void read_front(const std::string& pointer, const Json& value,
                  std::vector<Objective>& front) const {
    for (const bool maximize : {true, false}) {
      const char* const key = maximize ? "maximize" : "minimize";
      if (!value.contains(key)) continue;
      const std::string place = fmt::format("{}/{}", pointer, key);
      const Json& list = value[key];
      if (!list.is_array()) throw value_error(document_, place, list, "expected a list of metrics");
      for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string item = fmt::format("{}/{}", place, i);
        if (!list[i].is_string()) throw value_error(document_, item, list[i], "expected a metric");
        const auto metric = list[i].get<std::string>();
        check_metric(item, metric);
        front.push_back({metric, maximize});
      }
    }
    if (front.size() != 2 || front[0].metric == front[1].metric) {
      throw key_error(document_, pointer,
                      "a front needs two metrics: list them in maximize and minimize",
                      ErrorKind::value);
    }
  }

  const JsonDocument& document_;
  const std::vector<AxisGroup>& groups_;
  std::int64_t replications_;
};

Json described(const char* type, const char* description) {
  return {{"description", description}, {"type", type}};
}

Json limits_schema() {
  const Json number = {{"type", "number"}};
  Json bounds = {{"type", "object"},
                 {"additionalProperties", false},
                 {"minProperties", 1},
                 {"properties", {{"<=", number}, {">=", number}}}};
  return {{"description",
           "limits on metrics, applied to means over replications: a number (latencies: at most; "
           "goodput_share: at least), or {\"<=\": number}, {\">=\": number}"},
          {"type", "object"},
          {"minProperties", 1},
          {"propertyNames", {{"enum", metric_names()}}},
          {"additionalProperties", {{"anyOf", Json::array({number, std::move(bounds)})}}}};
}

Json value_schema() {
  Json kinds = Json::array();
  std::string meanings;
  for (const KindRow& row : kKinds) {
    if (row.kind == SearchKind::pareto) continue;
    kinds.push_back(row.name);
    meanings += fmt::format("{}{}: {} (of {})", meanings.empty() ? "" : "; ", row.name, row.meaning,
                            row.path);
  }
  Json p;
  p["name"] = described("string", "name of the search; when absent: its kind");
  p["kind"] = {{"description", meanings}, {"enum", kinds}};
  p["path"] =
      described("string", "the option to search over, a quantity; default: that of the kind");
  p["from"] = described("number", "the smallest value");
  p["to"] = described("number", "the largest value");
  p["tolerance"] = {
      {"description",
       "allowed relative error of the answer; default 0.01, or 0 (exact) for integer options"},
      {"type", "number"},
      {"minimum", 0},
      {"exclusiveMaximum", 1}};
  p["limits"] = limits_schema();
  p["no_preemption"] = described("boolean", "no run may preempt a request; default false");
  p["max_replications"] = {{"description",
                            "most runs of a value whose confidence interval crosses a limit, after "
                            "which it fails; default: 4 x replications, or 1 if there is one"},
                           {"type", "integer"},
                           {"minimum", 1},
                           {"maximum", kMaxReplications}};
  p["checks"] = {{"description", "extra values to try on each side of the answer"},
                 {"type", "integer"},
                 {"minimum", 0},
                 {"maximum", kMostChecks},
                 {"default", kDefaultChecks}};
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties", std::move(p)},
          {"required", {"kind", "from", "to"}}};
}

Json front_schema() {
  const Json metrics = {{"type", "array"}, {"items", {{"enum", metric_names()}}}};
  Json p;
  p["name"] = described("string", "name of the search; when absent: its kind");
  p["kind"] = {{"description", kKinds.back().meaning}, {"const", kKinds.back().name}};
  p["maximize"] = metrics;
  p["minimize"] = metrics;
  return {{"description", "two metrics in all"},
          {"type", "object"},
          {"additionalProperties", false},
          {"properties", std::move(p)},
          {"required", {"kind"}}};
}

}  // namespace

std::string_view name_of(SearchKind kind) {
  return std::ranges::find(kKinds, kind, &KindRow::kind)->name;
}

std::vector<Search> read_searches(const JsonDocument& document,
                                  const std::vector<AxisGroup>& groups, std::int64_t replications) {
  return SearchReader(document, groups, replications).searches();
}

Json searches_schema() {
  return {{"description",
           "what to search for: a value for each point of the study, or a front over its points"},
          {"type", "array"},
          {"minItems", 1},
          {"items", {{"anyOf", Json::array({value_schema(), front_schema()})}}}};
}

}  // namespace headroom
