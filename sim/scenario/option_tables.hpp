#pragma once
// What the tables of options share: bounds, the way to a section, and repeated rows, because a
// distribution of lengths or durations occurs in several places of a scenario.

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/options.hpp"

namespace headroom {

template <auto... Members>
inline constexpr auto of_engine = field<&Scenario::engine, Members...>;

// Rows whose texts are put together here; they stay where they are.
class RowTable {
 public:
  [[nodiscard]] std::string_view keep(std::string text) {
    return texts_.emplace_back(std::move(text));
  }
  void add(const OptionRow& row) { rows_.push_back(row); }
  [[nodiscard]] const std::vector<OptionRow>& rows() const { return rows_; }

 private:
  std::deque<std::string> texts_;
  std::vector<OptionRow> rows_;
};

// Where a repeated section stands.
struct LawPlace {
  std::string_view pointer;     // "/workload/prompt"
  std::string_view what;        // "prompt lengths"
  std::string_view unit;        // of its values
  std::string_view group = {};  // as OptionRow::group
};

namespace detail {

struct LawRows {
  RowTable& table;
  LawPlace place;

  void add(std::string_view name, const FieldReach& reach, OptionRow row,
           std::string_view laws = {}) {
    row.pointer = table.keep(std::string(place.pointer) + "/" + std::string(name));
    row.reach = reach;
    row.group = place.group;
    if (!laws.empty()) {
      row.only_with = table.keep(std::string(place.pointer) + "/law=" + std::string(laws));
    }
    table.add(row);
  }
};

}  // namespace detail

// `Path...` reaches a LengthSection from a Scenario.
template <auto... Path>
void add_length_rows(RowTable& table, const LawPlace& place) {
  using L = LengthSection;
  detail::LawRows rows{table, place};
  const std::string_view unit = place.unit;
  rows.add("law", field<Path..., &L::law>,
           {.choices = "fixed|uniform|normal|lognormal|gamma|exponential|geometric|zipf|empirical",
            .doc = table.keep("distribution of " + std::string(place.what))});
  rows.add("tokens", field<Path..., &L::tokens>,
           {.unit = unit, .bounds = kTokens, .doc = "every value", .absent = "required"}, "fixed");
  rows.add("median", field<Path..., &L::median>,
           {.unit = unit, .bounds = kPositive, .doc = "median", .absent = "required, or mean"},
           "lognormal");
  rows.add("mean", field<Path..., &L::mean>,
           {.unit = unit,
            .bounds = kPositive,
            .doc = "mean before values are cut to min and max",
            .absent = "required (lognormal: or median)"},
           "normal|lognormal|gamma|exponential|geometric");
  rows.add("sigma", field<Path..., &L::sigma>,
           {.bounds = {.low = 0, .high = 10},
            .doc = "standard deviation of the logarithm",
            .absent = "required"},
           "lognormal");
  rows.add("stddev", field<Path..., &L::stddev>,
           {.unit = unit,
            .bounds = {.low = 0, .high = 1e9},
            .doc = "standard deviation",
            .absent = "required"},
           "normal");
  rows.add("shape", field<Path..., &L::shape>,
           {.bounds = {.low = 0.01, .high = 10000},
            .doc = "variance = mean^2 / shape",
            .absent = "required"},
           "gamma");
  rows.add("exponent", field<Path..., &L::exponent>,
           {.bounds = {.low = 0, .high = 20, .low_open = true},
            .doc = "exponent of P(k) ~ k^-exponent for k = min .. max",
            .absent = "required"},
           "zipf");
  constexpr std::string_view kBounded = "uniform|normal|lognormal|gamma|exponential|geometric|zipf";
  rows.add("min", field<Path..., &L::min>,
           {.unit = unit, .bounds = kTokens, .doc = "smallest", .absent = "1"}, kBounded);
  rows.add("max", field<Path..., &L::max>,
           {.unit = unit,
            .bounds = kTokens,
            .doc = "largest",
            .absent = "required for uniform and zipf, else no limit"},
           kBounded);
  rows.add("values", field<Path..., &L::values>,
           {.unit = unit,
            .bounds = kTokens,
            .doc = "values to draw from",
            .absent = "required, or file"},
           "empirical");
  rows.add(
      "weights", field<Path..., &L::weights>,
      {.bounds = {.low = 0, .high = 1e9}, .doc = "one weight per value", .absent = "all equal"},
      "empirical");
  rows.add("file", field<Path..., &L::file>,
           {.doc = "file to draw from, with a value or `input,output` per line"}, "empirical");
}

// `Path...` reaches a DurationSection from a Scenario.
template <auto... Path>
void add_duration_rows(RowTable& table, const LawPlace& place) {
  using D = DurationSection;
  constexpr Bounds kSeconds{.low = 0, .high = 1e9};
  detail::LawRows rows{table, place};
  rows.add("law", field<Path..., &D::law>,
           {.choices = "fixed|uniform|exponential|lognormal|gamma",
            .doc = table.keep("distribution of " + std::string(place.what))});
  rows.add("mean_s", field<Path..., &D::mean_s>,
           {.unit = "s", .bounds = kSeconds, .doc = "mean", .absent = "required"},
           "fixed|exponential|lognormal|gamma");
  rows.add("sigma", field<Path..., &D::sigma>,
           {.bounds = {.low = 0, .high = 10},
            .doc = "standard deviation of the logarithm",
            .absent = "required"},
           "lognormal");
  rows.add("shape", field<Path..., &D::shape>,
           {.bounds = {.low = 0.01, .high = 10000},
            .doc = "variance = mean^2 / shape",
            .absent = "required"},
           "gamma");
  constexpr std::string_view kBounded = "uniform|exponential|lognormal|gamma";
  rows.add("min_s", field<Path..., &D::min_s>,
           {.unit = "s", .bounds = kSeconds, .doc = "shortest", .absent = "0"}, kBounded);
  rows.add("max_s", field<Path..., &D::max_s>,
           {.unit = "s",
            .bounds = kSeconds,
            .doc = "longest",
            .absent = "required for uniform, else no limit"},
           kBounded);
}

}  // namespace headroom
