#include "sim/report/text/ask_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "hardware/llm/dtype.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

constexpr std::size_t kAskWidth = 80;
constexpr std::size_t kAskNameWidth = 12;
// An example with its assumptions, which nothing else reads. 238 words a minute: M. Brysbaert, How
// many words do we read per minute?, Journal of Memory and Language 109 (2019).
constexpr std::string_view kNoTargets =
    "none, so any wait is accepted. For example --slo p99_ttft=2s,p95_tpot=190ms: people who read "
    "238 words a minute (Brysbaert 2019) read 5.3 tokens/s at 0.75 words a token, one in 189 ms";
constexpr std::string_view kNoTargetsOfVectors =
    "none, so any wait is accepted. For example --slo p99_ttft=500ms: the vector counts as the "
    "first token";

std::string_view no_targets_text(bool makes_vectors) {
  return makes_vectors ? kNoTargetsOfVectors : kNoTargets;
}

std::string ask_line(std::string_view label, std::string_view text) {
  return wrapped(label, text, kAskNameWidth, kAskWidth);
}

std::string load_text(LoadKind kind, double value) {
  switch (kind) {
    case LoadKind::rate: return fmt::format("{:.3g} requests/s", value);
    case LoadKind::users: return human_count(static_cast<std::int64_t>(value)) + " users";
    case LoadKind::trace_scale: return fmt::format("{:.3g} x the recorded rate", value);
    case LoadKind::none: break;
  }
  return "";
}

// "3 replicas of 2 x h100-sxm", of each group of a fleet.
std::string devices_text(const RunResult& run) {
  std::vector<std::string> texts;
  for (const FleetGroup& group : run.groups) {
    const std::int64_t devices = group.resolved.sharding.devices();
    texts.push_back(fmt::format("{}{}{}{}", run.groups.size() > 1 ? group.name + ": " : "",
                                group.count > 1 ? fmt::format("{} replicas of ", group.count) : "",
                                devices > 1 ? fmt::format("{} x ", devices) : "",
                                group.resolved.device.id));
  }
  return comma_list(texts);
}

std::string ask_system_text(const AskAnswer& answer) {
  const Resolved& r = answer.run.resolved;
  std::string text = fmt::format("{} on {}, engine {} {}", r.model.id, devices_text(answer.run),
                                 r.engine->name, r.scenario.engine.version.value_or(""));
  if (answer.run.started && keeps_no_kv(answer.run.budget, r.model)) {
    text += "; no KV is kept";
  } else if (answer.run.started) {
    text += fmt::format("; {} for KV = {} tokens", kv_place_text(answer.run.budget, "per device"),
                        human_count(answer.run.pool_tokens));
    // Engines count tokens of models with states or windows by one group of layers.
    const TokenCount logged = answer.run.budget.kv_tokens;
    if (r.sharding.data == 1 && std::abs(logged - answer.run.pool_tokens) * 50 > logged) {
      text += fmt::format(" ({} in the engine's log)", human_count(logged));
    }
  }
  return text;
}

std::string lengths_text(const LengthSection& length) {
  if (length.law == "fixed" && length.tokens) {
    return human_count(*length.tokens) + (*length.tokens == 1 ? " token" : " tokens");
  }
  return fmt::format("{} lengths", length.law);
}

std::string asked_text(const AskAnswer& answer) {
  const WorkloadSection& w = answer.run.resolved.scenario.workload;
  std::string text = answer.has_load ? load_text(answer.load.kind, answer.load.value) : "no load";
  if (answer.has_load && answer.load.kind == LoadKind::none) text = "requests of no one rate";
  if (!answer.run.workload.trace_name.empty()) {
    return fmt::format("{} of {}", text, answer.run.workload.trace_name);
  }
  if (!w.classes.empty()) return text + fmt::format(", {} classes", w.classes.size());
  return text + fmt::format(", {} in, {} out", lengths_text(w.prompt),
                            answer.makes_vectors ? "a vector" : lengths_text(w.output));
}

// `last`: what it means that the largest value which was tried holds, too.
std::string edge_text(const AskEdge& edge, const std::string& largest, const std::string& last) {
  if (!edge.largest) {
    return edge.why.empty() ? "none" : fmt::format("none: {} even at the smallest load", edge.why);
  }
  if (edge.is_last) return last;
  return fmt::format("up to {}; beyond that {}{}", largest, sentence_of(edge.binds),
                     edge.why.empty() ? "" : ": " + edge.why);
}

std::string at_once_text(const AskAnswer& answer) {
  const AskAtOnce& most = *answer.at_once;
  const bool more =
      answer.load.kind == LoadKind::users && answer.load.value > static_cast<double>(most.requests);
  // Users write at different places of their answers: few have all of it in memory.
  const bool had_room =
      most.binds == Binds::pool && answer.run.summary.memory.peak_utilisation < 0.99;
  const std::string_view others = !more      ? ""
                                  : had_room ? "; all users had room, as few are at the end of "
                                               "their answer at the same time"
                                             : ": the other users wait for their turn";
  return fmt::format("{} requests of this length, then {}{}", human_count(most.requests),
                     sentence_of(most.binds), others);
}

// Targets on the time between tokens alone let any number of users wait for the first one.
bool targets_count_waiting(const AskAnswer& answer) {
  return std::ranges::any_of(answer.latencies, [](const AskLatency& latency) {
    return latency.limit_ms && !waits_for_tokens(latency.metric);
  });
}

std::string most_users_text(const AskAnswer& answer, const std::string& largest) {
  if (targets_count_waiting(answer)) return largest + " and more";
  std::string text =
      "any number: the targets do not count how long a request waits (p99_ttft, p99_e2el)";
  if (answer.at_once) {
    text += fmt::format("; {} run at once, more wait", human_count(answer.at_once->requests));
  }
  return text;
}

// A number of requests that is given comes in no time at such a rate.
std::string most_rate_text(const AskAnswer& answer, const std::string& largest) {
  if (answer.run.resolved.scenario.workload.duration_s) return largest + " and more";
  return fmt::format(
      "not found: {} hold, as this run of {} requests is too short to fill the "
      "engine (workload.num_requests)",
      largest, human_count(answer.run.summary.requests.arrived));
}

std::string last_text(const AskAnswer& answer, LoadKind kind, const std::string& largest) {
  return kind == LoadKind::users ? most_users_text(answer, largest)
                                 : most_rate_text(answer, largest);
}

std::string ask_headroom_lines(const AskAnswer& answer) {
  std::string out;
  const auto add = [&](std::string_view label, const std::optional<AskEdge>& edge, const auto& last,
                       const auto& text) {
    if (!edge) return;
    const std::string largest = edge->largest ? text(*edge->largest) : "";
    out += ask_line(label, edge_text(*edge, largest, last(largest)));
  };
  add(
      "headroom", answer.largest_load,
      [&](const std::string& largest) { return last_text(answer, answer.load.kind, largest); },
      [&](double value) { return load_text(answer.load.kind, value); });
  add(
      "users", answer.largest_users,
      [&](const std::string& largest) { return most_users_text(answer, largest); },
      [](double value) {
        return fmt::format("{} at a time, each asking again when it has its answer",
                           human_count(static_cast<std::int64_t>(value)));
      });
  add(
      "context", answer.largest_context,
      [](const std::string& largest) { return largest + ", the longest that the engine accepts"; },
      [](double value) {
        return fmt::format("{} tokens a request at this load",
                           human_count(static_cast<std::int64_t>(value)));
      });
  const bool of_users = answer.load.kind == LoadKind::users;
  if (answer.largest_rate) {
    const AskEdge& edge = *answer.largest_rate;
    const std::string most = edge.largest ? load_text(LoadKind::rate, *edge.largest) : "";
    out += ask_line("headroom", edge_text(edge, most + " from any number of users",
                                          most_rate_text(answer, most)));
  } else if (answer.run.started && !answer.largest_load) {
    out += ask_line("headroom", of_users ? "not searched: users without targets (--slo)"
                                         : "not searched: this load is not one number");
  }
  if (answer.at_once && !answer.has_targets) out += ask_line("at once", at_once_text(answer));
  if (answer.has_load && !answer.has_targets && !answer.latencies.empty()) {
    out += ask_line("targets", no_targets_text(answer.makes_vectors));
  }
  if (answer.context_requests > 0) {
    out += ask_line("fit at once", fmt::format("{} requests of the length asked for",
                                               human_count(answer.context_requests)));
  }
  return out;
}

std::string ask_latency_table(const AskAnswer& answer) {
  if (!answer.has_load || answer.latencies.empty()) return "";
  // Without measured runs it is what constants of other devices give.
  const bool measured = answer.run.expected_error.runs > 0;
  std::vector<std::vector<std::string>> rows{
      {"", "simulated", measured ? "measured runs" : "other constants", "target", ""}};
  for (const AskLatency& l : answer.latencies) {
    const bool known = l.low_ms != l.high_ms;
    const std::string verdict = !l.limit_ms    ? ""
                                : !l.is_kept() ? "missed"
                                : l.is_tight() ? "tight"
                                               : "kept";
    rows.push_back(
        {latency_title(l.metric), human_ms(l.ms),
         known ? fmt::format("{} to {}", human_ms(l.low_ms), human_ms(l.high_ms)) : "not known",
         l.limit_ms ? human_ms(*l.limit_ms) : "", verdict});
  }
  return "\n" + table_text(rows);
}

std::string change_line(const AskAnswer& answer, std::string_view label, const AskChange& change) {
  const AskCandidate& c = change.candidate;
  const std::string to =
      c.setting.value.is_string() ? c.setting.value.get<std::string>() : c.setting.value.dump();
  std::string gain = "up to " + load_text(answer.load.kind, *change.largest);
  const bool has_base = answer.largest_load && answer.largest_load->largest;
  if (has_base) {
    gain +=
        fmt::format(" ({:+.0f} %)", 100 * (*change.largest / *answer.largest_load->largest - 1));
  }
  const bool is_cure = answer.has_load && answer.verdict >= HoldVerdict::does_not_hold;
  const std::string holds = !is_cure ? "" : change.holds ? "holds, " : "not enough, ";
  // Nothing was searched beyond the users who were asked for (ask.cpp).
  const bool as_asked = change.holds && *change.largest == answer.load.value && !has_base;
  return ask_line(label, fmt::format("{} {} -> {}: {}; cost: {}{}", c.setting.path, c.from, to,
                                     as_asked ? "holds" : holds + gain, c.cost_text,
                                     c.cost == FixCost::none || c.cost == FixCost::hardware
                                         ? ""
                                         : fmt::format(" ({})", name_of(c.cost))));
}

std::string change_lines(const AskAnswer& answer) {
  std::string out;
  for (std::size_t i = 0; i < answer.changes.size(); ++i) {
    out += change_line(answer, i == 0 ? "change" : "", answer.changes[i]);
  }
  for (std::size_t i = 0; i < answer.hardware.size(); ++i) {
    out += change_line(answer, i == 0 ? "hardware" : "", answer.hardware[i]);
  }
  if (out.empty() && answer.tried > 0) {
    out = ask_line(
        "change", fmt::format("none of {} single changes that were simulated helps", answer.tried));
  }
  return out.empty() ? out : "\n" + out;
}

// A vector has no time per output token.
ExpectedError shown_error(const AskAnswer& answer) {
  ExpectedError error = answer.run.expected_error;
  if (!answer.makes_vectors) return error;
  std::erase_if(error.ranges, [](const ErrorRange& one) {
    return one.metric.find("tpot") != std::string_view::npos || one.metric == "decode_step";
  });
  return error;
}

}  // namespace

std::string ask_text(const AskAnswer& answer, const AskText& texts) {
  const ExpectedError error = shown_error(answer);
  std::string out =
      wrapped("", fmt::format("{}: {}", title_of(answer.verdict), answer.reason), 0, kAskWidth);
  out += ask_line("system", ask_system_text(answer));
  out += ask_line("asked", asked_text(answer));
  for (const std::string& assumed : texts.assumed) out += ask_line("assumed", assumed);
  out += ask_headroom_lines(answer);
  out += ask_latency_table(answer);
  out += change_lines(answer);
  if (!error.ranges.empty() || !answer.run.warnings.empty()) out += "\n";
  if (!error.ranges.empty()) out += ask_line("accuracy", accuracy_text(error));
  for (const std::string& warning : answer.run.warnings) out += ask_line("warning", warning);
  if (!texts.next.empty()) out += ask_line("next", texts.next);
  return out;
}

std::string ask_markdown(const std::string& text, bool has_verdict) {
  // The verdict ends where the next line has a label.
  const std::size_t end = has_verdict ? text.find("\nsystem ") + 1 : 0;
  const std::string verdict = text.substr(0, end);
  const std::size_t colon = verdict.find(':');
  std::string out = "# headroom ask\n\n";
  if (has_verdict) {
    out += fmt::format("**{}**{}\n", verdict.substr(0, colon), verdict.substr(colon));
  }
  return out + "```text\n" + text.substr(end) + "```\n";
}

namespace {

// The model's name, or how it was asked for where several variants of it were.
std::string shown_model(const AskAnswer& answer, std::span<const AskAnswer> answers) {
  const Resolved& r = answer.run.resolved;
  const bool is_variant = std::ranges::any_of(answers, [&r](const AskAnswer& other) {
    const Resolved& o = other.run.resolved;
    return o.model.id == r.model.id && o.scenario.model != r.scenario.model;
  });
  return is_variant ? r.scenario.model : r.model.id;
}

// The answers of a table, and what tells them apart below it.
class AskTable {
 public:
  AskTable(std::span<const AskAnswer> answers, std::span<const std::string> services)
      : answers_(answers), services_(services) {
    const auto has_other = [this](const auto& of) {
      return std::ranges::any_of(
          answers_, [&](const AskAnswer& one) { return of(one) != of(answers_.front()); });
    };
    has_formats_ = has_other([](const AskAnswer& one) { return weights_format(one); });
    has_models_ = has_other([this](const AskAnswer& one) { return shown_model(one, answers_); });
    has_devices_ = has_other([](const AskAnswer& one) { return devices_of(one); });
    has_engines_ = has_other(engine_text);
    has_environments_ = has_other(environment_text);
    untargeted_ = std::ranges::none_of(answers_, &AskAnswer::has_targets);
  }

  [[nodiscard]] bool untargeted() const { return untargeted_; }

  [[nodiscard]] std::string table() const {
    std::vector<std::vector<std::string>> rows{
        {"model", "devices", "verdict", "up to", "binds", "accuracy"}};
    if (untargeted_) rows.front().insert(rows.front().begin() + 4, "at once");
    if (has_environments_) rows.front().insert(rows.front().begin() + 2, "environment");
    if (has_engines_) rows.front().insert(rows.front().begin() + 2, "engine");
    if (has_formats_) rows.front().insert(rows.front().begin() + 1, "weights");
    if (!services_.empty()) rows.front().insert(rows.front().begin(), "service");
    for (std::size_t i = 0; i < answers_.size(); ++i) rows.push_back(row(i));
    return table_text(rows);
  }

  [[nodiscard]] std::string reasons() const {
    std::string out;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      const std::string model =
          services_.empty() ? shown_model(answers_[i], answers_) : services_[i];
      out += ask_line(
          "", fmt::format("{} on {}{}: {}", model, devices(i), software(i), answers_[i].reason));
    }
    return out;
  }

  // What the single answers say in words, once for all that say the same.
  [[nodiscard]] std::string notes() const {
    std::vector<std::vector<std::string>> accuracy;
    std::vector<std::vector<std::string>> warnings;
    for (const AskAnswer& answer : answers_) {
      const ExpectedError error = shown_error(answer);
      accuracy.emplace_back();
      if (!error.ranges.empty()) accuracy.back().push_back(accuracy_text(error));
      warnings.push_back(answer.run.warnings);
    }
    return folded("accuracy", accuracy) + folded("warning", warnings);
  }

 private:
  static std::string weights_format(const AskAnswer& answer) {
    return std::string(name_of(main_dtype(answer.run.resolved.model)));
  }

  static std::string engine_text(const AskAnswer& answer) {
    const Resolved& r = answer.run.resolved;
    return fmt::format("{} {}", r.engine->name, r.scenario.engine.version.value_or(""));
  }

  static std::string environment_text(const AskAnswer& answer) {
    return answer.run.resolved.environment.id;
  }

  // Where answers differ in it: ", vllm 0.19, docker".
  [[nodiscard]] std::string software(std::size_t i) const {
    std::string text;
    if (has_engines_) text += ", " + engine_text(answers_[i]);
    if (has_environments_) text += ", " + environment_text(answers_[i]);
    return text;
  }

  static std::string devices_of(const AskAnswer& answer) {
    const Resolved& r = answer.run.resolved;
    const std::int64_t count = r.sharding.devices();
    return count > 1 ? fmt::format("{} x {}", count, r.device.id) : r.device.id;
  }

  [[nodiscard]] std::string devices(std::size_t i) const { return devices_of(answers_[i]); }

  [[nodiscard]] std::vector<std::string> row(std::size_t i) const {
    const AskAnswer& answer = answers_[i];
    const Resolved& r = answer.run.resolved;
    const auto largest = [&](const std::optional<AskEdge>& edge, LoadKind kind) {
      const bool any = kind == LoadKind::users && !targets_count_waiting(answer);
      if (edge && edge->is_last) return std::string(any ? "any" : "not found");
      return edge && edge->largest ? load_text(kind, *edge->largest) : std::string("-");
    };
    const bool of_rate = answer.largest_rate.has_value();
    const std::optional<AskEdge>& most = of_rate ? answer.largest_rate : answer.largest_load;
    const std::string at_once =
        answer.at_once ? human_count(answer.at_once->requests) : std::string("-");
    std::vector<std::string> cells{shown_model(answer, answers_),
                                   fmt::format("{} x {}", r.sharding.devices(), r.device.id),
                                   std::string(title_of(answer.verdict)),
                                   largest(most, of_rate ? LoadKind::rate : answer.load.kind),
                                   most ? std::string(name_of(most->binds)) : "-",
                                   accuracy_word(answer.run.expected_error)};
    if (untargeted_) cells.insert(cells.begin() + 4, at_once);
    if (has_environments_) cells.insert(cells.begin() + 2, environment_text(answer));
    if (has_engines_) cells.insert(cells.begin() + 2, engine_text(answer));
    if (has_formats_) cells.insert(cells.begin() + 1, weights_format(answer));
    if (!services_.empty()) cells.insert(cells.begin(), services_[i]);
    return cells;
  }

  // What the table's rows differ in, and what row i has of it.
  [[nodiscard]] std::vector<std::string> traits(std::size_t i) const {
    if (!services_.empty()) return {services_[i], devices(i)};
    std::vector<std::string> all;
    if (has_models_) all.push_back(shown_model(answers_[i], answers_));
    if (has_devices_) all.push_back(devices(i));
    if (has_engines_) all.push_back(engine_text(answers_[i]));
    if (has_environments_) all.push_back(environment_text(answers_[i]));
    return all;
  }

  // The rows of a note: none for all of them, a trait that they alone have, or each by its traits.
  [[nodiscard]] std::string names(const std::vector<std::size_t>& rows) const {
    if (rows.size() == answers_.size()) return "";
    for (const std::string& trait : traits(rows.front())) {
      const auto has = [&](std::size_t i) { return std::ranges::count(traits(i), trait) > 0; };
      std::size_t all = 0;
      for (std::size_t i = 0; i < answers_.size(); ++i) all += has(i) ? 1 : 0;
      if (all == rows.size() && std::ranges::all_of(rows, has)) return trait + ": ";
    }
    std::vector<std::string> each;
    for (const std::size_t i : rows) {
      each.push_back(services_.empty() ? fmt::format("{}", fmt::join(traits(i), " "))
                                       : services_[i]);
    }
    return comma_list(each) + ": ";
  }

  [[nodiscard]] std::string folded(std::string_view label,
                                   const std::vector<std::vector<std::string>>& texts) const {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> found;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (const std::string& text : texts[i]) {
        const auto known = std::ranges::find(
            found, text, &std::pair<std::string, std::vector<std::size_t>>::first);
        if (known == found.end()) {
          found.push_back({text, {i}});
        } else {
          known->second.push_back(i);
        }
      }
    }
    std::string out;
    for (const auto& [text, rows] : found) {
      out += ask_line(out.empty() ? label : "", names(rows) + text);
    }
    return out;
  }

  std::span<const AskAnswer> answers_;
  std::span<const std::string> services_;
  bool has_formats_ = false;
  bool has_models_ = false;
  bool has_devices_ = false;
  bool has_engines_ = false;
  bool has_environments_ = false;
  bool untargeted_ = false;
};

}  // namespace

std::string ask_table(std::span<const AskAnswer> answers, std::span<const std::string> services,
                      std::span<const std::string> assumed) {
  const AskTable table(answers, services);
  std::string out = table.table() + "\n" + table.reasons();
  if (table.untargeted()) {
    out += ask_line("at once",
                    "so many requests of this length have memory and a seat together; "
                    "more wait for their turn");
    out += ask_line("targets",
                    no_targets_text(std::ranges::all_of(answers, &AskAnswer::makes_vectors)));
  }
  for (std::size_t i = 0; i < assumed.size(); ++i) {
    out += ask_line(i == 0 ? "assumed" : "", assumed[i]);
  }
  return out + table.notes();
}

}  // namespace headroom
