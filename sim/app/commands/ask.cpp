// `headroom ask`: one question, one answer. Does this system hold this traffic, by how much, and
// what should be changed?

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/failure.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/app/next_step.hpp"
#include "sim/app/shared_source.hpp"
#include "sim/app/system_source.hpp"
#include "sim/app/threads.hpp"
#include "sim/app/traffic_flags.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/memory/capacity_systems.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/json/ask_json.hpp"
#include "sim/report/text/ask_report.hpp"
#include "sim/resolve/run.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/ask/ask_target.hpp"

namespace headroom {
namespace {

struct AskArguments {
  SystemFlags system;
  std::vector<std::string> engines;       // without a source: a,b,...
  std::vector<std::string> environments;  // a,b,...
  TrafficFlags traffic;
  std::string context;
  std::string columns;  // of the trace
  std::vector<std::string> targets;
  std::optional<std::int64_t> threads;  // empty: all cores
  std::string save;                     // file for the question as a scenario
  std::string file;                     // for the answer
  std::string catalog;
  bool json = false;
  bool quiet = false;
};

// Engines that set room aside for the longest answer are another system without it.
std::string note_of_declared(const AskAnswer& answer, const Json& root) {
  const auto workload = root.find("workload");
  const bool declared =
      workload != root.end() && workload->value("max_tokens", Json()) == declared_lengths();
  if (!declared || !answer.run.started || !open_lengths_bind(answer.run)) return "";
  return "clients declare the length of their answers as max_tokens, for which the engine keeps "
         "room; if they do not: --set workload.max_tokens.rule=engine_default";
}

void set_rate(JsonDocument& document, double rate) {
  set_option(document, fmt::format("workload.arrivals.request_rate={}", rate));
}

// Traffic of its own for a system that has none, or the scenario's with what the flags change.
// Returns whether a load was asked for.
bool set_traffic(const AskArguments& a, DescribedSystem& system) {
  JsonDocument& document = system.document.json;
  if (!document.root.is_object()) {
    throw value_error(document, "", document.root, "expected an object");
  }
  if (a.traffic.trace) {
    set_trace(document, input_path(*a.traffic.trace));
    Json& traced = document.root["workload"];
    if (!traced.contains("max_tokens")) traced["max_tokens"] = declared_lengths();
    if (a.traffic.rate) set_rate(document, *a.traffic.rate);  // of a trace without times
    return true;
  }
  const bool has_own = document.root.contains("workload");
  Json& workload = document.root["workload"];
  if (has_own && !workload.is_object()) {
    throw value_error(document, "/workload", workload, "expected an object");
  }
  if (!has_own) {
    workload = {{"num_requests", ask_requests(output_tokens(a.traffic))},
                {"max_tokens", declared_lengths()}};
    if (a.traffic.prompt.empty() || a.traffic.output.empty()) {
      system.assumed.push_back(usual_lengths(a.traffic));
    }
  }
  if (!has_own || !a.traffic.prompt.empty()) {
    workload["prompt"] = {{"tokens", prompt_tokens(a.traffic)}};
  }
  if (!has_own || !a.traffic.output.empty()) {
    workload["output"] = {{"tokens", output_tokens(a.traffic)}};
  }
  if (a.traffic.users) {
    set_closed_loop(document, *a.traffic.users);
  } else if (a.traffic.rate || !has_own) {
    workload.erase("closed_loop");
    set_rate(document, a.traffic.rate.value_or(1));
  }
  return has_own || a.traffic.rate || a.traffic.users;
}

// Whether a --set names the engine.
bool sets_engine(const AskArguments& a) {
  return std::ranges::any_of(a.system.set, [](const std::string& one) {
    return one.starts_with("engine=") || one.starts_with("engine.name=");
  });
}

// The device that a scenario names by a word; else empty.
std::string named_device(const Json& root) {
  const auto device = root.find("device");
  return device != root.end() && device->is_string() ? device->get<std::string>() : "";
}

// Every model on every device.
std::vector<AskQuery> queries_of(const AskArguments& a, DescribedSystem& system, bool has_load,
                                 const Catalog& catalog) {
  AskQuery query;
  query.has_load = has_load;
  query.targets = parse_targets(a.targets);
  query.refusal = system.refusal;
  query.doubt = system.doubt;
  query.largest_share = system.largest_share;
  query.context = tokens_of("--context", a.context, 0);
  std::vector<AskQuery> queries;
  for (const std::string& model : parts_or_none(a.system.models, "--model")) {
    for (const std::string& device : parts_or_none(a.system.devices, "--device")) {
      query.document = system.document;
      Json& root = query.document.json.root;
      if (!model.empty()) root["model"] = model;
      if (a.system.source.empty() && !sets_engine(a)) {
        const std::string note = set_engine_of_device(device, root, catalog);
        const bool is_new = std::ranges::find(system.assumed, note) == system.assumed.end();
        if (!note.empty() && is_new) system.assumed.push_back(note);
      }
      const std::string split =
          set_device(device.empty() ? named_device(root) : device, query.document.json);
      if (!a.system.source.empty() && !split.empty()) system.assumed.push_back(split);
      if (!root.contains("device")) {
        throw ConfigError(Complaint{
            .kind = ErrorKind::missing,
            .origin = "--device",
            .problem = "this does not say which device it runs on: add one, or several between "
                       "commas (h100-sxm, a100-80, l40s, rtx4090, ...; see `headroom list "
                       "devices`)"});
      }
      queries.push_back(query);
      for (const std::string& assignment : a.system.set) {
        set_option(queries.back().document.json, assignment);
      }
      if (!a.columns.empty()) {
        set_option(queries.back().document.json, columns_setting(a.columns));
      }
    }
  }
  return queries;
}

// Of a model that makes vectors prompts are simulated alone: one token is the least that a request
// may have, and has no step of its own. `alone`: --out can be meant for no other system.
void leave_out_answers(const AskArguments& a, const Catalog& catalog, bool alone, AskQuery& query,
                       std::vector<std::string>& assumed) {
  const Scenario scenario = with_settings(query.document, {});
  if (!makes_vectors(scenario, catalog)) return;
  const LengthSection& output = scenario.workload.output;
  if (output.law == "fixed" && output.tokens == 1) return;
  const std::string& model = scenario.model;
  if (alone && !a.traffic.output.empty()) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::unsupported,
        .origin = "--out",
        .value = a.traffic.output,
        .problem = fmt::format("{} makes vectors of prompts, and no tokens: leave it out", model)});
  }
  if (!scenario.workload.classes.empty() || a.traffic.trace) {
    assumed.push_back(
        fmt::format("{} makes vectors, and no tokens; lengths of answers are "
                    "simulated as the traffic has them",
                    model));
    return;
  }
  query.document.json.root["workload"]["output"] = {{"tokens", 1}};
  const std::string note = fmt::format(
      "{} makes vectors, and no tokens: prompts alone are simulated (1 token out)", model);
  if (std::ranges::find(assumed, note) == assumed.end()) assumed.push_back(note);
}

// A scenario that the flags change in nothing.
bool is_own_scenario(const AskArguments& a) {
  const bool changed = a.traffic.rate || a.traffic.users || a.traffic.trace ||
                       !a.traffic.prompt.empty() || !a.traffic.output.empty() ||
                       !a.system.set.empty() || !a.system.devices.empty();
  return !changed && a.system.source.size() == 1 && is_scenario(a.system.source.front());
}

// How to go on from here.
std::string next_after_ask(const AskArguments& a, const AskAnswer& answer) {
  if (a.quiet) return "";
  const std::string file = !a.save.empty()      ? a.save
                           : is_own_scenario(a) ? a.system.source.front()
                                                : "";
  if (file.empty()) {
    return "--save mine.json keeps this question as a scenario for `headroom run mine.json`, "
           "`compare`, `sweep` and `audit`";
  }
  const std::string word = shell_word(file);
  if (answer.verdict == HoldVerdict::does_not_start) return "headroom audit " + word;
  std::string text = "headroom run " + word;
  if (!answer.changes.empty()) {
    const Setting& best = answer.changes.front().candidate.setting;
    const std::string value =
        best.value.is_string() ? best.value.get<std::string>() : best.value.dump();
    text += fmt::format("; headroom compare {} --set-b {}", word,
                        shell_word(fmt::format("{}={}", best.path, value)));
  }
  return text;
}

bool ends_with(const std::string& name, std::string_view extension) {
  return name.size() > extension.size() && name.ends_with(extension);
}

// Refused before the runs where it cannot be written.
std::optional<ReplacedFile> answer_file(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (!ends_with(name, ".json") && !ends_with(name, ".md")) {
    throw ConfigError(Complaint{
        .origin = "-o", .value = name, .problem = "expected a name in .json or .md (Markdown)"});
  }
  return std::optional<ReplacedFile>(std::in_place, name);
}

struct Asked {
  std::vector<AskQuery> queries;
  std::vector<std::string> services;  // of each query; empty: there is one system
  std::vector<std::string> assumed;
  std::size_t together = 1;  // so many queries in a row hold only if each of them does
};

// Every engine in every environment.
Asked asked_systems(AskArguments a, const Catalog& catalog) {
  Asked asked;
  for (const std::string& engine : parts_or_none(a.engines, "--engine")) {
    a.system.engine = engine;
    for (const std::string& environment : parts_or_none(a.environments, "--environment")) {
      DescribedSystem system = described_system(a.system, "ask");
      if (!environment.empty()) {
        JsonDocument& document = system.document.json;
        set_option(document, "environment.name=" + environment);
        document.overrides["/environment/name"] = "--environment " + environment;
      }
      const bool has_load = set_traffic(a, system);
      const std::vector<AskQuery> queries = queries_of(a, system, has_load, catalog);
      asked.queries.insert(asked.queries.end(), queries.begin(), queries.end());
      for (const std::string& note : system.assumed) {
        if (std::ranges::count(asked.assumed, note) == 0) asked.assumed.push_back(note);
      }
    }
  }
  for (AskQuery& query : asked.queries) query.with_changes = asked.queries.size() == 1;
  return asked;
}

// One place for all services of a file.
void set_environment_of_services(AskArguments& a) {
  const std::vector<std::string> environments = split_list(a.environments);
  if (environments.empty()) return;
  if (environments.size() > 1) {
    throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                                .origin = "--environment",
                                .value = comma_list(environments),
                                .problem = "expected one, for all services of the file"});
  }
  a.system.set.insert(a.system.set.begin(), "environment.name=" + environments.front());
}

// The services of a compose file, or the one that is named, each beside those that start first.
Asked asked_services(AskArguments a, const Catalog& catalog) {
  const auto is_traffic = [](const std::string& one) { return one.starts_with("workload"); };
  std::vector<std::string> traffic;
  std::ranges::copy_if(a.system.set, std::back_inserter(traffic), is_traffic);
  std::erase_if(a.system.set, is_traffic);
  set_environment_of_services(a);
  const std::vector<std::string> devices = parts_or_none(a.system.devices, "--device");
  const std::vector<std::string> set = std::exchange(a.system.set, traffic);
  a.system.devices.clear();
  Asked asked;
  for (const std::string& device : devices) {
    SharedServices all =
        shared_services(a.system.source.front(), device, set, catalog, a.system.service);
    if (!a.system.service.empty()) all.services = {service_named(all, a.system.service)};
    const std::string prefix = devices.size() > 1 ? device + ": " : "";
    for (const std::string& note : all.order) asked.assumed.push_back(prefix + note);
    if (all.services.size() > 1 && !set.empty() && asked.queries.empty()) {
      asked.assumed.push_back(fmt::format("--set {}: of all {} services (--service for one)",
                                          fmt::join(set, ", "), all.services.size()));
    }
    asked.together = all.services.size();
    for (SharedService& one : all.services) {
      const bool has_load = set_traffic(a, one.system);
      if (!one.system.beside.empty()) one.system.assumed.push_back(one.system.beside);
      const std::vector<AskQuery> queries = queries_of(a, one.system, has_load, catalog);
      asked.queries.insert(asked.queries.end(), queries.begin(), queries.end());
      asked.services.push_back(one.name);
      for (const std::string& note : one.system.assumed) {
        asked.assumed.push_back(fmt::format("{}{}: {}", prefix, one.name, note));
      }
    }
  }
  for (AskQuery& query : asked.queries) query.with_changes = asked.queries.size() == 1;
  return asked;
}

// Whether one of the systems that were asked about serves what was asked, with all its services.
bool one_holds(const std::vector<AskAnswer>& answers, std::size_t together) {
  const auto holds = [](const AskAnswer& answer) { return answer.verdict <= HoldVerdict::tight; };
  for (std::size_t first = 0; first + together <= answers.size(); first += together) {
    const auto begin = answers.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::all_of(begin, begin + static_cast<std::ptrdiff_t>(together), holds)) return true;
  }
  return false;
}

// Flags of `ask` within the engine's command, and targets that the shell took apart.
void check_words(const AskArguments& a) {
  constexpr std::array<std::string_view, 5> kOwn{"--rate", "--users", "--in", "--out", "--slo"};
  for (const std::string& words : a.system.source) {
    std::istringstream in(words);
    for (std::string word; in >> word;) {
      const std::string flag = word.substr(0, word.find('='));
      if (std::ranges::find(kOwn, flag) == kOwn.end()) continue;
      throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                                  .origin = flag,
                                  .problem = "is a flag of `headroom ask`, and stands in the "
                                             "engine's command: put it before --"});
    }
  }
  if (a.targets.empty() || a.system.source.size() != 1) return;
  const std::string& word = a.system.source.front();
  if (word.find('=') == std::string::npos || is_input(word)) return;
  try {
    (void)parse_targets({word});
  } catch (const ConfigError&) {
    return;
  }
  throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                              .origin = "--slo",
                              .value = word,
                              .problem = "is a target of its own: join them with a comma, --slo "
                                         "p99_ttft=2s,p95_tpot=50ms"});
}

// A model's name where a command, a file or a scenario stands.
void check_source(const AskArguments& a, const Catalog& catalog) {
  check_words(a);
  if (a.system.source.size() != 1) return;
  const std::string& word = a.system.source.front();
  if (is_input(word) || is_scenario(word) || !catalog.has_model(word)) return;
  throw ConfigError(Complaint{.kind = ErrorKind::unsupported,
                              .origin = word,
                              .problem = "a model, where a command, a file or a scenario is "
                                         "expected: give it as --model " +
                                         word});
}

int ask_command(AskArguments& a) {
  check_traffic(a.traffic);
  std::ranges::transform(a.system.source, a.system.source.begin(), input_path);
  const Catalog catalog = load_catalog(a.catalog);
  check_source(a, catalog);
  const bool by_names = !a.system.models.empty() || !a.engines.empty() || a.system.device_count;
  const bool several = !by_names && a.system.source.size() == 1 &&
                       starts_several(a.system.source.front(), a.system.service);
  Asked asked = several ? asked_services(a, catalog) : asked_systems(a, catalog);
  const std::vector<std::string> units = unit_notes(a.targets);
  asked.assumed.insert(asked.assumed.end(), units.begin(), units.end());
  for (AskQuery& query : asked.queries) {
    leave_out_answers(a, catalog, asked.queries.size() == 1, query, asked.assumed);
  }
  const bool vectors_alone = std::ranges::all_of(asked.queries, [&](const AskQuery& query) {
    return makes_vectors(with_settings(query.document, {}), catalog);
  });
  if (vectors_alone) std::erase(asked.assumed, usual_lengths(a.traffic));
  const std::vector<AskQuery>& queries = asked.queries;
  if (!a.save.empty() && queries.size() > 1) {
    throw ConfigError(
        Complaint{.kind = ErrorKind::conflict,
                  .origin = "--save",
                  .problem = fmt::format("keeps one system, and these are {}: {}", queries.size(),
                                         several ? "choose one with --service"
                                                 : "give one --model and one --device")});
  }
  // Refused before the runs where it cannot be written.
  std::optional<ReplacedFile> saved;
  JsonDocument question = queries.front().document.json;
  if (!a.save.empty()) {
    keep_targets(parse_targets(a.targets), question, "--save");
    saved.emplace(a.save);
  }
  std::optional<ReplacedFile> file = answer_file(a.file);
  const std::atomic<bool>& interrupted = stop_on_signals();
  std::vector<AskAnswer> answers;
  Json all = Json::array();
  for (const AskQuery& query : queries) {
    answers.push_back(ask(query, catalog, {threads_of(a.threads), &interrupted}));
    if (interrupted) return interrupted_exit_code();
    const std::string note = note_of_declared(answers.back(), query.document.json.root);
    if (!note.empty() && std::ranges::count(asked.assumed, note) == 0) {
      asked.assumed.push_back(note);
    }
    all.push_back(ask_json(answers.back(), query.document.json.root, kVersion));
    if (!asked.services.empty()) all.back()["service"] = asked.services[answers.size() - 1];
  }
  if (saved) {
    saved->write(json_text(question.root));
    saved->publish();
  }
  const bool single = answers.size() == 1;
  const std::string json = json_text(single ? all.front() : all);
  const std::string text =
      single ? ask_text(answers.front(), {asked.assumed, next_after_ask(a, answers.front())})
             : ask_table(answers, asked.services, asked.assumed);
  if (file) file->publish(ends_with(a.file, ".json") ? json : ask_markdown(text, single));
  print(a.json ? json : text, a.json);
  return one_holds(answers, asked.together) ? 0 : kExitDoesNotHold;
}

std::function<int()> add_ask(CLI::App& command) {
  const auto a = std::make_shared<AskArguments>();
  command.add_option("source", a->system.source,
                     "an engine's command behind --, or quoted; compose.yaml, a start-up log, a "
                     "scenario");
  command.add_option("--model", a->system.models, "without a source: as for `capacity`; a,b,...")
      ->allow_extra_args(false);
  command
      .add_option("--device", a->system.devices,
                  "catalog ids or names, 2x4090 for two; several (a,b,...) make a table")
      ->allow_extra_args(false);
  command.add_option("--devices", a->system.device_count,
                     "without a source: how many, for one replica");
  command.add_option("--engine", a->engines, "without a source: engine or engine@version: a,b,...")
      ->allow_extra_args(false);
  command
      .add_option("--environment", a->environments,
                  "native,docker,...: where it runs (`headroom list environments`)")
      ->allow_extra_args(false);
  command.add_option("--service", a->system.service,
                     "for a compose file: the service to ask about (each)");
  with_short_numbers(command.add_option("--rate", a->traffic.rate, "requests per second"),
                     "requests/s");
  with_short_numbers(command.add_option("--users", a->traffic.users,
                                        "instead of --rate: each waits for its answer"),
                     "users");
  command.add_option("--in", a->traffic.prompt, "tokens of a prompt: 3000, 8k (1024)");
  command.add_option("--out", a->traffic.output, "tokens of an answer (256)");
  command.add_option("--trace", a->traffic.trace,
                     "a recorded trace, instead of --rate, --in and --out");
  command.add_option("--columns", a->columns, kColumnsHelp);
  command.add_option("--slo", a->targets, "targets: p99_ttft=2s,p95_tpot=50ms")
      ->allow_extra_args(false);
  command.add_option("--context", a->context, "a request of so many tokens must fit, too: 32k");
  command.add_option("--set", a->system.set, "path=value, changes the system")
      ->allow_extra_args(false);
  command.add_option("-j,--threads", a->threads, "runs in parallel (all cores)");
  command.add_option("-o,--output", a->file,
                     "also write the answer to this file: .json, or .md (Markdown)");
  command.add_option("--save", a->save,
                     "also write system, traffic and targets as a scenario to this file");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  command.add_flag("--json", a->json, "print JSON");
  command.add_flag("-q,--quiet", a->quiet, kQuietHelp);
  return [a] { return ask_command(*a); };
}

}  // namespace

const Command kAskCommand{"ask", "does it hold this traffic, by how much, and what helps", add_ask};

}  // namespace headroom
