#include "sim/report/text/search_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "sim/kernel/visible_text.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/study_points.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/study/search/bisection.hpp"

namespace headroom {
namespace {

using ShownSearches = std::span<const StoredSearch>;

Json detail_of(const StoredSearch& row) {
  Json detail = Json::parse(row.detail, nullptr, false);
  return detail.is_object() ? detail : Json::object();
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

std::string list_of(const Json& values) {
  std::string text;
  for (const Json& value : values) {
    text += (text.empty() ? "" : ", ") + fmt::format("{:.6g}", value.get<double>());
  }
  return text;
}

std::optional<double> next_of(const StoredSearch& row) {
  return row.value == row.low ? row.high : row.low;
}

// Why the value next to the answer fails.
std::string limit_of(const StoredSearch& row, const Json& detail) {
  const std::optional<double> next = next_of(row);
  for (const Json& one : detail.value("values", Json::array())) {
    if (next && one.value("value", 0.0) == *next) return one.value("why", "");
  }
  return "-";
}

// A line on an answer that is not an edge between values that pass and values that fail.
std::string remark_on(const StoredSearch& row, const Json& detail) {
  if (row.status == name_of(SearchEnd::found)) return "";
  std::string text = fmt::format("  point {}: ", row.point);
  if (row.status == name_of(SearchEnd::failed)) return text + detail.value("error", "") + '\n';
  if (row.status == name_of(SearchEnd::all_pass)) return text + "all values pass\n";
  if (row.status == name_of(SearchEnd::none_passes)) return text + "no value passes\n";
  text += "NOT MONOTONE:";
  const std::string passes = list_of(detail.value("passes_beyond", Json::array()));
  const std::string fails = list_of(detail.value("fails_before", Json::array()));
  if (!passes.empty()) text += fmt::format(" it passes again at {}", passes);
  if (!fails.empty()) text += fmt::format("{} it fails at {}", passes.empty() ? "" : ";", fails);
  return text + '\n';
}

std::int64_t runs_of(const Json& detail) {
  std::int64_t runs = 0;
  for (const Json& one : detail.value("values", Json::array())) {
    runs += one.value("runs", std::int64_t{0});
  }
  return runs;
}

std::string table_of(std::vector<std::vector<std::string>> table, std::size_t most) {
  const std::size_t rows = table.size() - 1;
  if (rows > most) table.resize(most + 1);
  std::string text = table_text(table, kStudyTextWidth);
  if (rows > most) {
    text +=
        fmt::format("... {} more points\n", human_count(static_cast<std::int64_t>(rows - most)));
  }
  return text;
}

std::string value_table(ShownSearches rows, const StudyPoints& points, std::size_t most) {
  std::vector<std::vector<std::string>> table{points.head()};
  table[0].insert(table[0].end(), {"value", "next", "status", "runs", "the next fails by"});
  std::string remarks;
  for (const StoredSearch& row : rows) {
    const Json detail = detail_of(row);
    std::vector<std::string> cells = points.cells(row.point);
    cells.push_back(number(row.value));
    cells.push_back(number(next_of(row)));
    cells.push_back(row.status);
    cells.push_back(fmt::format("{}", runs_of(detail)));
    cells.push_back(limit_of(row, detail));
    table.push_back(std::move(cells));
    if (table.size() <= most + 1) remarks += remark_on(row, detail);
  }
  const Json detail = detail_of(rows.front());
  return fmt::format("{}: {} of {}, {:.6g} to {:.6g}\n", visible_text(rows.front().name),
                     rows.front().kind, detail.value("path", ""), detail.value("from", 0.0),
                     detail.value("to", 0.0)) +
         table_of(std::move(table), most) + remarks;
}

std::string front_table(ShownSearches rows, const StudyPoints& points, std::size_t most) {
  std::vector<std::vector<std::string>> table;
  for (const StoredSearch& row : rows) {
    if (row.status != "front") continue;
    const Json means = detail_of(row).value("means", Json::object());
    if (table.empty()) {
      table.push_back(points.head());
      for (const auto& [metric, mean] : means.items()) table[0].push_back(metric);
    }
    std::vector<std::string> cells = points.cells(row.point);
    for (const auto& [metric, mean] : means.items()) {
      cells.push_back(fmt::format("{:.6g}", mean.get<double>()));
    }
    table.push_back(std::move(cells));
  }
  const auto count = [&](std::string_view status) {
    return human_count(std::ranges::count(rows, status, &StoredSearch::status));
  };
  std::string text = fmt::format(
      "{}: {} of {} points are on the front, {} are dominated, {} have no value\n",
      visible_text(rows.front().name), count("front"),
      human_count(static_cast<std::int64_t>(rows.size())), count("dominated"), count("left_out"));
  if (!table.empty()) text += table_of(std::move(table), most);
  return text;
}

}  // namespace

std::string search_plan_lines(const Study& study) {
  std::string text;
  for (const Search& search : study.searches) {
    text += fmt::format("search     {}: {}", visible_text(search.name), name_of(search.kind));
    if (search.is_front()) {
      for (const Objective& one : search.front) {
        text += fmt::format("{} {} {}", &one == search.front.data() ? " of" : ",",
                            one.maximize ? "largest" : "smallest", one.metric);
      }
    } else {
      text += fmt::format(" of {}, {} to {}: at most {} values per point, {} to {} runs each",
                          search.value.path, search.value.from, search.value.to,
                          most_values(search.value), search.value.replications,
                          search.value.max_replications);
    }
    text += '\n';
  }
  return text;
}

std::int64_t most_probes(const Study& study) {
  std::int64_t probes = 0;
  for (const Search& search : study.searches) {
    if (!search.is_front()) probes += most_values(search.value) * search.value.replications;
  }
  return probes;
}

std::string searches_text(const std::vector<StoredSearch>& searches,
                          const std::vector<StoredParameter>& parameters, std::int64_t most) {
  const StudyPoints points(parameters);
  std::string text;
  for (std::size_t i = 0; i < searches.size();) {
    std::size_t end = i;
    while (end < searches.size() && searches[end].search == searches[i].search) ++end;
    const ShownSearches rows(searches.data() + i, end - i);
    i = end;
    const bool is_front = rows.front().kind == name_of(SearchKind::pareto);
    const auto count = static_cast<std::size_t>(most);
    text += is_front ? front_table(rows, points, count) : value_table(rows, points, count);
    text += '\n';
  }
  return text;
}

}  // namespace headroom
