#include "sim/report/text/tune_report.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

constexpr std::size_t kTuneWidth = 80;
constexpr std::size_t kTuneLabel = 12;

std::string tune_line(std::string_view label, std::string_view text) {
  return wrapped(label, text, kTuneLabel, kTuneWidth);
}

std::string merit_text(const TuneAnswer& answer, const std::optional<double>& merit) {
  if (!merit) return "does not hold";
  if (answer.objective == TuneObjective::joules) return fmt::format("{:.3g} J/token", 1 / *merit);
  if (!answer.by_load) return fmt::format("{:.4g} tokens/s", *merit);
  switch (answer.load.kind) {
    case LoadKind::users: return fmt::format("{:.0f} users", std::floor(*merit));
    case LoadKind::trace_scale: return fmt::format("{:.3g} x the recorded rate", *merit);
    default: return fmt::format("{:.3g} requests/s", *merit);
  }
}

// "12.9 requests/s, $ 0.61 per million tokens, 0.9 J/token"
std::string point_text(const TuneAnswer& answer, const TunePoint& point) {
  std::string text = merit_text(answer, point.merit);
  if (answer.objective == TuneObjective::dollars && answer.by_load && point.load) {
    text = merit_text(answer, point.load) + fmt::format(" on {} devices", point.devices);
  }
  if (point.dollars_per_million_tokens) {
    text += fmt::format("; $ {:.3g} per million output tokens", *point.dollars_per_million_tokens);
  }
  if (point.joules_per_token && answer.objective != TuneObjective::joules) {
    text += fmt::format("; {:.3g} J per output token", *point.joules_per_token);
  }
  return text;
}

// A gain of merit as people count it: more load, or less energy or money.
double shown_gain(const TuneAnswer& answer, double gain) {
  return answer.objective == TuneObjective::goodput ? gain : 1 / (1 + gain) - 1;
}

// "12.3 % more", or of a price and of energy "20.1 % less".
std::string gain_words(const TuneAnswer& answer, double gain) {
  constexpr std::array<std::string_view, 3> kPer{"", " money per token", " energy per token"};
  const double shown = 100 * shown_gain(answer, gain);
  return fmt::format("{:.1f} % {}{}", std::abs(shown), shown < 0 ? "less" : "more",
                     kPer[static_cast<std::size_t>(answer.objective)]);
}

std::string gain_text(const TuneAnswer& answer, const TunePoint& over) {
  if (!answer.best.merit) return "";
  if (!over.merit) return "it holds, which the scenario as it stands does not";
  return gain_words(answer, *answer.best.merit / *over.merit - 1);
}

// The mean over seeds with its interval.
std::string seeds_text(const TuneAnswer& answer) {
  const double gain = *answer.gain;
  const double slope = answer.objective == TuneObjective::goodput ? 1 : (1 + gain) * (1 + gain);
  return fmt::format("{} (± {:.1f})", gain_words(answer, gain),
                     100 * answer.gain_half_width / slope);
}

std::string headline(const TuneAnswer& answer) {
  if (!answer.best.merit) {
    return fmt::format("NOTHING HOLDS: none of {} configurations keeps the targets at any load",
                       answer.configs);
  }
  if (answer.settings.empty() && answer.out_of_budget) {
    return fmt::format("NOT FOUND: --budget ended the search after {} configurations",
                       answer.configs);
  }
  if (answer.settings.empty()) {
    return fmt::format("AS IT STANDS: none of {} configurations is clearly better", answer.configs);
  }
  std::string flags;
  for (const TuneShare& share : answer.shares) {
    const TuneLever& lever = answer.levers[share.lever];
    flags += fmt::format("{}{}={}", flags.empty() ? "" : ", ", lever.name,
                         lever.levels[answer.best.config[share.lever]].text);
  }
  const bool certain = !answer.gain || *answer.gain > answer.gain_half_width;
  const std::string gain = answer.gain ? seeds_text(answer) + " than as it stands"
                           : answer.as_it_stands.merit
                               ? gain_text(answer, answer.as_it_stands) + " than as it stands"
                               : "where the scenario as it stands does not hold";
  return fmt::format("{}: {}: {}, {}", certain ? "BEST" : "NOT CERTAIN", flags,
                     merit_text(answer, answer.best.load ? answer.best.load : answer.best.merit),
                     gain);
}

std::string share_table(const TuneAnswer& answer) {
  if (answer.shares.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"flag", "as it is", "best", "without it", "share of gain"}};
  std::string costs;
  for (const TuneShare& share : answer.shares) {
    const TuneLever& lever = answer.levers[share.lever];
    const TuneLevel& level = lever.levels[answer.best.config[share.lever]];
    rows.push_back({lever.name, lever.levels.front().text, level.text,
                    merit_text(answer, share.merit), fmt::format("{:.0f} %", 100 * share.share)});
    if (!level.cost_text.empty() && level.cost != FixCost::none) {
      costs += tune_line("cost", fmt::format("{} {}: {}", lever.name, level.text, level.cost_text));
    }
  }
  return "\n" + table_text(rows) + costs;
}

std::string left_lines(const TuneAnswer& answer) {
  std::string same;
  std::string worse;
  std::string impossible;
  for (const TuneLeft& left : answer.left) {
    const TuneLever& lever = answer.levers[left.lever];
    std::string& list = !left.possible ? impossible : left.matters ? worse : same;
    std::string values;
    for (std::size_t i = 1; i < lever.levels.size(); ++i) {
      values += fmt::format("{}{}", i == 1 ? "" : ", ", lever.levels[i].text);
    }
    list += fmt::format("{}{} ({})", list.empty() ? "" : "; ", lever.name, values);
  }
  std::string out;
  if (!same.empty()) out += tune_line("no effect", same);
  if (!worse.empty()) out += tune_line("keep", worse);
  if (!impossible.empty()) out += tune_line("impossible", impossible);
  return out.empty() ? "" : "\n" + out;
}

std::string ends_lines(const TuneAnswer& answer) {
  std::string out;
  for (const TuneAtEnd& end : answer.ends) {
    std::string text = fmt::format("with all times {:+.0f} %: ", 100 * (end.slower - 1));
    if (end.same) {
      text += "the same flags";
    } else {
      std::string flags;
      for (std::size_t i = 0; i < end.best.size(); ++i) {
        if (end.best[i] == answer.best.config[i]) continue;
        flags += fmt::format("{}{}={}", flags.empty() ? "" : ", ", answer.levers[i].name,
                             answer.levers[i].levels[end.best[i]].text);
      }
      text += fmt::format("{} would be {:.1f} % better", flags, 100 * end.gain);
    }
    out += tune_line(out.empty() ? "model off" : "", text);
  }
  return out;
}

}  // namespace

std::string tune_text(const TuneAnswer& answer, const std::string& flags) {
  const Resolved& r = answer.run.resolved;
  std::string out = wrapped("", headline(answer), 0, kTuneWidth);
  out += tune_line(
      "system", fmt::format("{} on {} x {}, engine {} {}", r.model.id, r.sharding.devices(),
                            r.device.id, r.engine->name, r.scenario.engine.version.value_or("")));
  out += tune_line("as it is", point_text(answer, answer.as_it_stands));
  out += tune_line("defaults",
                   fmt::format("{}{}", point_text(answer, answer.defaults),
                               answer.best.merit && answer.defaults.merit
                                   ? fmt::format(" (best: {})", gain_text(answer, answer.defaults))
                                   : ""));
  out += tune_line("best", point_text(answer, answer.best));
  if (answer.gain && !answer.settings.empty()) {
    out += tune_line("gain", fmt::format("{} over {} other random draws of the traffic; {} on the "
                                         "draw that the search used",
                                         seeds_text(answer), answer.gain_seeds,
                                         gain_text(answer, answer.as_it_stands)));
  }
  if (answer.has_no_draws && !answer.settings.empty()) {
    out += tune_line("gain", gain_text(answer, answer.as_it_stands) +
                                 " on the recorded requests: nothing in them is random, so there "
                                 "is no interval");
  }
  out += share_table(answer) + left_lines(answer);
  if (!answer.ends.empty()) out += "\n" + ends_lines(answer);
  out += tune_line("search",
                   fmt::format("{} configurations, {} of them not possible; {} runs, {} with "
                               "those that check the best{}",
                               answer.configs, answer.refused, answer.search_runs, answer.runs,
                               answer.out_of_budget ? "; --budget ended the search" : ""));
  if (!flags.empty()) out += tune_line("command", flags);
  for (const std::string& warning : answer.run.warnings) out += tune_line("warning", warning);
  return out;
}

}  // namespace headroom
