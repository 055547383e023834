#include "sim/app/started_source.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>
#include <vector>

#include "hardware/checkpoint_names.hpp"
#include "sim/app/log_source.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/memory/what_if.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

// That a device which was named can be the log's.
void check_device(const StartedAnswer& answer, const std::string& device) {
  const double held = answer.log.figure(StartFigure::weights).value_or(0) +
                      answer.log.figure(StartFigure::kv).value_or(0);
  const double total = answer.total_gib.value_or(held);
  if (held <= total) return;
  throw ConfigError(Complaint{
      .kind = ErrorKind::conflict,
      .origin = "--device",
      .value = device,
      .problem = fmt::format("is not the log's: {} has {:.2f} GiB of weights and KV on a device, "
                             "and this one has {:.2f}",
                             answer.name, held, total)});
}

class StartedSystem {
 public:
  StartedSystem(StartedAnswer& answer, const LogAuditQuery& query, const Catalog& catalog)
      : answer_(answer), query_(query), catalog_(catalog) {}

  // `text`: of the log, which may begin with the command.
  void predict(const std::string& text) {
    find_device();
    find_model();
    if (device_.empty() || model_.empty()) return;
    JsonDocument document = base(text);
    add_logged_options(answer_.log, document, answer_.notes);
    try {
      take(budget_system(load_scenario({std::move(document), ""}, answer_.name, {}), catalog_));
    } catch (const ConfigError& error) {
      if (!query_.model.empty() && !query_.device.empty()) throw;
      note(fmt::format("not predicted: {}", error.what()));
    }
  }

 private:
  void note(std::string text) { answer_.notes.push_back(std::move(text)); }

  void find_device() {
    device_ = query_.device;
    if (device_.empty()) device_ = device_of_log(answer_.log, catalog_, answer_.notes);
    if (device_.empty()) {
      note(fmt::format("the log {}: --device DEVICE, for what is left and predicted",
                       answer_.log.has_several_boards ? "names several kinds of devices"
                                                      : "does not name the device"));
      return;
    }
    answer_.total_gib = gib_from_bytes(catalog_.device(device_).memory_reported_bytes);
    if (!query_.device.empty()) check_device(answer_, device_);
  }

  void find_model() {
    const std::string& named = answer_.log.model;
    model_ = query_.model;
    if (!model_.empty()) return;
    if (named.empty()) {
      note("the log does not name the model: --model MODEL, for what is predicted");
    } else if (!find_checkpoint(catalog_, named)) {
      note(
          fmt::format("the log's model {} is not in the catalog: --model MODEL, a catalog id, "
                      "config.json or GGUF file, for what is predicted",
                      named));
    } else {
      model_ = named;
    }
  }

  // What the log says of its start; else the engine alone.
  JsonDocument base(const std::string& text) {
    JsonDocument document{answer_.name, Json::object(), {}};
    try {
      auto given = arguments_of_log({text, answer_.name, {}, {}}, *answer_.log.engine);
      if (given) document.root["engine"] = given->scenario.at("engine");
    } catch (const UserError& error) {
      note(fmt::format("the arguments of the log are left out: {}", error.what()));
    }
    document.root["engine"]["name"] = answer_.log.engine->name;
    document.root["model"] = model_;
    document.root["device"] = device_;
    document.root["environment"]["name"] = query_.environment;
    return document;
  }

  void take(const BudgetedSystem& system) {
    const Resolved& r = system.resolved;
    answer_.predicted = modelled_memory(system);
    if (!answer_.log.figure(StartFigure::total)) {
      answer_.total_gib = answer_.predicted->total_gib;
    }
    const std::int64_t devices = r.sharding.devices();
    answer_.system = fmt::format("{} on {}{}", r.model.id,
                                 devices > 1 ? fmt::format("{} x ", devices) : "", r.device.id);
    for (const std::string& warning : r.warnings) note(warning);
    if (const auto& failure = system.budget.failure) {
      note(fmt::format("the modelled start fails: {}", failure->message));
    }
  }

  StartedAnswer& answer_;
  const LogAuditQuery& query_;
  const Catalog& catalog_;
  std::string device_;
  std::string model_;
};

}  // namespace

std::optional<StartedAnswer> started_answer(const std::string& text, const std::string& name,
                                            const LogAuditQuery& query, const Catalog& catalog) {
  std::optional<StartedLog> log = find_started_log(text);
  if (!log) return std::nullopt;
  StartedAnswer answer;
  answer.name = name;
  answer.log = std::move(*log);
  StartedSystem(answer, query, catalog).predict(text);
  return answer;
}

StartedAnswer started_answer(const StartupLog& log, const LogAuditQuery& query,
                             const Catalog& catalog) {
  StartedAnswer answer;
  answer.name = log.name;
  answer.log = started_log(log);
  answer.notes = log.notes;
  StartedSystem(answer, query, catalog).predict({});
  return answer;
}

StartedAnswer started_answer(const LogAudit& audit) {
  StartedAnswer answer;
  answer.name = audit.log.name;
  answer.log = started_log(audit.log);
  answer.predicted = audit.modelled;
  answer.total_gib = audit.modelled.total_gib;
  check_device(answer, audit.system.resolved.device.id);
  return answer;
}

std::string started_titles() {
  std::vector<std::string> titles;
  for (const Engine* engine : engines()) {
    if (engine->launch != nullptr && engine->launch->started != nullptr) {
      titles.emplace_back(engine->launch->title);
    }
  }
  return comma_list(titles);
}

}  // namespace headroom
