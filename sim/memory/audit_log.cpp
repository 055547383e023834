#include "sim/memory/audit_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hardware/checkpoint_names.hpp"
#include "hardware/llm/quantization_method.hpp"
#include "sim/engines/engine_log.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/size_of.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

constexpr double kSameTotal = 0.01;  // totals of one board differ by driver and firmware

// Formats as the scenario spells them; empty when the engine's word is none of its choices.
std::string choice_of(std::string_view pointer, std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  const std::vector<std::string> choices = choices_of(*find_option(pointer));
  return std::ranges::find(choices, name) == choices.end() ? "" : name;
}

class SystemOfLog {
 public:
  SystemOfLog(const StartupLog& log, const LogAuditQuery& query, const Catalog& catalog)
      : log_(log), query_(query), catalog_(catalog) {}

  // ConfigError: the catalog lacks the model or the device, or the log does not say it.
  void require_model_and_device() const {
    if (query_.model.empty()) {
      if (!log_.model) {
        throw ConfigError(Complaint{.origin = log_.name,
                                    .problem = "the log does not name its model: use --model"});
      }
      // Local paths and other people's quantisations are known by their words.
      if (!find_checkpoint(catalog_, log_.model->value)) {
        throw ConfigError(
            Complaint{.origin = log_.name,
                      .problem = fmt::format(
                          "line {}: model {} is not in the catalog: use --model with a catalog id "
                          "or a config.json",
                          log_.model->line, log_.model->value)});
      }
    }
    if (!query_.device.empty()) return;
    const FoundNumber& total = log_.memory.total_gib;
    if (!total) {
      throw ConfigError(
          Complaint{.origin = log_.name,
                    .problem = "the log does not give the device's total memory: use --device"});
    }
    if (devices_of_total(catalog_, total->value).empty()) {
      throw ConfigError(Complaint{
          .origin = log_.name,
          .problem = fmt::format("line {}: no device in the catalog has {:.2f} GiB: use --device",
                                 total->line, total->value)});
    }
  }

  Scenario build() {
    s_.file = s_.name = log_.name;
    s_.model = !query_.model.empty() ? query_.model : log_.model ? log_.model->value : "";
    find_device();
    s_.environment.name = query_.environment;
    EngineSection& e = s_.engine;
    if (query_.arguments) e = *query_.arguments;
    if (log_.quantization) e.quantization = "auto";  // below, by what the checkpoint is
    e.name = log_.engine->name;
    if (log_.version) {
      e.version = log_.version->value;
    } else {
      assume(fmt::format("release of {}: the default, because the log does not name it", e.name));
    }
    e.tensor_parallel_size = count(log_.tensor_parallel, 1, "tensor_parallel_size");
    if (log_.pipeline_parallel) e.pipeline_parallel_size = log_.pipeline_parallel->value;
    if (log_.context_parallel) e.decode_context_parallel_size = log_.context_parallel->value;
    formats();
    log_.engine->log->set_options(log_, e, assumptions_);
    return s_;
  }

  std::vector<std::string> take_assumptions() { return std::move(assumptions_); }

 private:
  void assume(std::string text) { assumptions_.push_back(std::move(text)); }

  [[nodiscard]] std::int64_t count(const FoundCount& found, std::int64_t other,
                                   std::string_view name) {
    if (found) return found->value;
    assume(fmt::format("{} = {}: not in the log", name, other));
    return other;
  }

  void find_device() {
    const FoundNumber& total = log_.memory.total_gib;
    if (total) s_.device.memory_total_gib = total->value;
    s_.device.name = query_.device;
    if (!query_.device.empty() || !total) return;
    const std::vector<std::string> fitting = devices_of_total(catalog_, total->value);
    if (fitting.empty()) return;
    s_.device.name = fitting.front();
    assume(fmt::format("device {}: guessed from {:.2f} GiB in total ({}); use --device to name it",
                       fitting.front(), total->value, comma_list(fitting)));
  }

  void formats() {
    EngineSection& e = s_.engine;
    if (log_.dtype) e.dtype = choice_of("/engine/dtype", log_.dtype->value);
    if (e.dtype.empty()) e.dtype = "auto";
    if (log_.kv_cache_dtype) {
      e.kv_cache_dtype = choice_of("/engine/kv_cache_dtype", log_.kv_cache_dtype->value);
    }
    if (e.kv_cache_dtype.empty()) e.kv_cache_dtype = "auto";
    if (!log_.quantization) return;
    // A checkpoint that is quantised says so itself.
    const std::string name = choice_of("/engine/quantization", log_.quantization->value);
    const auto named = find_checkpoint(catalog_, s_.model);
    const bool own = named && (!named->quantization.empty() ||
                               is_quantised(main_dtype(catalog_.model(named->model))));
    const bool unknown = name.empty() || is_checkpoint_method(name);
    if (!unknown && !own) e.quantization = name;
    if (unknown && !own) {
      assume(fmt::format("quantization {}: the checkpoint's formats, which its name does not say",
                         log_.quantization->value));
    }
  }

  const StartupLog& log_;
  const LogAuditQuery& query_;
  const Catalog& catalog_;
  Scenario s_;
  std::vector<std::string> assumptions_;
};

}  // namespace

std::vector<std::string> devices_of_total(const Catalog& catalog, double total_gib) {
  std::vector<std::pair<double, std::string>> fitting;
  for (const std::string& id : catalog.device_ids()) {
    const double total = gib_from_bytes(catalog.device(id).memory_reported_bytes);
    const double off = size_of(total / total_gib - 1);
    if (off <= kSameTotal) fitting.emplace_back(off, id);
  }
  std::sort(fitting.begin(), fitting.end());
  std::vector<std::string> ids;
  ids.reserve(fitting.size());
  for (auto& [off, id] : fitting) ids.push_back(std::move(id));
  return ids;
}

ModelledMemory modelled_memory(const BudgetedSystem& system) {
  const Resolved& r = system.resolved;
  const MemoryBudget& b = system.budget;
  const auto gib = [&b](MemoryPurpose purpose) { return gib_from_bytes(b.terms[purpose]); };
  ModelledMemory m;
  m.total_gib = gib_from_bytes(b.capacity_bytes);
  m.weights_gib = gib(MemoryPurpose::weights);
  m.activation_gib = gib(MemoryPurpose::activations);
  m.non_torch_gib = gib(MemoryPurpose::context) + gib(MemoryPurpose::communication) +
                    gib(MemoryPurpose::engine_host);
  m.graph_gib = gib(MemoryPurpose::graphs);
  m.others_gib = gib(MemoryPurpose::others) + gib(MemoryPurpose::page_cache);
  // Buffers of whole layers, as llama.cpp logs them, hold windows and states, too.
  m.kv_gib = r.engine->traits.devices_share_layers ? gib(MemoryPurpose::kv_pool)
                                                   : gib_from_bytes(b.kv_available_bytes);
  const EngineSection& e = r.scenario.engine;
  if (const EngineLog* log = r.engine->log; log != nullptr) {
    m.share = log->modelled_share(e);
    m.graphs_in_budget = log->graphs_in_budget(e, r);
  }
  m.kv_tokens = b.kv_tokens;
  m.kv_blocks = b.total_blocks;
  m.kv_groups = std::ssize(b.layout.groups);
  m.block_size = b.layout.block_tokens;
  m.max_concurrency = b.max_concurrency;
  m.max_model_len = b.max_model_len;
  return m;
}

ToldSystem system_of_log(const StartupLog& log, const LogAuditQuery& query,
                         const Catalog& catalog) {
  SystemOfLog builder(log, query, catalog);
  Scenario scenario = builder.build();
  return {std::move(scenario), builder.take_assumptions()};
}

LogAudit audit_log(const StartupLog& log, const LogAuditQuery& query, const Catalog& catalog) {
  SystemOfLog builder(log, query, catalog);
  builder.require_model_and_device();
  LogAudit result;
  result.log = log;
  result.system = budget_system(builder.build(), catalog);
  result.modelled = modelled_memory(result.system);
  result.attribution = attribute(log, result.modelled);
  result.assumptions = builder.take_assumptions();
  const std::vector<std::string>& warnings = result.system.resolved.warnings;
  result.assumptions.insert(result.assumptions.end(), warnings.begin(), warnings.end());
  if (const auto& failure = result.system.budget.failure) {
    result.assumptions.push_back(fmt::format("the modelled start fails in {}: {}",
                                             name_of(failure->stage), failure->message));
  }
  return result;
}

}  // namespace headroom
