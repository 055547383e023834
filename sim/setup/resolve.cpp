#include "sim/setup/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "hardware/budget/vllm.hpp"
#include "sim/kernel/check.hpp"
#include "sim/setup/options.hpp"

namespace headroom {
namespace {

// First release with asynchronous scheduling on by default; ENGINES.md 4.
constexpr EngineVersion kAsyncDefault{0, 14};
// What the plain budget assumes for the largest forward pass of engines without a token budget.
constexpr std::int64_t kPlainStepTokens = 8192;

class Resolver {
 public:
  Resolver(const Scenario& scenario, const Catalog& catalog) : catalog_(catalog) {
    r_.scenario = scenario;
  }

  // Errors of other modules about a scenario's value get its place in front.
  template <typename Action>
  auto lookup(const std::string& pointer, Action action) -> decltype(action()) {
    try {
      return action();
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}: {}", origin(pointer), pointer, error.what()));
    }
  }

  Resolved run() {
    r_.profile = &engine_profile(r_.scenario.engine.name);
    r_.model = lookup("/model", [&] { return catalog_.model(r_.scenario.model); });
    r_.device = lookup("/device", [&] { return catalog_.device(r_.scenario.device); });
    resolve_engine();
    resolve_dtypes();
    if (is_vllm()) {
      resolve_vllm();
    } else {
      resolve_plain();
    }
    const std::string& calibration = r_.scenario.cost.calibration;
    if (r_.scenario.cost.level == "calibrated" && calibration != "auto") {
      lookup("/cost/calibration",
             [&] { check_fits(catalog_.calibration(calibration), r_.device); });
    }
    for (std::string& feature : unmodelled_features(r_.model)) {
      r_.warnings.push_back(std::move(feature));
    }
    if (!r_.profile->own_calibration && r_.scenario.cost.level == "calibrated") {
      r_.warnings.push_back(fmt::format(
          "engine {} has no measured constants: its steps are priced like those of synchronous {}",
          r_.profile->name, r_.profile->cost_family));
    }
    return std::move(r_);
  }

 private:
  [[nodiscard]] bool is_vllm() const { return r_.profile->budget == BudgetRule::vllm; }

  [[nodiscard]] std::string origin(const std::string& pointer) const {
    const auto found = r_.scenario.given.find(pointer);
    return found == r_.scenario.given.end() ? r_.scenario.file : found->second;
  }

  [[noreturn]] void refuse(const std::string& pointer, std::string_view why) const {
    throw ConfigError(fmt::format("{}: {}: {}", origin(pointer), pointer, why));
  }

  // Fills an absent option by the engine's rule, and remembers the rule.
  template <typename T, typename U>
  void fill(const std::string& pointer, std::optional<T>& option, const U& value,
            std::string_view rule) {
    if (option) return;
    option = T(value);
    const EngineProfile& p = *r_.profile;
    const std::string version = is_vllm() && r_.scenario.engine.version
                                    ? *r_.scenario.engine.version
                                    : std::string(p.version);
    r_.rules[pointer] = fmt::format("{} {}: {}", p.name, version, rule);
  }

  void resolve_engine() {
    EngineSection& e = r_.scenario.engine;
    fill("/engine/version", e.version, r_.profile->version, "newest modelled");
    fill("/engine/scheduler", e.scheduler, name_of(r_.profile->scheduler), "profile");
    fill("/engine/kv_allocator", e.kv_allocator, name_of(r_.profile->allocator), "profile");
    r_.scheduler = scheduler_kind(*e.scheduler);
    r_.allocator = allocator_kind(*e.kv_allocator);
    if (is_vllm()) {
      r_.version = lookup("/engine/version", [&] { return parse_engine_version(*e.version); });
    }
    lookup("/engine/tensor_parallel_size",
           [&] { check_tensor_parallel(r_.model, e.tensor_parallel_size); });
    const std::int64_t context = r_.model.max_position;
    fill("/engine/max_model_len", e.max_model_len, context, "the model's context length");
    r_.max_model_len = static_cast<std::int32_t>(*e.max_model_len);
    if (context > 0 && *e.max_model_len > context) {
      r_.warnings.push_back(fmt::format("max_model_len {} is beyond the model's context length {}",
                                        *e.max_model_len, context));
    }
  }

  void resolve_dtypes() {
    const EngineSection& e = r_.scenario.engine;
    r_.weights = e.dtype == "auto" ? r_.model.dtype
                                   : lookup("/engine/dtype", [&] { return parse_dtype(e.dtype); });
    if (e.kv_cache_dtype == "auto") {
      r_.kv = is_quantised(r_.weights) ? Dtype::bf16 : r_.weights;
    } else {
      r_.kv = lookup("/engine/kv_cache_dtype", [&] { return parse_dtype(e.kv_cache_dtype); });
    }
    const std::string model_rule = fmt::format("auto: {} for {}", name_of(r_.weights), r_.model.id);
    if (e.dtype == "auto") r_.rules["/engine/dtype"] = model_rule;
    if (e.kv_cache_dtype == "auto") {
      r_.rules["/engine/kv_cache_dtype"] = fmt::format("auto: {}", name_of(r_.kv));
    }
    r_.scenario.engine.dtype = name_of(r_.weights);
    r_.scenario.engine.kv_cache_dtype = name_of(r_.kv);
  }

  void resolve_vllm() {
    EngineSection& e = r_.scenario.engine;
    const VllmDefaults defaults = vllm_defaults(r_.device, r_.model, r_.version);
    const std::string by_device = fmt::format("API server default on {}", r_.device.id);
    std::int64_t tokens = defaults.max_num_batched_tokens;
    if (!e.enable_chunked_prefill) tokens = std::max<std::int64_t>(tokens, *e.max_model_len);
    fill("/engine/max_num_batched_tokens", e.max_num_batched_tokens, tokens,
         e.enable_chunked_prefill ? by_device : "whole prompts: at least max_model_len");
    fill("/engine/max_num_seqs", e.max_num_seqs,
         std::min<std::int64_t>(defaults.max_num_seqs, *e.max_num_batched_tokens), by_device);
    fill("/engine/block_size", e.block_size, defaults.block_size, "by attention kind");
    fill("/engine/async_scheduling", e.async_scheduling, r_.version >= kAsyncDefault,
         "on from 0.14");
    if (*e.max_num_batched_tokens < *e.max_num_seqs) {
      refuse("/engine/max_num_batched_tokens",
             fmt::format("value {}: expected at least max_num_seqs = {}", *e.max_num_batched_tokens,
                         *e.max_num_seqs));
    }
    if (!e.enable_chunked_prefill && *e.max_num_batched_tokens < *e.max_model_len) {
      refuse("/engine/max_num_batched_tokens",
             fmt::format("value {}: without chunked prefill expected at least max_model_len = {}",
                         *e.max_num_batched_tokens, *e.max_model_len));
    }
    r_.async_scheduling = *e.async_scheduling && r_.scheduler != SchedulerKind::static_batch;
    r_.max_num_batched_tokens = static_cast<std::int32_t>(*e.max_num_batched_tokens);
    set_common();
  }

  void resolve_plain() {
    EngineSection& e = r_.scenario.engine;
    fill("/engine/max_num_seqs", e.max_num_seqs, r_.profile->max_num_seqs, "profile");
    fill("/engine/block_size", e.block_size, 16, "profile");
    fill("/engine/async_scheduling", e.async_scheduling, false, "synchronous engine");
    r_.max_num_batched_tokens =
        static_cast<std::int32_t>(std::max(kPlainStepTokens, *e.max_model_len));
    set_common();
  }

  void set_common() {
    r_.max_num_seqs = static_cast<std::int32_t>(*r_.scenario.engine.max_num_seqs);
    r_.block_size = static_cast<std::int32_t>(*r_.scenario.engine.block_size);
  }

  const Catalog& catalog_;
  Resolved r_;
};

bool applies(const OptionRow& row, const Scenario& scenario) {
  if (row.only_with.empty()) return true;
  const std::size_t equals = row.only_with.find('=');
  const std::string_view pointer = row.only_with.substr(0, equals);
  const auto& rows = all_options();
  const auto switch_row = std::ranges::find(rows, pointer, &OptionRow::pointer);
  const std::string state = value_of(*switch_row, scenario).get<std::string>();
  const std::string wanted = fmt::format("|{}|", row.only_with.substr(equals + 1));
  return wanted.find(fmt::format("|{}|", state)) != std::string::npos;
}

}  // namespace

TimeNs ns_from_seconds(double seconds) {
  HEADROOM_CHECK(seconds >= 0 && seconds < 9.2e9, "seconds beyond the range of TimeNs");
  return static_cast<TimeNs>(seconds * 1e9 + 0.5);
}

Resolved resolve(const Scenario& scenario, const Catalog& catalog) {
  validate(scenario);
  return Resolver(scenario, catalog).run();
}

SchedulerOptions scheduler_options(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  SchedulerOptions options;
  options.max_num_seqs = resolved.max_num_seqs;
  options.max_num_batched_tokens = resolved.max_num_batched_tokens;
  options.max_model_len = resolved.max_model_len;
  options.enable_chunked_prefill = e.enable_chunked_prefill;
  options.reserve_full_isl = e.scheduler_reserve_full_isl;
  options.watermark = e.watermark;
  options.batch_wait_ns = ns_from_seconds(e.batch_wait_ms / 1e3);
  return options;
}

ReplicaOptions replica_options(const Resolved& resolved) {
  const EngineSection& e = resolved.scenario.engine;
  ReplicaOptions options;
  options.max_sequences = resolved.max_num_seqs;
  if (resolved.scheduler == SchedulerKind::vllm) {
    options.max_step_tokens = resolved.max_num_batched_tokens;
  }
  options.pipeline_depth = resolved.async_scheduling ? 2 : 1;
  options.single_step = resolved.scenario.run.single_step;
  options.responds_at_end = resolved.scheduler == SchedulerKind::static_batch && !e.stream;
  options.restart_ns = ns_from_seconds(e.restart_s);
  return options;
}

AdmissionLimits admission_limits(const Resolved& resolved, TokenCount pool_tokens) {
  AdmissionLimits limits;
  limits.max_model_len = resolved.max_model_len;
  limits.max_request_tokens = pool_tokens;
  limits.reserves_max_tokens = reserves_max_tokens(resolved.scheduler, resolved.allocator);
  return limits;
}

std::vector<ResolvedValue> resolved_values(const Resolved& resolved) {
  const Scenario& s = resolved.scenario;
  std::vector<ResolvedValue> values;
  for (const OptionRow& row : all_options()) {
    const std::string pointer(row.pointer);
    if (!applies(row, s) && !s.is_given(pointer)) continue;
    const Json value = value_of(row, s);
    std::string source = "default";
    const auto rule = resolved.rules.find(pointer);
    const auto given = s.given.find(pointer);
    if (rule != resolved.rules.end()) {
      source = rule->second;
    } else if (given != s.given.end()) {
      // Results name the scenario's file, not where it lies.
      const bool in_file = given->second == s.file;
      source = in_file ? std::filesystem::path(s.file).filename().string() : given->second;
    } else if (value.is_null()) {
      source = row.absent.empty() ? "not set" : fmt::format("not set: {}", row.absent);
    }
    values.push_back({pointer, value.dump(-1, ' ', false, Json::error_handler_t::replace), source});
  }
  return values;
}

}  // namespace headroom
