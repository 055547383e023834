// scenario_from_metrics: each engine's names are its own (EngineMetrics).

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/engines.hpp"
#include "sim/intake/draft.hpp"
#include "sim/intake/from.hpp"
#include "sim/intake/length_histogram.hpp"
#include "sim/intake/prometheus_text.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// Several front ends have several processes; the engine is as old as the oldest.
constexpr std::string_view kProcessStart = "process_start_time_seconds";

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

bool begins(std::string_view metric, std::string_view prefixes) {
  return std::ranges::any_of(split(prefixes, '|'), [&](std::string_view prefix) {
    return !prefix.empty() && metric.starts_with(prefix);
  });
}

// "vLLM's metrics (vllm:...)"
std::string metrics_read() {
  std::string text;
  for (const Engine* engine : engines()) {
    if (engine->metrics == nullptr) continue;
    text += fmt::format("{}{}'s metrics ({}...)", text.empty() ? "" : ", ", engine->launch->title,
                        engine->metrics->prefix);
  }
  return text;
}

const Engine& engine_of(const MetricsDump& dump, const std::string& name) {
  for (const auto& [metric, samples] : dump.samples) {
    if (const Engine* engine = engine_of_metric(metric); engine != nullptr) return *engine;
  }
  for (const auto& [metric, samples] : dump.samples) {
    for (const Engine* other : engines()) {
      if (!begins(metric, other->metric_prefixes)) continue;
      throw ConfigError(
          Complaint{.origin = name,
                    .problem = fmt::format("a dump from another engine ({}): only {} can be read",
                                           metric, metrics_read())});
    }
  }
  throw ConfigError(
      Complaint{.origin = name, .problem = fmt::format("none of {} in this dump", metrics_read())});
}

const EngineMetrics& names_of(const Draft& draft) { return *draft.engine->metrics; }

void read_options(Draft& draft, const MetricsDump& dump) {
  const EngineMetrics& names = names_of(draft);
  for (const MetricLabel& row : names.labels) {
    const std::string text = dump.label(names.config, row.label);
    if (text.empty() || text == "None") continue;
    Json value = label_value(text, row.type);
    // A pool of 0 blocks is printed before the pool is sized.
    const bool nothing = value.is_null() || (value.is_number() && value <= 0);
    if (!nothing) draft.set(row.pointer, std::move(value));
  }
  if (draft.find(names.pool_option) != nullptr) {
    draft.note(
        "the KV pool has the size that the engine reports (num_gpu_blocks); remove "
        "engine.num_gpu_blocks_override to size it by the memory budget");
  } else {
    draft.note(
        fmt::format("no num_gpu_blocks in {}: the memory budget sizes the KV pool", names.config));
  }
  draft.note(
      "a dump does not contain max_model_len, max_num_seqs, max_num_batched_tokens, "
      "scheduling_policy or the parallel sizes: the engine's defaults apply unless you set them");
}

auto label_of(const MetricSample& sample, std::string_view label) {
  return sample.labels.find(std::string(label));
}

void read_model(Draft& draft, const MetricsDump& dump) {
  const EngineMetrics& names = names_of(draft);
  std::set<std::string> models;
  std::set<std::string> ranks;
  for (const auto& [metric, samples] : dump.samples) {
    if (!metric.starts_with(names.prefix)) continue;
    for (const MetricSample& sample : samples) {
      if (const auto found = label_of(sample, names.model_label); found != sample.labels.end()) {
        models.insert(found->second);
      }
      if (const auto found = label_of(sample, names.engine_label); found != sample.labels.end()) {
        ranks.insert(found->second);
      }
    }
  }
  if (!models.empty()) {
    draft.set("/model", *models.begin());
    draft.note(
        "the model has the name it is served under (model_name): if that is an alias, replace it");
  }
  if (models.size() > 1) draft.note("several models are served: their traffic is summed");
  if (ranks.size() > 1) {
    draft.set("/engine/data_parallel_size", static_cast<std::int64_t>(ranks.size()));
    draft.note(fmt::format(
        "{} engines in one dump: read as data-parallel ranks, and their traffic is summed",
        ranks.size()));
  }
}

// Requests counted in `dump`, by the histogram of their prompts.
struct Traffic {
  std::optional<LengthHistogram> prompt;
  std::optional<LengthHistogram> output;
};

Traffic traffic_of(const MetricsDump& dump, const EngineMetrics& names) {
  return {.prompt = length_histogram(dump, std::string(names.prompt_lengths)),
          .output = length_histogram(dump, std::string(names.output_lengths))};
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
      fmt::format("{:.4g} requests/s: {:.0f} requests finished in {:.0f} s ({}); arrivals are "
                  "assumed to be Poisson",
                  requests / *seconds, requests, *seconds, span));
}

void note_rest(Draft& draft, const MetricsDump& dump) {
  const LoadMetrics& load = *draft.engine->load_metrics;
  const std::optional<double> preemptions = published(dump, load.preemptions);
  if (preemptions && *preemptions > 0) {
    draft.note(
        fmt::format("{:.0f} preemptions so far: at times the KV pool was too small", *preemptions));
  }
  const std::optional<double> hits = published(dump, load.prefix_hits);
  const std::optional<double> queries = published(dump, load.prefix_queries);
  if (hits && queries && *queries > 0 && *hits > 0) {
    draft.note(
        fmt::format("{:.1f} % of prompt tokens hit the prefix cache: this scenario does not model "
                    "shared prefixes",
                    100 * *hits / *queries));
  }
  if (dump.total(names_of(draft).drafts).value_or(0) > 0) {
    draft.note("speculative decoding is in use but not modelled here");
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
  Draft draft(name);
  draft.engine = &engine_of(dump, name);
  read_model(draft, dump);
  read_options(draft, dump);
  return draft;
}

}  // namespace

FromResult scenario_from_metrics(std::istream& text, const std::string& name,
                                 const MetricsTimes& times, std::string_view release) {
  const MetricsDump dump = read_prometheus(text, name);
  Draft draft = start(dump, name);
  const Traffic traffic = traffic_of(dump, names_of(draft));
  set_lengths(draft, traffic);
  if (traffic.prompt && traffic.output) {
    const std::optional<double> started = dump.least(kProcessStart);
    const std::optional<double> taken = dump.taken_unix_s ? dump.taken_unix_s : times.taken_unix_s;
    std::optional<double> seconds;
    if (started && taken) seconds = *taken - *started;
    set_rate(draft, traffic.prompt->requests, seconds,
             "since the process started, including idle time");
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
        Complaint{.origin = name, .problem = "the process restarted between the two dumps"});
  }
  Traffic traffic = traffic_of(after, names_of(draft));
  const Traffic old = traffic_of(before, names_of(draft));
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
