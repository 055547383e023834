#include "sim/setup/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "hardware/cost/roofline.hpp"
#include "hardware/llm/hf_config.hpp"
#include "hardware/llm/parameters.hpp"
#include "hardware/llm/quantization_method.hpp"
#include "sim/kernel/check.hpp"
#include "sim/setup/fleet_options.hpp"
#include "sim/setup/kv_tier.hpp"
#include "sim/setup/lora.hpp"
#include "sim/setup/options.hpp"
#include "sim/setup/parallel.hpp"
#include "sim/setup/resolver.hpp"

namespace headroom {
namespace {

// One token of prompt and one of output.
constexpr std::int64_t kShortestLength = 2;

}  // namespace

Resolver::Resolver(const Scenario& scenario, const Catalog& catalog) : catalog_(catalog) {
  r_.scenario = scenario;
}

Resolved Resolver::run() {
  r_.profile = &engine_profile(r_.scenario.engine.name);
  resolve_parts();
  find_model();
  find_machine();
  resolve_formats();
  const Sharding& split = r_.sharding;
  const auto check = [&](const char* pointer, const Sharding& part) {
    lookup(pointer, [&] { check_sharding(r_.model, part); });
  };
  check("/engine/pipeline_parallel_size", {1, split.pipeline, 1, false});
  if (split.expert_parallel) {
    check("/engine/enable_expert_parallel", {1, 1, split.tensor * split.data, true});
  }
  check("/engine/tensor_parallel_size", {split.tensor, 1, 1, split.expert_parallel});
  switch (r_.profile->budget) {
    case BudgetRule::vllm: resolve_vllm(); break;
    case BudgetRule::trtllm: resolve_trtllm(); break;
    case BudgetRule::sglang: resolve_sglang(); break;
    case BudgetRule::tgi: resolve_tgi(); break;
    case BudgetRule::hf_generate: resolve_hf(); break;
    case BudgetRule::fastertransformer: resolve_fastertransformer(); break;
    case BudgetRule::llamacpp: resolve_llamacpp(); break;
    case BudgetRule::ollama: resolve_ollama(); break;
    case BudgetRule::orca_paper: resolve_orca(); break;
    case BudgetRule::plain: resolve_plain(); break;
  }
  resolve_restart();
  check_run_options();
  resolve_speculation();
  resolve_lora();
  for (const std::string& note : r_.model.notes) {
    r_.warnings.push_back(fmt::format("{}: {}", r_.model.id, note));
  }
  return std::move(r_);
}

void Resolver::note_rule(const std::string& pointer, std::string_view rule) {
  const std::string version = r_.scenario.engine.version.value_or("");
  r_.rules[pointer] =
      fmt::format("{}{}{}: {}", r_.profile->name, version.empty() ? "" : " ", version, rule);
}

void Resolver::resolve_parts() {
  EngineSection& e = r_.scenario.engine;
  fill("/engine/version", e.version, r_.profile->version, "the profile's");
  if (r_.profile->versioned) {
    r_.version = lookup("/engine/version", [&] { return parse_engine_version(*e.version); });
  }
  const SchedulerKind own = scheduler_of(*r_.profile, r_.version);
  fill("/engine/scheduler", e.scheduler, name_of(own),
       own == r_.profile->scheduler ? "profile" : "V0 before 0.8");
  const bool reserved = r_.profile->budget == BudgetRule::hf_generate &&
                        parse_hf_cache(e.cache_implementation) == HfCache::fixed;
  fill("/engine/kv_allocator", e.kv_allocator,
       name_of(reserved ? AllocatorKind::contiguous : r_.profile->allocator), "profile");
  r_.scheduler = scheduler_kind(*e.scheduler);
  r_.allocator = allocator_kind(*e.kv_allocator);
  resolve_scheduler();
  std::ranges::sort(e.preferred_batch_size);
  r_.sharding = {e.tensor_parallel_size, e.pipeline_parallel_size, e.data_parallel_size,
                 e.enable_expert_parallel};
}

void Resolver::check_run_options() const {
  const EngineSection& e = r_.scenario.engine;
  for (const std::int64_t size : e.preferred_batch_size) {
    if (size <= r_.max_num_seqs) continue;
    r_.scenario.refuse("/engine/preferred_batch_size",
                       fmt::format("{}: no batch has more than {} requests", size, r_.max_num_seqs),
                       ErrorKind::value);
  }
  const auto given = [&](const char* pointer) { return r_.scenario.is_given(pointer); };
  if (given("/engine/enable_partial_reuse") && !e.enable_block_reuse) {
    r_.scenario.refuse_unused("/engine/enable_partial_reuse", "; only with enable_block_reuse");
  }
  const bool parts = e.enable_block_reuse && e.enable_partial_reuse;
  if (given("/engine/copy_on_partial_reuse") && !parts) {
    r_.scenario.refuse_unused("/engine/copy_on_partial_reuse", "; only with enable_partial_reuse");
  }
}

// Weights are read again, all ranks from one store; a process that starts anew imports its
// libraries, compiles from warm caches and captures its graphs in about kProcessStartS (estimate).
void Resolver::resolve_restart() {
  constexpr double kProcessStartS = 15;
  const double gb = static_cast<double>(checkpoint_bytes(r_.model)) / 1e9;
  const double rate = r_.scenario.environment.storage_gb_per_s;
  // vLLM, SGLang, TensorRT-LLM, TGI and llama.cpp end with their queues when a worker dies; a
  // static batch is formed by whoever calls the engine.
  const bool outside = r_.scheduler == SchedulerKind::static_batch;
  fill("/engine/queue_survives", r_.scenario.engine.queue_survives, outside,
       outside ? "the queue stands before the engine" : "the queue is the engine's own");
  fill("/engine/restart_s", r_.scenario.engine.restart_s, kProcessStartS + gb / rate,
       fmt::format("{} s of process start + {:.1f} GB of weights at {} GB/s", kProcessStartS, gb,
                   rate));
}

// Defaults that belong to a scheduler, whatever the engine.
void Resolver::resolve_scheduler() {
  EngineSection& e = r_.scenario.engine;
  const SchedulerKind kind = r_.scheduler;
  const bool v0 = kind == SchedulerKind::vllm_v0 || kind == SchedulerKind::sarathi;
  if (kind == SchedulerKind::vllm || kind == SchedulerKind::tgi || kind == SchedulerKind::vllm_v0 ||
      kind == SchedulerKind::trtllm) {
    const bool on = kind == SchedulerKind::vllm || kind == SchedulerKind::tgi;
    fill("/engine/enable_chunked_prefill", e.enable_chunked_prefill, on,
         fmt::format("{} by default in scheduler {}", on ? "on" : "off", name_of(kind)));
  }
  if (v0 || kind == SchedulerKind::vllm) {
    fill("/engine/enable_prefix_caching", e.enable_prefix_caching, !v0,
         fmt::format("{} by default in scheduler {}", v0 ? "off" : "on", name_of(kind)));
    fill("/engine/watermark", e.watermark, v0 ? 0.01 : 0.0,
         fmt::format("default of scheduler {}", name_of(kind)));
  }
  if (kind == SchedulerKind::tgi && r_.profile->budget != BudgetRule::tgi) {  // else by attention
    fill("/engine/enable_prefix_caching", e.enable_prefix_caching,
         r_.allocator == AllocatorKind::paged, "on by default in scheduler tgi, on blocks");
  }
  if (r_.profile->budget == BudgetRule::vllm) {
    // V0 kept cached blocks apart and took them last; V1 did so again from 2026 on. The release is
    // an estimate (ENGINES.md 2.1 says the year).
    const bool plain_first = r_.version < kVllmV1 || r_.version >= EngineVersion{0, 15};
    fill("/engine/free_plain_blocks_first", e.free_plain_blocks_first, plain_first,
         "before V1, and from 0.15");
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
  return name.ends_with(".json") || name.starts_with('.') || name.starts_with('/');
}

}  // namespace

void Resolver::find_model() {
  const Scenario& s = r_.scenario;
  std::filesystem::path overrides;
  if (!s.model_override.empty()) {
    overrides = existing_path(s, s.model_override);
    if (overrides.empty())
      r_.scenario.refuse("/model_override", s.model_override + ": no such file",
                         ErrorKind::unreadable);
  }
  lookup("/model", [&] {
    const bool known = catalog_.has_model(s.model);
    const std::filesystem::path path = known ? "" : existing_path(s, s.model);
    if (!path.empty()) {
      r_.model = load_hf_config(path, overrides);
    } else if (!known && looks_like_path(s.model)) {
      throw ConfigError(fmt::format("{}: no such file or folder", s.model), ErrorKind::unreadable);
    } else {
      r_.model = catalog_.model(s.model, overrides);
    }
  });
}

// What the host holds takes nothing of a device that has memory of its own.
void Resolver::check_host_figures() const {
  if (r_.device.memory_model == MemoryModel::unified) return;
  const Environment& env = r_.environment;
  const auto refuse_given = [&](std::string_view name, std::string_view only_with) {
    const std::string pointer = fmt::format("/environment/{}", name);
    if (!r_.scenario.is_given(pointer)) return;
    r_.scenario.refuse_unused(pointer,
                              fmt::format(": {} has memory of its own, of which the host takes "
                                          "nothing{}",
                                          r_.device.id, only_with));
  };
  constexpr std::string_view kInstead =
      "; what other processes hold on the device comes off device.memory_total_gib";
  for (const std::string_view name :
       {"system_gib", "processes_gib", "page_cache_gib", "checkpoint_cache_share", "free_metric"}) {
    refuse_given(name, kInstead);
  }
  if (env.memory_limit_bytes) return;
  if (!env.shm_size_bytes)
    refuse_given("tmpfs_gib", "; only with shm_size_gib or memory_limit_gib");
  refuse_given("engine_host_gib", "; only with memory_limit_gib");
}

void Resolver::find_machine() {
  const DeviceSection& d = r_.scenario.device;
  r_.device = lookup("/device/name", [&] { return catalog_.device(d.name); });
  if (d.memory_total_gib) r_.device.memory_reported_bytes = bytes_from_gib(*d.memory_total_gib);
  const EnvironmentSection& e = r_.scenario.environment;
  Environment& env = r_.environment;
  env = lookup("/environment/name", [&] { return catalog_.environment(e.name); });
  const auto replace = [](const std::optional<double>& gib, ByteCount& bytes) {
    if (gib) bytes = bytes_from_gib(*gib);
  };
  replace(e.system_gib, env.system_bytes);
  replace(e.processes_gib, env.processes_bytes);
  replace(e.tmpfs_gib, env.tmpfs_bytes);
  replace(e.page_cache_gib, env.page_cache_bytes);
  replace(e.engine_host_gib, env.engine_host_bytes);
  if (e.shm_size_gib) env.shm_size_bytes = bytes_from_gib(*e.shm_size_gib);
  if (e.memory_limit_gib) env.memory_limit_bytes = bytes_from_gib(*e.memory_limit_gib);
  if (e.checkpoint_cache_share) env.checkpoint_cache_share = *e.checkpoint_cache_share;
  const bool shared = r_.device.memory_model == MemoryModel::unified;
  check_host_figures();
  if (e.host_growth_mib_per_hour > 0 && !shared && !env.memory_limit_bytes) {
    r_.scenario.refuse_unused("/environment/host_growth_mib_per_hour",
                              ": the host's memory has no size here; give the container's limit "
                              "(environment.memory_limit_gib)");
  }
  if (r_.scenario.is_given("/environment/reboot_s") && !shared) {
    r_.scenario.refuse_unused("/environment/reboot_s",
                              ": only device allocations in shared memory stop a machine");
  }
}

void Resolver::resolve_formats() {
  EngineSection& e = r_.scenario.engine;
  r_.model.max_position =
      static_cast<std::int64_t>(static_cast<double>(r_.model.max_position) * e.rope_scaling_factor);
  const Dtype declared = r_.model.dtype;
  if (e.dtype != "auto") r_.model = with_dtype(std::move(r_.model), parse_dtype(e.dtype));
  if (e.quantization != "auto") {
    r_.model = lookup("/engine/quantization",
                      [&] { return loaded_as(std::move(r_.model), e.quantization); });
  }
  if (e.dtype == "auto") {
    r_.rules["/engine/dtype"] = fmt::format("auto: {} for {}", name_of(declared), r_.model.id);
    e.dtype = name_of(declared);
  }
  if (e.quantization == "auto") {
    const Dtype main = main_dtype(r_.model);
    r_.rules["/engine/quantization"] = fmt::format("auto: the checkpoint's, {}", name_of(main));
    e.quantization = name_of(main);
  }
  r_.kv = r_.model.kv_dtype.value_or(r_.model.dtype);
  if (e.kv_cache_dtype != "auto") {
    r_.kv = lookup("/engine/kv_cache_dtype", [&] { return parse_dtype(e.kv_cache_dtype); });
  } else {
    r_.rules["/engine/kv_cache_dtype"] = fmt::format(
        "auto: {}{}", name_of(r_.kv), r_.model.kv_dtype ? ", declared by the checkpoint" : "");
    e.kv_cache_dtype = name_of(r_.kv);
  }
}

void Resolver::fill_length(const std::string& pointer, std::optional<std::int64_t>& option,
                           bool strict) {
  const EngineSection& e = r_.scenario.engine;
  const std::int64_t trained = r_.model.max_position;  // engine.rope_scaling_factor included
  const bool given = option.has_value();
  fill(pointer, option, trained, "the model's context length");
  if (*option < kShortestLength) {
    r_.scenario.refuse_value(
        pointer, fmt::format("{}{}", *option, given ? "" : " (the model's context length)"),
        fmt::format(
            "expected at least {} tokens{}", kShortestLength,
            r_.profile->budget == BudgetRule::vllm ? ", or -1 for the longest that fits" : ""));
  }
  if (trained == 0 || *option <= trained) return;
  const std::string beyond =
      fmt::format("{} was trained for {} tokens", r_.model.id, r_.model.max_position);
  if (strict && !e.allow_long_max_model_len) {
    r_.scenario.refuse_value(pointer, fmt::to_string(*option),
                             fmt::format("{}; scale its rope (engine.rope_scaling_factor) or set "
                                         "engine.allow_long_max_model_len",
                                         beyond));
  }
  r_.warnings.push_back(fmt::format("{}: value {}: {}", pointer.substr(1), *option, beyond));
}

void Resolver::set_common(std::int64_t length, std::int64_t sequences, std::int64_t step_tokens,
                          std::int64_t block) {
  r_.max_model_len = static_cast<std::int32_t>(length);
  r_.max_num_seqs = static_cast<std::int32_t>(sequences);
  r_.max_num_batched_tokens = static_cast<std::int32_t>(step_tokens);
  r_.block_size = static_cast<std::int32_t>(block);
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

TimeNs ns_from_seconds(double seconds) {
  HEADROOM_CHECK(seconds >= 0 && seconds < 9.2e9, "seconds beyond the range of TimeNs");
  return static_cast<TimeNs>(seconds * 1e9 + 0.5);
}

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
  for (auto notes : {run_simplifications(resolved.model), parallel_warnings(resolved)}) {
    std::ranges::move(notes, std::back_inserter(resolved.warnings));
  }
  if (!resolved.profile->own_calibration && resolved.scenario.cost.level == "calibrated") {
    resolved.warnings.push_back(fmt::format(
        "engine {} has no measured constants: its steps are priced like those of synchronous {}",
        resolved.profile->name, resolved.profile->cost_family));
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
