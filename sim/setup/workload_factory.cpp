#include "sim/setup/workload_factory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/length_table.hpp"
#include "workloads/synthetic_source.hpp"
#include "workloads/trace_source.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom {
namespace {

template <typename T>
using NameRow = std::pair<std::string_view, T>;

constexpr std::array kProcesses{NameRow<ArrivalProcess>{"poisson", ArrivalProcess::poisson},
                                NameRow<ArrivalProcess>{"gamma", ArrivalProcess::gamma},
                                NameRow<ArrivalProcess>{"constant", ArrivalProcess::constant},
                                NameRow<ArrivalProcess>{"all_at_once", ArrivalProcess::all_at_once},
                                NameRow<ArrivalProcess>{"vllm_bench", ArrivalProcess::vllm_bench}};
constexpr std::array kLaws{NameRow<LengthLaw>{"fixed", LengthLaw::fixed},
                           NameRow<LengthLaw>{"uniform", LengthLaw::uniform},
                           NameRow<LengthLaw>{"lognormal", LengthLaw::lognormal},
                           NameRow<LengthLaw>{"empirical", LengthLaw::empirical}};
constexpr std::array kRules{NameRow<MaxTokensRule>{"engine_default", MaxTokensRule::engine_default},
                            NameRow<MaxTokensRule>{"value", MaxTokensRule::value},
                            NameRow<MaxTokensRule>{"times_output", MaxTokensRule::times_output},
                            NameRow<MaxTokensRule>{"per_class", MaxTokensRule::per_class}};
constexpr std::array kZeroTokens{NameRow<ZeroTokens>{"drop", ZeroTokens::drop},
                                 NameRow<ZeroTokens>{"clamp", ZeroTokens::clamp},
                                 NameRow<ZeroTokens>{"error", ZeroTokens::error}};

template <typename Table>
auto by_name(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Table::value_type::first);
  HEADROOM_CHECK(found != table.end(), "a name that parsing let pass: " + std::string(name));
  return found->second;
}

// File names of a scenario are relative to the scenario, those of a flag to the current directory.
std::string usable_path(const Scenario& scenario, const std::string& pointer,
                        const std::string& file) {
  const auto given = scenario.given.find(pointer);
  const bool from_flag = given != scenario.given.end() && given->second != scenario.file;
  if (from_flag || scenario.directory.empty()) return file;
  return (std::filesystem::path(scenario.directory) / file).string();
}

MaxTokensOptions max_tokens_options(const MaxTokensSection& section) {
  MaxTokensOptions options;
  options.rule = by_name(kRules, section.rule);
  options.value = section.value.value_or(0);
  options.times_output = section.times_output.value_or(1.0);
  options.per_class = section.per_class;
  return options;
}

LengthOptions length_options(const Scenario& scenario, const std::string& pointer,
                             const LengthSection& section, bool output) {
  LengthOptions options;
  options.law = by_name(kLaws, section.law);
  options.tokens = section.tokens.value_or(1);
  options.min = section.min.value_or(1);
  options.max = section.max.value_or(kMaxLengthTokens);
  options.median = section.median;
  options.mean = section.mean;
  options.sigma = section.sigma.value_or(0);
  options.values = section.values;
  options.weights = section.weights;
  if (!section.file.empty()) {
    const std::string place = pointer + "/file";
    LengthTable table = read_length_table(usable_path(scenario, place, section.file));
    const bool two_columns = !table.output.empty();
    options.values = output && two_columns ? std::move(table.output) : std::move(table.prompt);
  }
  return options;
}

Workload trace_workload(const Scenario& scenario) {
  const TraceSection& section = scenario.workload.trace;
  const std::string pointer = "/workload/trace/file";
  TraceOptions trace_options;
  trace_options.zero_tokens = by_name(kZeroTokens, section.zero_tokens);
  const std::string path = usable_path(scenario, pointer, section.file);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw ConfigError(fmt::format("{}: {}: value \"{}\": no such file; name the trace with --trace",
                                  scenario.given.at(pointer), pointer, path));
  }
  const auto trace = std::make_shared<const Trace>(read_trace(path, trace_options));

  TraceSourceOptions options;
  options.num_requests = section.limit;
  options.max_tokens = max_tokens_options(scenario.workload.max_tokens);
  auto source = std::make_unique<TraceSource>(trace, options);

  Workload workload;
  workload.outputs_cut = [reader = source.get()] { return reader->outputs_cut(); };
  workload.source = std::move(source);
  const auto rows = static_cast<std::int64_t>(trace->rows.size());
  workload.requests = std::min(rows, section.limit.value_or(rows));
  workload.trace_name = trace->name;
  workload.trace_format = trace->format;
  workload.trace_sha256 = trace->sha256();
  workload.rows_dropped = trace->rows_dropped.total();
  workload.rows_clamped = trace->rows_clamped.total();
  return workload;
}

Workload synthetic_workload(const Scenario& scenario) {
  const WorkloadSection& section = scenario.workload;
  SyntheticOptions options;
  options.arrivals.process = by_name(kProcesses, section.arrivals.process);
  options.arrivals.rate_per_s = section.arrivals.request_rate.value_or(1.0);
  options.arrivals.burstiness = section.arrivals.burstiness;
  options.prompt = length_options(scenario, "/workload/prompt", section.prompt, false);
  options.output = length_options(scenario, "/workload/output", section.output, true);
  options.joint_lengths = section.joint_lengths;
  options.max_tokens = max_tokens_options(section.max_tokens);
  options.num_requests = section.num_requests;

  auto source =
      std::make_unique<SyntheticSource>(options, static_cast<std::uint64_t>(scenario.seed));
  Workload workload;
  workload.outputs_cut = [reader = source.get()] { return reader->outputs_cut(); };
  workload.source = std::move(source);
  workload.requests = section.num_requests.value_or(0);
  return workload;
}

}  // namespace

Workload make_workload(const Scenario& scenario) {
  if (!scenario.workload.trace.file.empty()) return trace_workload(scenario);
  try {
    return synthetic_workload(scenario);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: /workload: {}", scenario.file, error.what()));
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
