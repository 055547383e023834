#include "sim/resolve/workload_factory.hpp"
#include "scheduler/batching/policies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/kernel/seconds.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/workload_laws.hpp"
#include "workloads/adapter_source.hpp"
#include "workloads/beam_search.hpp"
#include "workloads/merged_source.hpp"
#include "workloads/parallel_samples.hpp"
#include "workloads/prompt_logprobs_source.hpp"
#include "workloads/retrying_source.hpp"
#include "workloads/servegen.hpp"
#include "workloads/synthetic_source.hpp"
#include "workloads/trace_source.hpp"
#include "workloads/traces/detect.hpp"
#include "workloads/traffic_source.hpp"

namespace headroom {
namespace {

using Account = std::function<void(WorkloadFacts&)>;

// One source of a workload. `account` may be empty.
struct Part {
  std::unique_ptr<WorkloadSource> source;
  Account account;
};

void add_count(WorkloadFacts& facts, std::string_view name, std::int64_t count) {
  if (count == 0) return;
  for (WorkloadEcho& echo : facts.counts) {
    if (echo.name != name) continue;
    std::get<std::int64_t>(echo.value) += count;
    return;
  }
  facts.counts.push_back({std::string(name), count});
}

void add_report(WorkloadFacts& facts, const TransformReport& report) {
  add_count(facts, "rows_spread_from_ties", report.ties.rows_moved);
  add_count(facts, "rows_thinned", report.thinning.rows_dropped);
  add_count(facts, "rows_with_documents", report.documents.rows);
  add_count(facts, "document_tokens", report.documents.tokens);
  add_count(facts, "thinking_tokens_added", report.tokens.thinking_tokens_added);
  add_count(facts, "prompts_capped", report.caps.prompts_cut);
  add_count(facts, "outputs_capped", report.caps.outputs_cut);
  add_count(facts, "rows_with_session_history", report.history.rows);
  add_count(facts, "rows_of_copies", report.copies.rows_added);
}

RetryOptions retry_options(const RetriesSection& section) {
  return {.max_attempts = section.max_attempts,
          .delay_ns = ns_from_seconds(*section.delay_s),
          .backoff = value_named<RetryBackoff>(
              section.backoff,
              {{"constant", RetryBackoff::constant}, {"exponential", RetryBackoff::exponential}}),
          .jitter = section.jitter,
          .on_lost_to_oom = section.on.lost_to_oom,
          .on_rejected = section.on.rejected,
          .on_cancelled = section.on.cancelled};
}

class WorkloadBuilder {
 public:
  explicit WorkloadBuilder(const Scenario& scenario) : scenario_(scenario) {}

  Workload build() {
    const WorkloadSection& section = scenario_.workload;
    std::vector<Part> parts;
    if (section.classes.empty()) {
      parts.push_back(part_of({scenario_, "/workload"}, section, 0, ""));
      if (workload_.facts.classes.empty()) workload_.facts.classes = {section.name};
    } else {
      for (const WorkloadClass& one : section.classes) {
        workload_.facts.classes.push_back(one.workload.name);
        workload_.slo.push_back(one.slo);
      }
      parts = parts_of_classes(section);
    }
    join(std::move(parts));
    if (section.prompt_logprobs_share > 0) {
      workload_.source = std::make_unique<PromptLogprobsSource>(
          std::move(workload_.source), section.prompt_logprobs_share, seed());
    }
    if (const LoraSection& lora = section.lora; lora.count) {
      workload_.source = std::make_unique<AdapterSource>(
          std::move(workload_.source), AdapterLaw{*lora.count, lora.share, lora.exponent}, seed());
    }
    if (section.n > 1) sample(section.n);
    if (section.beam_width) search(*section.beam_width);
    if (section.retries.max_attempts > 1) retry(section.retries);
    workload_.facts.max_tokens_rule = rule_text(section);
    if (section.beam_width) {
      workload_.facts.max_tokens_rule += "; for the whole search: its requests declare 1 each";
    }
    return std::move(workload_);
  }

 private:
  // --- where requests come from ---

  [[nodiscard]] static bool has_starts(const SectionPlace& place, const WorkloadSection& section) {
    return !place.scenario.given_below(place.pointer + "/arrivals").empty() ||
           section.closed_loop.users || !section.trace.file.empty() ||
           !section.servegen.directory.empty();
  }

  // A class that does not say what its clients declare follows the workload.
  [[nodiscard]] const MaxTokensSection& rule_of(const SectionPlace& place,
                                                const WorkloadSection& section) const {
    const bool own = !scenario_.given_below(place.pointer + "/max_tokens").empty();
    return own ? section.max_tokens : scenario_.workload.max_tokens;
  }

  // The rule as the sources take it. `all_declared`: the requests bring a max_tokens of their own.
  MaxTokensOptions declared_by(const SectionPlace& place, const WorkloadSection& section,
                               bool all_declared = false) {
    const MaxTokensSection& rule = rule_of(place, section);
    const bool is_open = rule.rule == "engine_default" && !all_declared;
    workload_.facts.leaves_max_tokens_open |= is_open && !section.beam_width;
    return max_tokens_options(rule);
  }

  [[nodiscard]] std::string rule_text(const WorkloadSection& section) const {
    std::string text;
    for (std::size_t i = 0; i < section.classes.size(); ++i) {
      const WorkloadSection& one = section.classes[i].workload;
      if (scenario_.given_below(class_pointer(i, "/max_tokens")).empty()) continue;
      text += fmt::format("; {}: {}", one.name, max_tokens_text(one.max_tokens));
    }
    return max_tokens_text(section.max_tokens) + text;
  }

  // Classes with starts of their own are workloads of their own; the others share one.
  std::vector<Part> parts_of_classes(const WorkloadSection& section) {
    std::vector<Part> parts;
    TrafficOptions shared = starts_of(section);
    for (std::size_t i = 0; i < section.classes.size(); ++i) {
      const WorkloadSection& one = section.classes[i].workload;
      const SectionPlace place{scenario_, class_pointer(i, "")};
      const auto id = static_cast<std::int32_t>(i);
      if (has_starts(place, one)) {
        parts.push_back(part_of(place, one, id, one.name + "/"));
        continue;
      }
      shared.classes.push_back(class_of(place, one, id));
      shared.classes.back().max_tokens = declared_by(place, one);
    }
    if (!shared.classes.empty()) {
      workload_.facts.requests += section.num_requests.value_or(0);
      parts.push_back(traffic(shared));
    }
    return parts;
  }

  Part part_of(const SectionPlace& place, const WorkloadSection& section, std::int32_t class_id,
               const std::string& stream_prefix) {
    if (!section.trace.file.empty()) return trace(place, section, class_id);
    if (!section.servegen.directory.empty()) return servegen(place, section, class_id);
    TrafficOptions options = starts_of(section);
    options.classes.push_back(class_of(place, section, class_id));
    options.max_tokens = declared_by(place, section);
    options.stream_prefix = stream_prefix;
    workload_.facts.requests += section.num_requests.value_or(0);
    return is_plain(options) ? synthetic(options) : traffic(options);
  }

  [[nodiscard]] static TrafficOptions starts_of(const WorkloadSection& section) {
    TrafficOptions options;
    options.arrivals = arrival_options(section.arrivals);
    if (section.closed_loop.users) {
      ClosedLoopOptions& loop = options.closed_loop.emplace();
      loop.users = *section.closed_loop.users;
      loop.think_time = duration_options(section.closed_loop.think_time);
      loop.start_within_s = section.closed_loop.start_within_s;
    }
    options.num_requests = section.num_requests;
    options.num_sessions = section.num_sessions;
    if (section.duration_s) options.end_ns = ns_from_seconds(*section.duration_s);
    return options;
  }

  TrafficClass class_of(const SectionPlace& place, const WorkloadSection& section,
                        std::int32_t class_id) {
    TrafficClass one = traffic_class(place, section);
    one.class_id = class_id;
    WorkloadFacts& facts = workload_.facts;
    facts.has_priorities |= one.priority != 0;
    const bool repeats = one.sessions.keeps_history && may_have_turns(one.sessions.turns);
    facts.shares_prefixes |= one.system_prompts.count > 0 || one.documents.count > 0 || repeats;
    return one;
  }

  [[nodiscard]] static bool may_have_turns(const LengthOptions& turns) {
    return turns.law != LengthLaw::fixed || turns.tokens > 1;
  }

  // What the fast source can do: requests one by one, of one kind, from an open loop.
  [[nodiscard]] static bool is_plain(const TrafficOptions& options) {
    const TrafficClass& one = options.classes.front();
    return !options.closed_loop && options.end_ns == kNever && !options.num_sessions &&
           options.stream_prefix.empty() && options.classes.size() == 1 &&
           one.system_prompts.count == 0 && one.documents.count == 0 &&
           !may_have_turns(one.sessions.turns) && !one.patience.first_token &&
           !one.patience.answer && one.priority == 0 &&
           !(one.length_correlation > 0.0 || one.length_correlation < 0.0);
  }

  // --- sources ---

  [[nodiscard]] std::uint64_t seed() const { return static_cast<std::uint64_t>(scenario_.seed); }

  Part synthetic(const TrafficOptions& options) const {
    const TrafficClass& one = options.classes.front();
    SyntheticOptions plain;
    plain.arrivals = options.arrivals;
    plain.prompt = one.prompt;
    plain.output = one.output;
    plain.joint_lengths = one.joint_lengths;
    plain.max_tokens = options.max_tokens;
    plain.num_requests = options.num_requests;
    plain.class_id = one.class_id;
    auto source = std::make_unique<SyntheticSource>(plain, seed());
    Account account = [reader = source.get()](WorkloadFacts& facts) {
      facts.outputs_cut += reader->outputs_cut();
    };
    return {std::move(source), std::move(account)};
  }

  Part traffic(const TrafficOptions& options) const {
    auto source = std::make_unique<TrafficSource>(options, seed());
    const bool has_sessions = std::ranges::any_of(options.classes, [](const TrafficClass& one) {
      return may_have_turns(one.sessions.turns);
    });
    Account account = [reader = source.get(), has_sessions](WorkloadFacts& facts) {
      const TrafficTotals& totals = reader->totals();
      facts.outputs_cut += totals.outputs_cut;
      add_count(facts, "prompts_cut", totals.prompts_cut);
      if (!has_sessions) return;
      add_count(facts, "sessions", totals.sessions_started);
      add_count(facts, "sessions_ended_by_rejection", totals.ended_rejected);
      add_count(facts, "sessions_ended_by_cancellation", totals.ended_cancelled);
      add_count(facts, "sessions_ended_by_oom", totals.ended_lost);
      add_count(facts, "sessions_ended_by_length", totals.ended_full);
      add_count(facts, "sessions_ended_by_limit", totals.ended_by_limit);
      add_count(facts, "turns_never_sent", totals.turns_dropped);
      add_count(facts, "think_pauses", totals.think_pauses);
      add_count(facts, "tool_pauses", totals.tool_pauses);
    };
    return {std::move(source), std::move(account)};
  }

  Part trace(const SectionPlace& place, const WorkloadSection& section, std::int32_t class_id) {
    const TraceSection& options = section.trace;
    const auto trace = std::make_shared<Trace>(read(place.below("trace/file"), section));
    const TransformReport report = transform(*trace, transform_options(place, section), seed());
    WorkloadFacts& facts = workload_.facts;
    add_report(facts, report);
    note_trace(*trace);
    if (options.session_input == "auto") {
      facts.guessed_turns.whole += trace->session_turns.whole;
      facts.guessed_turns.added += trace->session_turns.added;
    }
    const bool own_classes = scenario_.workload.classes.empty() && trace->classes.size() > 1;
    if (own_classes) {
      facts.classes = trace->classes;
      // Rows without a class, where others have one.
      std::ranges::replace(facts.classes, std::string(), std::string("none"));
    } else {
      for (TraceDetail& detail : trace->details) detail.class_id = 0;
    }

    TraceSourceOptions replay;
    const auto declares = [](const TraceDetail& detail) { return detail.max_tokens > 0; };
    const bool all = !trace->details.empty() && std::ranges::all_of(trace->details, declares);
    replay.max_tokens = declared_by(place, section, all);
    replay.class_id = class_id;
    if (options.sessions != "auto") {
      replay.sessions = value_named<SessionReplay>(
          options.sessions, {{"open", SessionReplay::open}, {"closed", SessionReplay::closed}});
    }
    if (section.priority != 0) {
      trace->details.resize(trace->rows.size());
      for (TraceDetail& detail : trace->details) {
        detail.priority = static_cast<std::int32_t>(section.priority);
      }
    }
    facts.has_priorities |= std::ranges::any_of(
        trace->details, [](const TraceDetail& detail) { return detail.priority != 0; });
    facts.requests += static_cast<std::int64_t>(trace->rows.size());
    auto source = std::make_unique<TraceSource>(trace, replay);
    Account account = [reader = source.get()](WorkloadFacts& after) {
      after.outputs_cut += reader->outputs_cut();
      add_count(after, "turns_never_sent", reader->turns_dropped());
    };
    return {std::move(source), std::move(account)};
  }

  Trace read(const SectionPlace& place, const WorkloadSection& section) const {
    const std::string path = place.path_of(section.trace.file);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      throw ConfigError(Complaint{.kind = ErrorKind::unreadable,
                                  .origin = scenario_.given.at(place.pointer),
                                  .pointer = place.pointer,
                                  .value = fmt::format("\"{}\"", path),
                                  .problem = "no such file; name the trace with --trace"});
    }
    return read_trace(path, trace_reading(section.trace));
  }

  void note_trace(const Trace& trace) {
    WorkloadFacts& facts = workload_.facts;
    if (facts.trace_name.empty()) {
      facts.trace_name = trace.name;
      facts.trace_format = trace.format;
      facts.trace_sha256 = trace.sha256();
    }
    if (!trace.warning.empty()) {
      facts.warnings.push_back(fmt::format("trace {}: {}", trace.name, trace.warning));
    }
    facts.rows_dropped += trace.rows_dropped.total();
    facts.rows_clamped += trace.rows_clamped.total();
    facts.shares_prefixes |= !trace.segments.empty();
    add_count(facts, "rows_outside_the_window", trace.rows_outside);
    add_count(facts, "backward_steps", trace.backward_steps);
    add_count(facts, "later_turns_read_as_whole_prompts", trace.session_turns.whole);
    add_count(facts, "later_turns_read_as_added", trace.session_turns.added);
  }

  Part servegen(const SectionPlace& place, const WorkloadSection& section, std::int32_t class_id) {
    const ServeGenSection& given = section.servegen;
    const std::string folder = place.below("servegen/directory").path_of(given.directory);
    const auto pools = std::make_shared<const ServeGenPools>(folder);
    ServeGenSourceOptions options;
    if (given.from_s) options.pools.from_ns = ns_from_seconds(*given.from_s);
    if (given.to_s) options.pools.to_ns = ns_from_seconds(*given.to_s);
    options.pools.rate_scale = given.rate_scale;
    options.max_tokens = declared_by(place, section);
    options.class_id = class_id;
    auto source = std::make_unique<ServeGenSource>(pools, options, seed());
    Account account = [reader = source.get()](WorkloadFacts& facts) {
      facts.outputs_cut += reader->outputs_cut();
      const ServeGenClientStream::Skipped skipped = reader->stream().skipped();
      add_count(facts, "windows_without_lengths", skipped.windows);
      add_count(facts, "requests_without_lengths", skipped.requests);
      add_count(facts, "lengths_clamped", skipped.clamped);
    };
    return {std::move(source), std::move(account)};
  }

  void join(std::vector<Part> parts) {
    std::vector<Account> accounts;
    std::vector<std::unique_ptr<WorkloadSource>> sources;
    for (Part& part : parts) {
      accounts.push_back(std::move(part.account));
      sources.push_back(std::move(part.source));
    }
    workload_.account = [accounts = std::move(accounts)](WorkloadFacts& facts) {
      for (const Account& account : accounts) account(facts);
    };
    if (sources.size() == 1) {
      workload_.source = std::move(sources.front());
    } else {
      workload_.source = std::make_unique<MergedSource>(std::move(sources));
    }
  }

  // Children are the requests of the run.
  void sample(std::int64_t samples) {
    workload_.facts.requests *= samples;
    workload_.facts.shares_prefixes = true;
    workload_.source = std::make_unique<ParallelSamples>(std::move(workload_.source), samples,
                                                         forks_samples(scenario_));
  }

  // The beams of every round are the requests of the run: how many shows in it.
  void search(std::int64_t beam_width) {
    auto source = std::make_unique<BeamSearch>(std::move(workload_.source), beam_width, seed());
    workload_.account = [before = std::move(workload_.account),
                         reader = source.get()](WorkloadFacts& facts) {
      before(facts);
      const BeamSearchTotals& totals = reader->totals();
      add_count(facts, "beam_searches", totals.searches);
      add_count(facts, "beam_search_rounds", totals.rounds);
      add_count(facts, "beam_searches_failed", totals.failed);
    };
    workload_.facts.requests = 0;
    workload_.facts.shares_prefixes = true;
    workload_.source = std::move(source);
  }

  void retry(const RetriesSection& section) {
    auto source = std::make_unique<RetryingSource>(std::move(workload_.source),
                                                   retry_options(section), seed());
    workload_.account = [before = std::move(workload_.account),
                         reader = source.get()](WorkloadFacts& facts) {
      before(facts);
      const RetryTotals& totals = reader->totals();
      // Of a workload whose size shows in the run: what clients wanted, each request once.
      if (facts.requests == 0) facts.requests = totals.requests;
      add_count(facts, "requests_sent_again", totals.sent_again());
      add_count(facts, "requests_sent_again_after_oom", totals.after_loss);
      add_count(facts, "requests_sent_again_after_rejection", totals.after_rejection);
      add_count(facts, "requests_sent_again_after_cancellation", totals.after_cancellation);
      add_count(facts, "requests_given_up_after_last_attempt", totals.given_up);
    };
    workload_.source = std::move(source);
  }

  const Scenario& scenario_;
  Workload workload_;
};

}  // namespace

bool forks_samples(const Scenario& scenario) {
  return batch_policy(switch_state("/engine/scheduler", scenario)).traits.forks_samples &&
         !scenario.engine.enable_prefix_caching.value_or(false);
}

Workload make_workload(const Scenario& scenario) {
  try {
    return WorkloadBuilder(scenario).build();
  } catch (const ConfigError& error) {
    if (error.complaint().pointer.starts_with("/workload")) throw;
    throw error.at(scenario.file, "/workload");
  }
}

std::string max_tokens_text(const MaxTokensSection& section) {
  if (section.rule == "value") return fmt::format("value: {} for every request", *section.value);
  if (section.rule == "times_output") {
    return fmt::format("times_output: {} x the true output", *section.times_output);
  }
  if (section.rule == "per_class") {
    std::string text = "per_class:";
    for (const std::int64_t tokens : section.per_class) text += fmt::format(" {}", tokens);
    return text;
  }
  return "engine_default: not declared, max_model_len - prompt";
}

}  // namespace headroom
