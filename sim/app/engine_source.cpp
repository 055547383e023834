#include "sim/app/engine_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>

#include "sim/app/input_text.hpp"
#include "sim/app/log_source.hpp"
#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/memory_failure.hpp"
#include "sim/engines/started_log.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

// What came from standard input was taken just now.
double modified_s(const std::string& path) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double now_s = std::chrono::duration<double>(now).count();
  if (path == kStandardInput) return now_s;
  const auto since =
      std::filesystem::last_write_time(path) - std::filesystem::file_time_type::clock::now();
  return now_s + std::chrono::duration<double>(since).count();
}

// The name tells, or in standard input, which has none, the first key of such a file.
bool is_compose(const std::string& path, const std::string& text) {
  return path == kStandardInput ? holds_services(text) : is_yaml(path);
}

bool holds_metrics(const std::string& text) {
  if (text.starts_with("# HELP")) return true;
  return std::ranges::any_of(engines(), [&](const Engine* engine) {
    if (engine->metrics == nullptr) return false;
    const std::string prefix(engine->metrics->prefix);
    return text.starts_with(prefix) || text.find("\n" + prefix) != std::string::npos;
  });
}

FromResult from_metrics(const std::vector<std::string>& files, const std::string& text,
                        const std::string& release) {
  std::istringstream first(text);
  MetricsTimes times;
  times.taken_unix_s = modified_s(files.back());
  if (files.size() == 1) return scenario_from_metrics(first, files.front(), times, release);
  times.earlier_unix_s = modified_s(files.front());
  std::istringstream last(input_text(files.back()));
  return scenario_from_metrics(first, last, files.back(), times, release);
}

// Files of one deployment, whose parts are one fleet; nothing: they are none.
std::optional<FromResult> from_deployment(const EngineSource& source, const std::string& text) {
  std::vector<DeploymentText> files{{source.words.front(), text}};
  for (std::size_t i = 1; i < source.words.size(); ++i) {
    files.push_back({source.words[i], input_text(source.words[i])});
  }
  const auto all = [&files](bool (*holds)(const std::string&)) {
    return std::ranges::all_of(files, [&](const DeploymentText& one) { return holds(one.text); });
  };
  if (all(holds_unit)) return scenario_from_units(files, source.release);
  if (all(holds_deployment)) return scenario_from_deployment(files, source.release);
  return std::nullopt;
}

// A tail of a log that says what ran out, but not of what.
ConfigError no_system(const std::string& file) {
  return ConfigError(Complaint{
      .kind = ErrorKind::missing,
      .origin = file,
      .problem = fmt::format("says that memory ran out, but neither the model nor how the engine "
                             "was started: `headroom audit {}` explains it; else give the command "
                             "behind --",
                             file)});
}

// What is simulated of a log whose start failed.
std::string out_of_memory_note(const MemoryFailure& failure, const std::string& file) {
  return fmt::format(
      "memory ran out in this log (line {}: {}): `headroom audit {}` says where it went; here its "
      "system is simulated as the log has it",
      failure.line, failure.meaning, file);
}

}  // namespace

bool holds_services(const std::string& text) {
  return text.starts_with("services:") || text.find("\nservices:") != std::string::npos;
}

std::string release_given(const std::vector<std::string>& set) {
  JsonDocument document{"from", Json::object(), {}};
  for (const std::string& assignment : set) {
    const bool is_of_a_service = assignment.find(':') < assignment.find('=');
    if (!is_of_a_service) set_option(document, assignment);
  }
  const Json::json_pointer version("/engine/version");
  const bool given = document.root.contains(version) && document.root.at(version).is_string();
  return given ? document.root.at(version).get<std::string>() : std::string();
}

FromResult scenario_from_source(const EngineSource& source) {
  const std::vector<std::string>& words = source.words;
  const std::string& first = words.front();
  const bool file = is_input(first);
  const std::string text = file ? input_text(first) : std::string();
  const bool compose = file && is_compose(first, text) && !holds_deployment(text);
  if (!source.service.empty() && !compose) {
    throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                                .origin = "--service",
                                .problem = "names a service of a compose file, and this is none"});
  }
  if (!file) return scenario_from_command(first, "command", source.release);
  if (!compose && holds_metrics(text)) {
    if (words.size() > 2) throw ConfigError("expected one or two dumps of /metrics");
    return from_metrics(words, text, source.release);
  }
  if (std::optional<FromResult> deployed = from_deployment(source, text)) return *deployed;
  if (words.size() > 1) {
    throw ConfigError(fmt::format(
        "{}: expected one file, several of one deployment, or two dumps of /metrics", first));
  }
  if (compose) {
    std::istringstream stream(text);
    return scenario_from_compose(stream, first, source.service, source.release);
  }
  const std::optional<MemoryFailure> failure = find_memory_failure(text);
  const LogSource log{text, first, source.device, source.release, failure.has_value()};
  if (std::optional<FromResult> logged = scenario_from_log(log, Catalog::embedded())) {
    if (failure && logged->scenario.contains("model")) {
      logged->notes.insert(logged->notes.begin(), out_of_memory_note(*failure, first));
      logged->doubt = fmt::format("may not start: memory ran out in this log, line {}: {}",
                                  failure->line, failure->meaning);
    }
    if (!failure || logged->scenario.contains("model")) return *logged;
  }
  if (failure) throw no_system(first);
  try {
    return scenario_from_command(text, first, source.release);
  } catch (const ConfigError& error) {
    const Engine* writer =
        error.complaint().kind == ErrorKind::missing ? engine_of_lines(text) : nullptr;
    if (writer == nullptr) throw;
    throw ConfigError(no_model_loaded(first, *writer));
  }
}

}  // namespace headroom
