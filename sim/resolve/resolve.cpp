#include "sim/resolve/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "hardware/checkpoint_names.hpp"
#include "hardware/cost/layer_kernels.hpp"
#include "hardware/cost/roofline.hpp"
#include "hardware/llm/parameters.hpp"
#include "hardware/llm/quantization_method.hpp"
#include "hardware/llm/weight_files.hpp"
#include "scheduler/batching/policies.hpp"
#include "sim/engines/engines.hpp"
#include "sim/kernel/check.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/resolve/kv_tier.hpp"
#include "sim/resolve/lora.hpp"
#include "sim/resolve/parallel.hpp"
#include "sim/resolve/resolver.hpp"
#include "sim/scenario/fleet_options.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
Resolver::Resolver(const Scenario& scenario, const Catalog& catalog)
    : catalog_(catalog), engine_(r_.scenario.engine, r_, r_.scenario) {
  r_.scenario = scenario;
}

Resolved Resolver::run() {
  resolve_parts();
  find_model();
  find_machine();
  resolve_formats();
  check_sharding_of_model();
  r_.engine->resolve(engine_);
  resolve_restart();
  if (r_.scheduler->settle != nullptr) {
    r_.scheduler->settle(r_.scenario, r_.scenario.engine.own, r_.max_num_seqs);
  }
  resolve_speculation();
  resolve_lora();
  resolve_cost_level();
  for (const std::string& note : r_.model.notes) {
    r_.warnings.push_back(fmt::format("{}: {}", r_.model.id, note));
  }
  return std::move(r_);
}

void Resolver::resolve_cost_level() {
  CostSection& cost = r_.scenario.cost;
  if (cost.level == "auto") choose_cost_level();
  if (cost.level == "kernels" || r_.engine->graph_switch == nullptr) return;
  const std::string_view option = r_.engine->graph_switch(r_.scenario.engine, r_);
  if (option.empty()) return;
  r_.warnings.push_back(fmt::format(
      "{} affects only memory and padding here: step times are those with CUDA graphs", option));
}

// Rows of constants come first where they were fitted on this device and engine.
void Resolver::choose_cost_level() {
  CostSection& cost = r_.scenario.cost;
  CostRequest request;
  request.engine = std::string(r_.engine->cost_family);
  request.mode = r_.overlaps_host() ? EngineMode::async : EngineMode::sync;
  request.kernels = r_.engine->kernels;
  if (r_.engine->releases_are_of_constants()) request.version = r_.version;
  if (cost.calibration != "auto") request.calibration = cost.calibration;
  const bool kernels = !asks_for_links(r_.scenario, r_.sharding) && r_.sharding.context == 1 &&
                       prefers_kernels(catalog_, r_.model, r_.device, request);
  cost.level = kernels ? "kernels" : "calibrated";
  engine_.note_rule("/cost/level", kernels ? "kernel times of this device, no better constants"
                                           : "constants of this device and engine, or generic");
}

void Resolver::check_sharding_of_model() {
  const Sharding& split = r_.sharding;
  const auto check = [&](const char* pointer, const Sharding& part) {
    engine_.lookup(pointer, [&] { check_sharding(r_.model, part); });
  };
  check("/engine/pipeline_parallel_size", {1, split.pipeline, 1, false});
  if (split.expert_parallel) {
    check("/engine/enable_expert_parallel", {1, 1, split.tensor * split.data, true});
  }
  check("/engine/tensor_parallel_size", {split.tensor, 1, 1, split.expert_parallel});
  check("/engine/data_parallel_size", {split.tensor, 1, split.data, split.expert_parallel});
  if (r_.engine->traits.cuts_whole_blocks && !split.expert_parallel) check_expert_blocks();
}

// fp8.py in vLLM and SGLang: the output_size of gate's and up's weight is divisible by block_n.
void Resolver::check_expert_blocks() {
  const std::int64_t ranks = r_.sharding.tensor * r_.sharding.data;
  for (const LayerKind& kind : r_.model.kinds) {
    if (!kind.moe || kind.moe->format.dtype != Dtype::fp8) continue;
    if (kind.moe->format.group != kFp8Block || kind.moe->ffn % (kBlockSide * ranks) == 0) continue;
    r_.scenario.refuse(
        "/engine/tensor_parallel_size",
        fmt::format("{} does not start: experts of {} have scales of blocks of {}, and {} of them "
                    "by {} ranks is no whole number of blocks; set enable_expert_parallel, or "
                    "another number of ranks",
                    r_.engine->name, r_.model.id, kBlockSide, kind.moe->ffn, ranks));
  }
}

void Resolver::resolve_parts() {
  EngineSection& e = r_.scenario.engine;
  const Engine& engine = engine_named(e.name);
  r_.engine = &engine;
  engine_.fill("/engine/version", e.version, engine.version, "the profile's");
  if (engine.versioned) {
    r_.version = engine_.lookup("/engine/version", [&] { return engine.release(*e.version); });
  }
  const std::string_view own =
      engine.scheduler_at != nullptr ? engine.scheduler_at(r_.version) : engine.scheduler;
  engine_.fill("/engine/scheduler", e.scheduler, own,
               own == engine.scheduler ? "profile" : "V0 before 0.8");
  engine_.fill("/engine/kv_allocator", e.kv_allocator,
               engine.allocator_for != nullptr ? engine.allocator_for(e) : engine.allocator,
               "profile");
  r_.scheduler = &batch_policy(*e.scheduler);
  r_.allocator = &allocator_policy(*e.kv_allocator);
  resolve_scheduler();
  spread_over_counted();
  r_.sharding = {e.tensor_parallel_size, e.pipeline_parallel_size, e.data_parallel_size,
                 e.enable_expert_parallel, e.decode_context_parallel_size};
}

// Weights are read again, all ranks from one store; a process that starts anew imports its
// libraries, compiles from warm caches and captures its graphs in about kProcessStartS (estimate).
void Resolver::resolve_restart() {
  constexpr double kProcessStartS = 15;
  const double gb = static_cast<double>(checkpoint_bytes(r_.model)) / 1e9;
  const double rate = r_.scenario.environment.storage_gb_per_s;
  // A server's queue is lost when a worker dies; a static batch is formed by the caller of the
  // engine.
  const bool outside = r_.scheduler->traits.whole_batches;
  engine_.fill("/engine/queue_survives", r_.scenario.engine.queue_survives, outside,
               outside ? "the queue is outside the engine" : "the queue is the engine's own");
  engine_.fill("/engine/restart_s", r_.scenario.engine.restart_s, kProcessStartS + gb / rate,
               fmt::format("{} s to start the process + {:.1f} GB of weights at {} GB/s",
                           kProcessStartS, gb, rate));
}

// Defaults that belong to a scheduler, whatever the engine.
void Resolver::resolve_scheduler() {
  EngineSection& e = r_.scenario.engine;
  const BatchPolicy& policy = *r_.scheduler;
  if (const auto& on = policy.traits.enable_chunked_prefill) {
    engine_.fill("/engine/enable_chunked_prefill", e.enable_chunked_prefill, *on,
                 fmt::format("{} by default in scheduler {}", *on ? "on" : "off", policy.name));
  }
  if (const auto& on = policy.traits.enable_prefix_caching;
      on && !r_.engine->traits.decides_prefix_caching) {
    const bool blocks_only = policy.allocators.size() > 1;
    engine_.fill("/engine/enable_prefix_caching", e.enable_prefix_caching,
                 *on && r_.allocator->in_blocks,
                 fmt::format("{} by default in scheduler {}{}", *on ? "on" : "off", policy.name,
                             blocks_only ? ", on blocks" : ""));
  }
  if (const auto& share = policy.traits.watermark) {
    engine_.fill("/engine/watermark", e.watermark, *share,
                 fmt::format("default of scheduler {}", policy.name));
  }
}

namespace {

// A path as written, or relative to the scenario's folder; empty when there is no such thing.
std::filesystem::path existing_path(const Scenario& scenario, const std::string& name) {
  std::error_code ignored;
  std::filesystem::path beside = std::filesystem::path(scenario.directory) / name;
  if (std::filesystem::exists(beside, ignored)) return beside;
  return std::filesystem::exists(name, ignored) ? std::filesystem::path(name)
                                                : std::filesystem::path();
}

bool looks_like_path(const std::string& name) {
  return name.ends_with(".json") || name.ends_with(".gguf") || name.starts_with('.') ||
         name.starts_with('/');
}

}  // namespace

void Resolver::find_model() {
  Scenario& s = r_.scenario;
  if (const std::string tag = s.model + ":latest";
      r_.engine->traits.names_by_tag && catalog_.has_model(tag)) {
    s.model = tag;
  }
  std::filesystem::path overrides;
  if (!s.model_override.empty()) {
    overrides = existing_path(s, s.model_override);
    if (overrides.empty())
      r_.scenario.refuse("/model_override", s.model_override + ": no such file",
                         ErrorKind::unreadable);
  }
  engine_.lookup("/model", [&] {
    const bool known = catalog_.has_model(s.model);
    const std::filesystem::path path = known ? "" : existing_path(s, s.model);
    if (!path.empty()) {
      r_.model = load_model_files(path, overrides);
      weights_told_ = read_from_files_ = true;
    } else if (known || !read_checkpoint_name(overrides)) {
      if (!known) refuse_unknown_model();
      r_.model = catalog_.model(s.model, overrides);
      take_published_checkpoint(overrides);
    }
  });
}

// Of a name that is no model's and no file's.
void Resolver::refuse_unknown_model() const {
  const std::string& name = r_.scenario.model;
  const std::string format = unknown_gguf_format(catalog_, name);
  if (!format.empty()) {
    throw ConfigError(fmt::format("{}: no such file, and as the name of a model its format {} is "
                                  "not known; of GGUF files are {}",
                                  name, format, comma_list(gguf_formats())),
                      ErrorKind::unknown);
  }
  if (looks_like_path(name)) {
    throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                .problem = fmt::format("{}: no such file or folder", name),
                                .context = std::string(kOwnModelHint)});
  }
  try {
    static_cast<void>(catalog_.model(name));
  } catch (const ConfigError& error) {
    throw error.with_context(std::string(kOwnModelHint));
  }
}

// No engine makes floats of 4 bits while it loads: who asks for them has a checkpoint of this model
// in them. The one that the catalog knows says which layers it leaves and the format of its cache.
void Resolver::take_published_checkpoint(const std::filesystem::path& overrides) {
  const std::string& format = r_.scenario.engine.quantization;
  if (format != "nvfp4" && format != "mxfp4") return;
  const std::string id = fmt::format("{}-{}", r_.model.id, format);
  if (!catalog_.has_model(id)) return;
  r_.model = catalog_.model(id, overrides);
  r_.warnings.push_back(fmt::format("{} in {} is read as {}", r_.scenario.model, format,
                                    r_.model.hf_repo.empty() ? id : r_.model.hf_repo));
}

bool Resolver::reads_cache_format(std::string_view method) const {
  const Engine& engine = *r_.engine;
  return engine.reads_cache_format == nullptr || engine.reads_cache_format(r_.version, method);
}

// A local path or other people's quantisation, by the words of its name. False when the name tells
// no model of the catalog.
bool Resolver::read_checkpoint_name(const std::filesystem::path& overrides) {
  Scenario& s = r_.scenario;
  if (s.model.ends_with(".json")) return false;
  std::optional<NamedCheckpoint> named = find_checkpoint(catalog_, s.model);
  if (!named) return false;
  r_.model = catalog_.model(named->model, overrides);
  if (contradicts_method(r_.model, s.engine.quantization)) {
    // Of somebody else, who quantised the model in another way. The same name finds a model again.
    named = find_checkpoint(catalog_, s.model, true);
    r_.model = catalog_.model(named->model, overrides);
  }
  std::string note = named->note;
  std::string& given = s.engine.quantization;
  weights_told_ = named->in_16_bits;
  if (named->in_16_bits && overrides.empty() && named->quantization.empty()) {
    r_.model = catalog_.model_in_16_bits(named->model);
    note += ", in 16 bits";
  }
  // Model Optimizer's script quantises the cache, too, where nobody says otherwise
  // (examples/llm_ptq/hf_ptq.py: kv_cache_qformat).
  const std::string repository = repository_of(s.model);
  const bool by_modelopt = given.starts_with("modelopt") || repository.starts_with("nvidia/");
  const bool in_few_bits = named->quantization == "nvfp4" || named->quantization == "fp8";
  if (by_modelopt && in_few_bits && reads_cache_format("modelopt")) named_cache_ = Dtype::fp8;
  // Unsloth's in compressed-tensors have a kv_cache_scheme (1Cat-vLLM issue 615; twice the tokens
  // of another one in vllm-project/recipes pull request 810).
  const bool by_unsloth = repository.starts_with("unsloth/") && named->quantization == "nvfp4";
  if (by_unsloth && reads_cache_format("compressed-tensors")) named_cache_ = Dtype::fp8;
  // The method that an unknown checkpoint declares does not say what it left in 16 bits.
  if (is_checkpoint_method(given)) given = "auto";
  if (given == "auto" && !named->quantization.empty()) {
    given = named->quantization;
    note += "; which layers stay in 16 bits is assumed";
  }
  r_.warnings.push_back(std::move(note));
  return true;
}

namespace {

// Whether anything of the section was given; the options of no section are always used.
bool is_used(std::string_view group, const Scenario& scenario) {
  if (group.empty()) return true;
  const auto found = scenario.given.lower_bound(std::string(group));
  return found != scenario.given.end() && found->first.starts_with(group);
}

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Results name the scenario's file, not where it lies.
std::string giver_of(const std::string& pointer, const Scenario& scenario) {
  const std::string& origin = scenario.given.at(pointer);
  std::string name = std::filesystem::path(scenario.file).filename().string();
  if (origin == scenario.file) return name;
  const bool in_group = origin.starts_with(scenario.file + ": ");
  return in_group ? name + origin.substr(scenario.file.size()) : origin;
}

// What the classes of a workload say of themselves.
void add_class_values(const Scenario& scenario, std::vector<ResolvedValue>& values) {
  for (std::size_t i = 0; i < scenario.workload.classes.size(); ++i) {
    Scenario one;
    one.workload = scenario.workload.classes[i].workload;
    one.slo = scenario.workload.classes[i].slo;
    for (const OptionRow& row : all_options()) {
      const std::string pointer = class_pointer(i, row.pointer);
      if (!scenario.is_given(pointer)) continue;
      values.push_back({pointer, text_of(value_of(row, one)), giver_of(pointer, scenario)});
    }
  }
}

}  // namespace

namespace {

void check_copy_rate(const Resolved& resolved) {
  const Scenario& s = resolved.scenario;
  const std::string pointer = "/engine/kv_offloading_gb_per_s";
  const bool loads = s.engine.enable_lora && s.workload.lora.count;
  if (!s.is_given(pointer) || loads || host_tier_bytes(resolved) > 0) return;
  s.refuse_unused(pointer, "; only with KV in host memory, or adapters (workload.lora)");
}

}  // namespace

Resolved resolve_system(const Scenario& scenario, const Catalog& catalog) {
  validate_system(scenario);
  return Resolver(scenario, catalog).run();
}

Resolved resolve(const Scenario& scenario, const Catalog& catalog) {
  validate(scenario);
  Resolved resolved = Resolver(scenario, catalog).run();
  check_parallel(resolved);
  check_kv_tier(resolved);
  check_copy_rate(resolved);
  check_lora(resolved);
  const std::string& calibration = resolved.scenario.cost.calibration;
  if (resolved.scenario.cost.level == "calibrated" && calibration != "auto") {
    try {
      check_fits(catalog.calibration(calibration), resolved.device);
    } catch (const ConfigError& error) {
      throw error.at(scenario.origin("/cost/calibration"), "/cost/calibration");
    }
  }
  const bool kernels = resolved.scenario.cost.level == "kernels";
  for (auto notes :
       {run_simplifications(resolved.model),
        kernels ? kernel_simplifications(resolved.model) : roofline_simplifications(resolved.model),
        parallel_warnings(resolved)}) {
    std::ranges::move(notes, std::back_inserter(resolved.warnings));
  }
  if (!resolved.engine->traits.own_calibration && resolved.scenario.cost.level == "calibrated") {
    resolved.warnings.push_back(
        fmt::format("engine {} has no measured constants: step times are those of synchronous {}",
                    resolved.engine->name, resolved.engine->cost_family));
  }
  return resolved;
}

std::vector<ResolvedValue> resolved_values(const Resolved& resolved) {
  const Scenario& s = resolved.scenario;
  std::vector<ResolvedValue> values;
  for (const OptionRow& row : all_options()) {
    const std::string pointer(row.pointer);
    if (!s.is_given(pointer) && (!applies(row, s) || !is_used(row.group, s))) continue;
    const Json value = value_of(row, s);
    std::string source = "default";
    const auto rule = resolved.rules.find(pointer);
    if (rule != resolved.rules.end()) {
      source = rule->second;
    } else if (s.is_given(pointer)) {
      source = giver_of(pointer, s);
    } else if (value.is_null()) {
      source = row.absent.empty() ? "not set" : fmt::format("not set: {}", row.absent);
    }
    values.push_back({pointer, text_of(value), source});
  }
  add_class_values(s, values);
  for (const auto& [pointer, value] : fleet_list_values(s)) {
    values.push_back({pointer, text_of(value), giver_of(pointer, s)});
  }
  return values;
}

}  // namespace headroom
