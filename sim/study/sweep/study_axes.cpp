#include "sim/study/sweep/study_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "sim/kernel/det_math.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/option_value.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/short_paths.hpp"

namespace headroom {
namespace {

constexpr std::string_view kClasses = "/workload/classes/";
constexpr double kGreatestWhole = 9007199254740992.0;  // of the numbers that JSON keeps exactly

// The row that reads the option at `pointer`; options of a class are those of a workload.
const OptionRow* row_of_axis(const std::string& pointer) {
  std::string wanted = pointer;
  if (pointer.starts_with(kClasses)) {
    const std::size_t rest = pointer.find('/', kClasses.size());
    if (rest == std::string::npos) return nullptr;
    const bool slo = pointer.compare(rest, 5, "/slo/") == 0;
    wanted = (slo ? "" : "/workload") + pointer.substr(rest);
  }
  return find_option(wanted);
}

bool is_section(const std::string& pointer) {
  return std::ranges::any_of(
      all_options(), [&](const OptionRow& row) { return row.pointer.starts_with(pointer + "/"); });
}

bool is_known(const std::string& pointer) {
  return row_of_axis(pointer) != nullptr || is_section(pointer) || pointer.starts_with(kClasses);
}

// `digits` significant ones: what a person would have written for the value.
double rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

// The axes of one study file.
class AxisReader {
 public:
  explicit AxisReader(const JsonDocument& document) : document_(document) {}

  std::vector<AxisGroup> groups() const {
    std::vector<AxisGroup> groups;
    if (!document_.root.contains("vary")) return groups;
    const Json& list = document_.root["vary"];
    if (!list.is_array()) throw value_error(document_, "/vary", list, "expected a list of axes");
    for (std::size_t i = 0; i < list.size(); ++i) {
      groups.push_back(group(fmt::format("/vary/{}", i), list[i]));
    }
    check_paths(groups);
    return groups;
  }

 private:
  [[nodiscard]] AxisGroup group(const std::string& pointer, const Json& value) const {
    AxisGroup result;
    if (!value.is_object() || !value.contains("zip")) {
      result.push_back(axis(pointer, value));
      check_distinct(pointer, result);
      return result;
    }
    expect_keys(document_, pointer, value, {"zip"});
    const Json& list = value["zip"];
    const std::string zip = pointer + "/zip";
    if (!list.is_array() || list.size() < 2) {
      throw value_error(document_, zip, list, "expected a list of two or more axes");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      result.push_back(axis(fmt::format("{}/{}", zip, i), list[i]));
      if (result[i].values.size() != result[0].values.size()) {
        throw key_error(document_, fmt::format("{}/{}", zip, i),
                        fmt::format("{} values, but the first axis of the group has {}: zipped "
                                    "axes advance together",
                                    result[i].values.size(), result[0].values.size()),
                        ErrorKind::conflict);
      }
    }
    check_distinct(pointer, result);
    return result;
  }

  [[nodiscard]] StudyAxis axis(const std::string& pointer, const Json& value) const {
    expect_keys(document_, pointer, value, {"path", "values", "range", "log_range"});
    if (!value.contains("path")) {
      throw missing_key(document_, pointer, "path", "an option, e.g. \"engine.max_num_seqs\"");
    }
    StudyAxis axis;
    axis.keys = read_path(document_, pointer + "/path", value["path"]);
    axis.path = dotted_path(axis.keys);
    if (axis.path == "seed") {
      throw key_error(document_, pointer + "/path",
                      "the seed cannot be an axis: use replications or seeds", ErrorKind::value);
    }
    const auto given = value.size() - 1;
    if (given != 1) {
      throw key_error(document_, pointer, "expected one of values, range, log_range",
                      given == 0 ? ErrorKind::missing : ErrorKind::conflict);
    }
    if (value.contains("values")) {
      list(pointer + "/values", value["values"], axis);
    } else if (value.contains("range")) {
      range(pointer + "/range", value["range"], axis);
    } else {
      log_range(pointer + "/log_range", value["log_range"], axis);
    }
    return axis;
  }

  void list(const std::string& pointer, const Json& values, StudyAxis& axis) const {
    if (!values.is_array() || values.empty()) {
      throw value_error(document_, pointer, values, "expected a list of one or more values");
    }
    check_count(pointer, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      add(axis, values[i], fmt::format("{}/{}", pointer, i));
    }
  }

  void add(StudyAxis& axis, Json value, const std::string& pointer) const {
    axis.values.push_back(std::move(value));
    axis.origins.push_back(fmt::format("{}: {}", document_.name, pointer));
  }

  // A number of a range.
  [[nodiscard]] double number(const std::string& pointer, const Json& range, const char* key,
                              std::string_view allowed, bool positive) const {
    if (!range.contains(key)) throw missing_key(document_, pointer, key, allowed);
    const Json& value = range[key];
    const double limit = kGreatestWhole;
    if (!value.is_number() || value.get<double>() < -limit || value.get<double>() > limit ||
        (positive && value.get<double>() <= 0)) {
      throw value_error(document_, pointer + "/" + key, value, allowed);
    }
    return value.get<double>();
  }

  void range(const std::string& pointer, const Json& range, StudyAxis& axis) const {
    expect_keys(document_, pointer, range, {"from", "to", "step"});
    const double from = number(pointer, range, "from", "expected a number", false);
    const double to = number(pointer, range, "to", "expected a number", false);
    const double step = number(pointer, range, "step", "expected a number > 0", true);
    if (to < from) empty_range(pointer, range);
    // A step that ends at `to` but for the rounding of its own digits includes it.
    const double steps = (to - from) / step * (1 + 1e-12);
    check_count(pointer, steps + 1);
    const bool whole = range["from"].is_number_integer() && range["step"].is_number_integer();
    for (std::size_t i = 0; i <= static_cast<std::size_t>(steps); ++i) {
      const double value = from + static_cast<double>(i) * step;
      add(axis, whole ? Json(static_cast<std::int64_t>(value)) : Json(rounded(value, 12)), pointer);
    }
  }

  void log_range(const std::string& pointer, const Json& range, StudyAxis& axis) const {
    expect_keys(document_, pointer, range, {"from", "to", "points"});
    const double from = number(pointer, range, "from", "expected a number > 0", true);
    const double to = number(pointer, range, "to", "expected a number > 0", true);
    constexpr std::string_view kPoints = "expected an integer >= 2";
    const double points = number(pointer, range, "points", kPoints, true);
    if (!range["points"].is_number_integer() || points < 2) {
      throw value_error(document_, pointer + "/points", range["points"], kPoints);
    }
    if (to <= from) empty_range(pointer, range);
    check_count(pointer, points);
    const OptionRow* row = row_of_axis(pointer_of(axis.keys));
    const bool whole = row != nullptr && type_name(*row) == "integer";
    const double width = det::log(to / from);
    for (std::int64_t i = 0; i < range["points"].get<std::int64_t>(); ++i) {
      const double share = static_cast<double>(i) / (points - 1);
      const double value = share < 1 ? rounded(from * det::exp(width * share), 6) : to;
      add(axis, whole ? Json(static_cast<std::int64_t>(value + 0.5)) : Json(value), pointer);
    }
  }

  [[noreturn]] void empty_range(const std::string& pointer, const Json& range) const {
    throw value_error(document_, pointer, range, "an empty range: \"to\" must be above \"from\"");
  }

  void check_count(const std::string& pointer, double count) const {
    if (count <= static_cast<double>(kMaxAxisValues)) return;
    throw key_error(document_, pointer,
                    fmt::format("{:.0f} values: expected at most {}", count, kMaxAxisValues),
                    ErrorKind::value);
  }
  void check_count(const std::string& pointer, std::size_t count) const {
    check_count(pointer, static_cast<double>(count));
  }

  // Two equal rows would be two points with one meaning.
  void check_distinct(const std::string& pointer, const AxisGroup& group) const {
    std::vector<std::pair<std::string, std::size_t>> rows;
    for (std::size_t i = 0; i < group[0].values.size(); ++i) {
      std::string row;
      for (const StudyAxis& axis : group) {
        // 1 and 1.0 are one value.
        const Json& value = axis.values[i];
        row += (row.empty() ? "" : ", ") +
               (value.is_number() ? fmt::format("{}", value.get<double>()) : value.dump());
      }
      rows.emplace_back(std::move(row), i);
    }
    std::ranges::sort(rows);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].first != rows[i - 1].first) continue;
      throw key_error(document_, pointer,
                      fmt::format("value {} is listed twice (numbers {} and {})", rows[i].first,
                                  rows[i - 1].second + 1, rows[i].second + 1),
                      ErrorKind::value);
    }
  }

  // Later axes override earlier ones, so none may undo what another has set.
  void check_paths(const std::vector<AxisGroup>& groups) const {
    std::vector<std::string> seen;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const StudyAxis& axis : groups[g]) {
        for (const std::string& before : seen) {
          const std::string pointer = fmt::format("/vary/{}", g);
          if (before == axis.path) {
            throw key_error(document_, pointer, fmt::format("two axes vary {}", axis.path),
                            ErrorKind::conflict);
          }
          if (before.starts_with(axis.path + ".")) {
            throw key_error(
                document_, pointer,
                fmt::format(
                    "{} would overwrite {}, which an earlier axis varies: put the section first",
                    axis.path, before),
                ErrorKind::conflict);
          }
        }
        seen.push_back(axis.path);
      }
    }
  }

  const JsonDocument& document_;
};

}  // namespace

void expect_keys(const JsonDocument& document, const std::string& pointer, const Json& value,
                 const std::vector<std::string>& known) {
  if (!value.is_object()) throw value_error(document, pointer, value, "expected an object");
  for (const auto& [key, ignored] : value.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string nearest = nearest_name(key, known);
    throw key_error(
        document, pointer + "/" + pointer_token(key),
        nearest.empty() ? "unknown key: expected one of " + comma_list(known) : "unknown key",
        ErrorKind::unknown, nearest);
  }
}

ConfigError missing_key(const JsonDocument& document, const std::string& pointer,
                        std::string_view key, std::string_view what) {
  return key_error(
      document, fmt::format("{}/{}", pointer, key),
      fmt::format("missing: {}{}", what.starts_with("expected") ? "" : "expected ", what),
      ErrorKind::missing);
}

std::vector<AxisGroup> read_axes(const JsonDocument& document) {
  return AxisReader(document).groups();
}

std::vector<std::string> read_path(const JsonDocument& document, const std::string& pointer,
                                   const Json& value) {
  if (!value.is_string() || value.get<std::string>().empty()) {
    throw value_error(document, pointer, value,
                      "expected the path of an option, e.g. \"engine.max_num_seqs\"");
  }
  std::vector<std::string> keys =
      path_keys(whole_path(value.get<std::string>(), document.name), document.name, pointer);
  if (!is_known(pointer_of(keys))) {
    throw value_error(document, pointer, value,
                      "no such option of a scenario (see `headroom list options`)",
                      nearest_name(dotted_path(keys), option_paths()), ErrorKind::unknown);
  }
  return keys;
}

const OptionRow* option_at(const std::vector<std::string>& keys) {
  return row_of_axis(pointer_of(keys));
}

std::string dotted_path(const std::vector<std::string>& keys) {
  std::string path;
  for (const std::string& key : keys) path += (path.empty() ? "" : ".") + key;
  return path;
}

std::vector<std::string> option_paths() {
  std::vector<std::string> paths;
  for (const OptionRow& row : all_options()) paths.push_back(option_path(row.pointer));
  return paths;
}

}  // namespace headroom
