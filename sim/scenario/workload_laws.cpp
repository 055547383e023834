#include "sim/scenario/workload_laws.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/kernel/seconds.hpp"
#include "workloads/length_table.hpp"

namespace headroom {
namespace {

template <typename T>
using NameRow = std::pair<std::string_view, T>;

constexpr std::array kProcesses{NameRow<ArrivalProcess>{"poisson", ArrivalProcess::poisson},
                                NameRow<ArrivalProcess>{"gamma", ArrivalProcess::gamma},
                                NameRow<ArrivalProcess>{"weibull", ArrivalProcess::weibull},
                                NameRow<ArrivalProcess>{"constant", ArrivalProcess::constant},
                                NameRow<ArrivalProcess>{"all_at_once", ArrivalProcess::all_at_once},
                                NameRow<ArrivalProcess>{"vllm_bench", ArrivalProcess::vllm_bench},
                                NameRow<ArrivalProcess>{"on_off", ArrivalProcess::on_off},
                                NameRow<ArrivalProcess>{"mmpp", ArrivalProcess::mmpp},
                                NameRow<ArrivalProcess>{"piecewise", ArrivalProcess::piecewise},
                                NameRow<ArrivalProcess>{"diurnal", ArrivalProcess::diurnal},
                                NameRow<ArrivalProcess>{"ramp", ArrivalProcess::ramp}};
constexpr std::array kLengthLaws{NameRow<LengthLaw>{"fixed", LengthLaw::fixed},
                                 NameRow<LengthLaw>{"uniform", LengthLaw::uniform},
                                 NameRow<LengthLaw>{"normal", LengthLaw::normal},
                                 NameRow<LengthLaw>{"lognormal", LengthLaw::lognormal},
                                 NameRow<LengthLaw>{"gamma", LengthLaw::gamma},
                                 NameRow<LengthLaw>{"exponential", LengthLaw::exponential},
                                 NameRow<LengthLaw>{"geometric", LengthLaw::geometric},
                                 NameRow<LengthLaw>{"zipf", LengthLaw::zipf},
                                 NameRow<LengthLaw>{"empirical", LengthLaw::empirical}};
constexpr std::array kDurationLaws{NameRow<DurationLaw>{"fixed", DurationLaw::fixed},
                                   NameRow<DurationLaw>{"uniform", DurationLaw::uniform},
                                   NameRow<DurationLaw>{"exponential", DurationLaw::exponential},
                                   NameRow<DurationLaw>{"lognormal", DurationLaw::lognormal},
                                   NameRow<DurationLaw>{"gamma", DurationLaw::gamma}};
constexpr std::array kRules{NameRow<MaxTokensRule>{"engine_default", MaxTokensRule::engine_default},
                            NameRow<MaxTokensRule>{"value", MaxTokensRule::value},
                            NameRow<MaxTokensRule>{"times_output", MaxTokensRule::times_output},
                            NameRow<MaxTokensRule>{"per_class", MaxTokensRule::per_class}};
constexpr std::array kZeroTokens{NameRow<ZeroTokens>{"drop", ZeroTokens::drop},
                                 NameRow<ZeroTokens>{"clamp", ZeroTokens::clamp},
                                 NameRow<ZeroTokens>{"error", ZeroTokens::error}};
constexpr std::array kSpreads{NameRow<SpreadTies>{"none", SpreadTies::none},
                              NameRow<SpreadTies>{"even", SpreadTies::even},
                              NameRow<SpreadTies>{"random", SpreadTies::random}};

template <typename Table>
auto by_name(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Table::value_type::first);
  HEADROOM_CHECK(found != table.end(), "a name that parsing let pass: " + std::string(name));
  return found->second;
}

PiecewiseOptions piecewise_options(const ArrivalsSection& section) {
  PiecewiseOptions options;
  for (std::size_t i = 0; i < section.durations_s.size() && i < section.rates.size(); ++i) {
    options.segments.push_back({section.durations_s[i], section.rates[i]});
  }
  options.repeat = section.repeat;
  options.tail_rate_per_s = section.tail_rate;
  return options;
}

SharedTextOptions shared_text(const SectionPlace& place, const SharedTextSection& section) {
  SharedTextOptions options;
  if (!section.count) return options;
  options.count = *section.count;
  options.share = section.share;
  options.exponent = section.exponent;
  options.tokens = length_options(place.below("tokens"), section.tokens);
  return options;
}

std::optional<DurationOptions> patience(const DurationSection& section) {
  if (!section.mean_s && !section.max_s) return std::nullopt;
  return duration_options(section);
}

}  // namespace

std::string SectionPlace::path_of(const std::string& file) const {
  const auto given = scenario.given.find(pointer);
  const bool from_flag = given != scenario.given.end() && given->second.starts_with("--");
  if (from_flag || scenario.directory.empty()) return file;
  return (std::filesystem::path(scenario.directory) / file).string();
}

ArrivalOptions arrival_options(const ArrivalsSection& section) {
  ArrivalOptions options;
  options.process = by_name(kProcesses, section.process);
  options.rate_per_s = section.request_rate.value_or(1.0);
  options.burstiness = section.burstiness;
  options.weibull_shape = section.shape;
  options.on_off.on_s = section.on_s.value_or(1.0);
  options.on_off.off_s = section.off_s.value_or(1.0);
  options.on_off.periods = value_named<PeriodLaw>(
      section.periods, {{"exponential", PeriodLaw::exponential}, {"fixed", PeriodLaw::fixed}});
  options.mmpp = {section.rates, section.sojourns_s, section.transitions};
  options.piecewise = piecewise_options(section);
  options.diurnal = {section.amplitude, section.period_s, section.phase_s};
  options.ramp.end_rate_per_s = section.end_rate.value_or(1.0);
  options.ramp.ramp_s = section.ramp_s.value_or(60.0);
  options.ramp.shape = value_named<RampShape>(
      section.ramp_shape, {{"linear", RampShape::linear}, {"exponential", RampShape::exponential}});
  return options;
}

DurationOptions duration_options(const DurationSection& section) {
  DurationOptions options;
  options.law = by_name(kDurationLaws, section.law);
  options.mean_s = section.mean_s.value_or(0.0);
  options.min_s = section.min_s.value_or(0.0);
  if (section.max_s) options.max_s = *section.max_s;
  options.sigma = section.sigma.value_or(1.0);
  options.shape = section.shape.value_or(1.0);
  return options;
}

MaxTokensOptions max_tokens_options(const MaxTokensSection& section) {
  MaxTokensOptions options;
  options.rule = by_name(kRules, section.rule);
  options.value = section.value.value_or(0);
  options.times_output = section.times_output.value_or(1.0);
  options.per_class = section.per_class;
  return options;
}

LengthOptions length_options(const SectionPlace& place, const LengthSection& section,
                             bool second_column) {
  LengthOptions options;
  options.law = by_name(kLengthLaws, section.law);
  options.tokens = section.tokens.value_or(1);
  options.min = section.min.value_or(1);
  options.max = section.max.value_or(kMaxLengthTokens);
  options.median = section.median;
  options.mean = section.mean;
  options.sigma = section.sigma.value_or(0);
  options.stddev = section.stddev;
  options.shape = section.shape.value_or(1.0);
  options.exponent = section.exponent.value_or(1.0);
  options.values = section.values;
  options.weights = section.weights;
  if (!section.file.empty()) {
    LengthTable table = read_length_table(place.below("file").path_of(section.file));
    const bool second = second_column && !table.output.empty();
    options.values = second ? std::move(table.output) : std::move(table.prompt);
  }
  return options;
}

TrafficClass traffic_class(const SectionPlace& place, const WorkloadSection& section) {
  TrafficClass one;
  one.name = section.name;
  one.priority = static_cast<std::int32_t>(section.priority);
  one.share = section.share;
  one.prompt = length_options(place.below("prompt"), section.prompt);
  one.output = length_options(place.below("output"), section.output, true);
  one.length_correlation = section.length_correlation;
  one.joint_lengths = section.joint_lengths;
  one.system_prompts = shared_text(place.below("system_prompts"), section.system_prompts);
  one.documents = shared_text(place.below("documents"), section.documents);
  const SessionsSection& sessions = section.sessions;
  one.sessions.turns = length_options(place.below("sessions/turns"), sessions.turns);
  one.sessions.keeps_history = sessions.keeps_history;
  one.sessions.think_time = duration_options(sessions.think_time);
  one.sessions.tool_share = sessions.tool_share;
  one.sessions.tool_time = duration_options(sessions.tool_time);
  one.patience.first_token = patience(section.patience.first_token);
  one.patience.answer = patience(section.patience.answer);
  return one;
}

TraceOptions trace_reading(const TraceSection& section) {
  TraceOptions options;
  options.zero_tokens = by_name(kZeroTokens, section.zero_tokens);
  if (section.from_s) options.from_ns = ns_from_seconds(*section.from_s);
  if (section.to_s) options.to_ns = ns_from_seconds(*section.to_s);
  if (section.limit) options.limit = *section.limit;
  options.columns = section.columns;
  options.session_input =
      value_named<SessionInput>(section.session_input, {{"auto", SessionInput::detect},
                                                        {"whole", SessionInput::whole},
                                                        {"added", SessionInput::added}});
  return options;
}

TransformOptions transform_options(const SectionPlace& place, const WorkloadSection& section) {
  const TraceSection& trace = section.trace;
  TransformOptions options;
  if (!place.scenario.given_below(place.pointer + "/arrivals").empty()) {
    options.arrivals = arrival_options(section.arrivals);
  }
  options.spread_ties = by_name(kSpreads, trace.spread_ties);
  options.keep = trace.keep;
  options.input_tokens_factor = trace.input_tokens_factor;
  options.output_tokens_factor = trace.output_tokens_factor;
  options.thinking_tokens_factor = trace.thinking_tokens_factor;
  const LengthSection& thinking = trace.added_thinking_tokens;
  if (!place.scenario.given_below(place.pointer + "/trace/added_thinking_tokens").empty()) {
    options.added_thinking_tokens =
        length_options(place.below("trace/added_thinking_tokens"), thinking);
  }
  const LongDocumentsSection& documents = trace.long_documents;
  options.documents.share = documents.share;
  options.documents.count = documents.count.value_or(0);
  options.documents.exponent = documents.exponent;
  options.documents.tokens =
      length_options(place.below("trace/long_documents/tokens"), documents.tokens);
  options.max_prompt_tokens = trace.max_prompt_tokens;
  options.max_output_tokens = trace.max_output_tokens;
  options.session_prefix = value_named<SessionPrefix>(
      trace.session_prefix, {{"none", SessionPrefix::none}, {"history", SessionPrefix::history}});
  options.rate_scale = trace.rate_scale;
  options.copies = trace.copies;
  if (trace.copy_shift_s) options.copies_shift_ns = ns_from_seconds(*trace.copy_shift_s);
  options.copies_share_prefixes = trace.copies_share_prefixes;
  return options;
}

}  // namespace headroom
