#include "sim/report/text/startup_validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using StartsJson = nlohmann::ordered_json;
using StartsTable = std::vector<std::vector<std::string>>;

constexpr std::array kHalves{true, false};  // may choose constants, only scores

std::string_view half_name(bool chooses) { return chooses ? "choosing" : "scoring"; }

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", share * 100); }

std::vector<std::string> spread_cells(const ErrorSpread& spread) {
  if (spread.rows == 0) return {"0", "-", "-", "-", "-"};
  return {fmt::format("{}", spread.rows), fmt::format("{:.1f} %", spread.mean * 100),
          fmt::format("{:.1f} %", spread.median * 100), signed_percent(spread.worst),
          clipped(spread.worst_id, 32)};
}

std::string ends_text(const EndCount& ends) { return fmt::format("{}/{}", ends.same, ends.rows); }

std::vector<std::string> line_of(std::string name, const StartupValidation& validation,
                                 const StartFilter& belongs) {
  std::vector<std::string> cells{std::move(name)};
  for (std::string& cell : spread_cells(spread_of_pools(validation, belongs))) {
    cells.push_back(std::move(cell));
  }
  cells.push_back(ends_text(count_ends(validation, belongs)));
  return cells;
}

// In order of first appearance.
std::vector<std::string> engines_of(const StartupValidation& validation) {
  std::vector<std::string> names;
  for (const ReplayedStart& start : validation.replayed) {
    if (std::ranges::find(names, start.engine) == names.end()) names.push_back(start.engine);
  }
  return names;
}

std::string by_family(const StartupValidation& validation, std::size_t width) {
  using Family = std::tuple<std::string, std::string, std::string>;
  std::map<Family, std::int64_t> families;
  for (const ReplayedStart& start : validation.replayed) {
    ++families[{start.engine, start.release, start.device}];
  }
  std::string out;
  for (const bool chooses : kHalves) {
    StartsTable table{{fmt::format("{} rows: |error| of the KV pool", half_name(chooses)), "rows",
                       "mean", "median", "worst", "of", "ends right"}};
    for (const auto& [family, rows] : families) {
      // A variable of its own: clang 14 takes no binding into a lambda.
      const Family& of = family;
      const auto belongs = [&](const ReplayedStart& start) {
        return start.chooses == chooses && Family{start.engine, start.release, start.device} == of;
      };
      if (!std::ranges::any_of(validation.replayed, belongs)) continue;
      const auto& [engine, release, device] = family;
      table.push_back(
          line_of(fmt::format("{} {} {}", engine, release.empty() ? "?" : release, device),
                  validation, belongs));
    }
    if (table.size() > 1) out += table_text(table, width) + "\n";
  }
  return out;
}

std::string by_engine(const StartupValidation& validation, std::size_t width) {
  StartsTable table{{"all of an engine", "rows", "mean", "median", "worst", "of", "ends right"}};
  for (const std::string& engine : engines_of(validation)) {
    for (const bool chooses : kHalves) {
      table.push_back(line_of(fmt::format("{}, {}", engine, half_name(chooses)), validation,
                              [&](const ReplayedStart& start) {
                                return start.engine == engine && start.chooses == chooses;
                              }));
    }
  }
  StartsTable figures{{"other figures", "rows", "mean", "median", "worst", "of"}};
  for (std::size_t i = 1; i < kLoggedFigures; ++i) {
    const auto figure = static_cast<LoggedFigure>(i);
    for (const bool chooses : kHalves) {
      const ErrorSpread spread = spread_of_figure(
          validation, figure, [&](const ReplayedStart& start) { return start.chooses == chooses; });
      if (spread.rows == 0) continue;
      std::vector<std::string> cells{fmt::format("{}, {}", name_of(figure), half_name(chooses))};
      for (std::string& cell : spread_cells(spread)) cells.push_back(std::move(cell));
      figures.push_back(std::move(cells));
    }
  }
  return table_text(table, width) + "\n" + table_text(figures, width);
}

std::string wrong_ends(const StartupValidation& validation, std::size_t width) {
  std::string out;
  for (const ReplayedStart& start : validation.replayed) {
    if (!start.logged || start.same_end()) continue;
    const auto end_text = [](const StartEnd& end) -> std::string {
      if (end.started) return "starts";
      return end.stage ? fmt::format("fails in {}", name_of(*end.stage)) : "fails";
    };
    std::string text = fmt::format("{}: {}, logged: {}", start.id, end_text(start.modelled),
                                   end_text(*start.logged));
    if (!start.failure.empty()) text += fmt::format(" ({})", start.failure);
    out += wrapped("  -", text, 4, width);
  }
  return out.empty() ? out : "\nEnds otherwise than logged:\n" + out;
}

std::string not_replayed(const StartupValidation& validation, std::size_t width) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const UnplayedStart& start : validation.unplayed) by_reason[start.why].push_back(start.id);
  std::string out;
  for (const auto& [why, ids] : by_reason) {
    std::string text = fmt::format("{} ({}):", why, ids.size());
    for (const std::string& id : ids) text += " " + id;
    out += wrapped("  -", text, 4, width);
  }
  return out.empty() ? out : "\nNot replayed:\n" + out;
}

StartsJson error_json(const ErrorSpread& spread) {
  return {{"rows", spread.rows},
          {"mean_error_share", spread.mean},
          {"median_error_share", spread.median},
          {"worst_error_share", spread.worst},
          {"worst", spread.worst_id}};
}

StartsJson end_json(const StartEnd& end) {
  StartsJson json = {{"started", end.started}};
  if (end.stage) json["stage"] = name_of(*end.stage);
  return json;
}

StartsJson replayed_json(const ReplayedStart& start) {
  StartsJson json = {{"id", start.id},
                     {"engine", start.engine},
                     {"release", start.release},
                     {"device", start.device},
                     {"half", half_name(start.chooses)}};
  for (const ComparedFigure& figure : start.figures) {
    json["figures"].push_back({{"figure", name_of(figure.figure)},
                               {"logged", figure.logged},
                               {"modelled", figure.modelled},
                               {"error_share", figure.error()}});
  }
  if (start.logged) json["logged_end"] = end_json(*start.logged);
  json["modelled_end"] = end_json(start.modelled);
  if (!start.failure.empty()) json["modelled_end"]["message"] = start.failure;
  json["notes"] = start.notes;
  return json;
}

}  // namespace

std::string startup_validation_text(const StartupValidation& validation, std::size_t width) {
  if (validation.replayed.empty() && validation.unplayed.empty()) return "";
  return by_family(validation, width) + by_engine(validation, width) +
         wrong_ends(validation, width) + not_replayed(validation, width);
}

nlohmann::ordered_json startup_validation_json(const StartupValidation& validation) {
  StartsJson json = {{"replayed", StartsJson::array()},
                     {"not_replayed", StartsJson::array()},
                     {"scores", StartsJson::array()}};
  for (const ReplayedStart& start : validation.replayed) {
    json["replayed"].push_back(replayed_json(start));
  }
  for (const UnplayedStart& start : validation.unplayed) {
    json["not_replayed"].push_back({{"id", start.id},
                                    {"engine", start.engine},
                                    {"half", half_name(start.chooses)},
                                    {"why", start.why}});
  }
  for (const std::string& engine : engines_of(validation)) {
    for (const bool chooses : kHalves) {
      const auto belongs = [&](const ReplayedStart& start) {
        return start.engine == engine && start.chooses == chooses;
      };
      StartsJson score = error_json(spread_of_pools(validation, belongs));
      const EndCount ends = count_ends(validation, belongs);
      score["engine"] = engine;
      score["half"] = half_name(chooses);
      score["ends"] = {{"rows", ends.rows}, {"same", ends.same}};
      json["scores"].push_back(std::move(score));
    }
  }
  return json;
}

}  // namespace headroom
