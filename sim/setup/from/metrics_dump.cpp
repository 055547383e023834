// scenario_from_metrics: names and labels of vLLM's metrics by ENGINES.md 7.2 and
// vllm/v1/metrics/loggers.py.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/kernel/errors.hpp"
#include "sim/setup/from/draft.hpp"
#include "sim/setup/from/from.hpp"
#include "sim/setup/from/length_histogram.hpp"
#include "sim/setup/from/prometheus_text.hpp"
#include "sim/setup/from/values.hpp"

namespace headroom {
namespace {

constexpr std::string_view kConfig = "vllm:cache_config_info";
constexpr std::string_view kPromptLengths = "vllm:request_prompt_tokens";
constexpr std::string_view kOutputLengths = "vllm:request_generation_tokens";
// Several front ends have several processes; the engine is as old as the oldest.
constexpr std::string_view kProcessStart = "process_start_time_seconds";

enum class LabelType { integer, number, text, boolean };

// Labels of cache_config_info that are options under the same name, or another.
struct LabelRow {
  std::string_view label;
  std::string_view pointer;
  LabelType type;
};
constexpr std::array kLabels{
    LabelRow{"gpu_memory_utilization", "/engine/gpu_memory_utilization", LabelType::number},
    LabelRow{"cache_dtype", "/engine/kv_cache_dtype", LabelType::text},
    LabelRow{"block_size", "/engine/block_size", LabelType::integer},
    LabelRow{"enable_prefix_caching", "/engine/enable_prefix_caching", LabelType::boolean},
    LabelRow{"kv_cache_memory_bytes", "/engine/kv_cache_memory_bytes", LabelType::integer},
    LabelRow{"num_gpu_blocks", "/engine/num_gpu_blocks_override", LabelType::integer},
};

Json label_value(const std::string& text, LabelType type) {
  switch (type) {
    case LabelType::integer:
      if (const auto value = whole_number(text)) return *value;
      break;
    case LabelType::number:
      if (const auto value = decimal_number(text)) return *value;
      break;
    case LabelType::boolean:
      if (const auto value = switch_value(text)) return *value;
      break;
    case LabelType::text: return text;
  }
  return nullptr;
}

void check_engine(const MetricsDump& dump, const std::string& name) {
  constexpr std::array<std::string_view, 5> kOthers{"sglang:", "trtllm_", "tgi_",
                                                    "llamacpp:", "nv_trt_llm_"};
  for (const auto& [metric, samples] : dump.samples) {
    if (metric.starts_with("vllm:")) return;
  }
  for (const auto& [metric, samples] : dump.samples) {
    for (const std::string_view other : kOthers) {
      if (metric.starts_with(other)) {
        throw ConfigError(Complaint{
            .origin = name,
            .problem = fmt::format(
                "a dump of another engine ({}): only vLLM's metrics (vllm:...) are read", metric)});
      }
    }
  }
  throw ConfigError(
      Complaint{.origin = name, .problem = "no metric of vLLM (vllm:...) in this dump"});
}

void read_options(Draft& draft, const MetricsDump& dump) {
  for (const LabelRow& row : kLabels) {
    const std::string text = dump.label(kConfig, row.label);
    if (text.empty() || text == "None") continue;
    Json value = label_value(text, row.type);
    // A pool of 0 blocks is printed before the pool is sized.
    const bool nothing = value.is_null() || (value.is_number() && value <= 0);
    if (!nothing) draft.set(row.pointer, std::move(value));
  }
  if (draft.find("/engine/num_gpu_blocks_override") != nullptr) {
    draft.note(
        "the KV pool is taken as the engine found it (num_gpu_blocks), not from a memory budget: "
        "remove engine.num_gpu_blocks_override to compare with the budget");
  } else {
    draft.note(
        fmt::format("no num_gpu_blocks in {}: the memory budget sizes the KV pool", kConfig));
  }
  draft.note(
      "a dump names neither max_model_len, max_num_seqs, max_num_batched_tokens, scheduling_policy "
      "nor the parallel sizes: the engine's defaults are used unless you set them");
}

void read_model(Draft& draft, const MetricsDump& dump) {
  std::set<std::string> models;
  std::set<std::string> engines;
  for (const auto& [metric, samples] : dump.samples) {
    if (!metric.starts_with("vllm:")) continue;
    for (const MetricSample& sample : samples) {
      if (const auto found = sample.labels.find("model_name"); found != sample.labels.end()) {
        models.insert(found->second);
      }
      if (const auto found = sample.labels.find("engine"); found != sample.labels.end()) {
        engines.insert(found->second);
      }
    }
  }
  if (!models.empty()) {
    draft.set("/model", *models.begin());
    draft.note("the model is named as it is served (model_name): an alias must be replaced");
  }
  if (models.size() > 1) draft.note("several models are served: their traffic is added up");
  if (engines.size() > 1) {
    draft.set("/engine/data_parallel_size", static_cast<std::int64_t>(engines.size()));
    draft.note(fmt::format("{} engines in one dump: taken as data parallel ones, traffic added up",
                           engines.size()));
  }
}

// Requests counted in `dump`, by the histogram of their prompts.
struct Traffic {
  std::optional<LengthHistogram> prompt;
  std::optional<LengthHistogram> output;
};

Traffic traffic_of(const MetricsDump& dump) {
  return {.prompt = length_histogram(dump, std::string(kPromptLengths)),
          .output = length_histogram(dump, std::string(kOutputLengths))};
}

void set_lengths(Draft& draft, const Traffic& traffic) {
  if (!traffic.prompt || !traffic.output) {
    draft.note("no request has finished in this dump: add \"workload\"");
    return;
  }
  const LengthSectionJson prompt = length_section(*traffic.prompt);
  const LengthSectionJson output = length_section(*traffic.output);
  draft.set("/workload/prompt", prompt.section);
  draft.set("/workload/output", output.section);
  draft.note("prompt lengths: " + prompt.assumption);
  draft.note("output lengths: " + output.assumption);
  draft.note("prompt and output lengths are drawn independently of each other");
  draft.set("/workload/num_requests", static_cast<std::int64_t>(traffic.prompt->requests));
}

void set_rate(Draft& draft, double requests, std::optional<double> seconds, std::string_view span) {
  if (!seconds || *seconds <= 0) {
    draft.note("the request rate is not known: set workload.arrivals.request_rate");
    return;
  }
  draft.set("/workload/arrivals", {{"process", "poisson"}, {"request_rate", requests / *seconds}});
  draft.note(
      fmt::format("{:.4g} requests/s: {:.0f} requests that finished in {:.0f} s ({}); "
                  "arrivals are taken as Poisson",
                  requests / *seconds, requests, *seconds, span));
}

void note_rest(Draft& draft, const MetricsDump& dump) {
  const std::optional<double> preemptions = dump.total("vllm:num_preemptions_total");
  if (preemptions && *preemptions > 0) {
    draft.note(fmt::format("{:.0f} preemptions so far: the KV pool has been too small at times",
                           *preemptions));
  }
  const std::optional<double> hits = dump.total("vllm:prefix_cache_hits_total");
  const std::optional<double> queries = dump.total("vllm:prefix_cache_queries_total");
  if (hits && queries && *queries > 0 && *hits > 0) {
    draft.note(
        fmt::format("{:.1f} % of prompt tokens hit the prefix cache: prompts that share "
                    "prefixes are not part of this scenario",
                    100 * *hits / *queries));
  }
  if (dump.total("vllm:spec_decode_num_drafts_total").value_or(0) > 0) {
    draft.note("speculative decoding is in use and not modelled");
  }
}

// A difference of two dumps in which something was counted backwards.
bool counts_less(const std::optional<LengthHistogram>& difference) {
  if (!difference) return false;
  const auto negative = [](double count) { return count < 0; };
  return negative(difference->requests) || negative(difference->sum) ||
         std::ranges::any_of(difference->counts, negative);
}

Draft start(const MetricsDump& dump, const std::string& name) {
  check_engine(dump, name);
  Draft draft(name);
  draft.engine = &kVllmFlags;
  read_model(draft, dump);
  read_options(draft, dump);
  return draft;
}

}  // namespace

FromResult scenario_from_metrics(std::istream& text, const std::string& name,
                                 const MetricsTimes& times, std::string_view release) {
  const MetricsDump dump = read_prometheus(text, name);
  Draft draft = start(dump, name);
  const Traffic traffic = traffic_of(dump);
  set_lengths(draft, traffic);
  if (traffic.prompt && traffic.output) {
    const std::optional<double> started = dump.least(kProcessStart);
    const std::optional<double> taken = dump.taken_unix_s ? dump.taken_unix_s : times.taken_unix_s;
    std::optional<double> seconds;
    if (started && taken) seconds = *taken - *started;
    set_rate(draft, traffic.prompt->requests, seconds, "since the process started, idle time too");
  }
  note_rest(draft, dump);
  return finished(std::move(draft), release);
}

FromResult scenario_from_metrics(std::istream& earlier, std::istream& later,
                                 const std::string& name, const MetricsTimes& times,
                                 std::string_view release) {
  const MetricsDump before = read_prometheus(earlier, name + " (earlier)");
  const MetricsDump after = read_prometheus(later, name);
  Draft draft = start(after, name);
  if (before.least(kProcessStart) != after.least(kProcessStart)) {
    throw ConfigError(
        Complaint{.origin = name, .problem = "the process started anew between the two dumps"});
  }
  Traffic traffic = traffic_of(after);
  const Traffic old = traffic_of(before);
  if (traffic.prompt && old.prompt) traffic.prompt = difference(*traffic.prompt, *old.prompt);
  if (traffic.output && old.output) traffic.output = difference(*traffic.output, *old.output);
  if (counts_less(traffic.prompt) || counts_less(traffic.output)) {
    throw ConfigError(Complaint{
        .origin = name, .problem = "the later dump counts fewer requests than the earlier"});
  }
  if (traffic.prompt && traffic.prompt->requests <= 0) traffic = {};
  set_lengths(draft, traffic);
  const std::optional<double> from =
      before.taken_unix_s ? before.taken_unix_s : times.earlier_unix_s;
  const std::optional<double> to = after.taken_unix_s ? after.taken_unix_s : times.taken_unix_s;
  if (traffic.prompt && traffic.output) {
    std::optional<double> seconds;
    if (from && to) seconds = *to - *from;
    set_rate(draft, traffic.prompt->requests, seconds, "between the two dumps");
  }
  note_rest(draft, after);
  return finished(std::move(draft), release);
}

}  // namespace headroom
