#pragma once
// /workload of a scenario as written: a field per option, in the units of the option.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/slo_section.hpp"

namespace headroom {

struct LengthSection {
  std::string law = "fixed";
  std::optional<std::int64_t> tokens;
  std::optional<double> median;
  std::optional<double> mean;
  std::optional<double> sigma;
  std::optional<double> stddev;
  std::optional<double> shape;
  std::optional<double> exponent;
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> weights;
  std::string file;
};

struct DurationSection {
  std::string law = "fixed";
  std::optional<double> mean_s;
  std::optional<double> sigma;
  std::optional<double> shape;
  std::optional<double> min_s;
  std::optional<double> max_s;
};

struct ArrivalsSection {
  std::string process = "poisson";
  std::optional<double> request_rate;
  double burstiness = 1;
  double shape = 1;
  std::optional<double> on_s;
  std::optional<double> off_s;
  std::string periods = "exponential";
  std::vector<double> rates;
  std::vector<double> sojourns_s;
  std::vector<double> transitions;
  std::vector<double> durations_s;
  bool repeat = false;
  double tail_rate = 0;
  double amplitude = 0.5;
  double period_s = 86400;
  double phase_s = 0;
  std::optional<double> end_rate;
  std::optional<double> ramp_s;
  std::string ramp_shape = "linear";
};

struct LongDocumentsSection {
  double share = 0;
  LengthSection tokens;
  std::optional<std::int64_t> count;
  double exponent = 0;
};

struct TraceSection {
  std::string file;
  std::string columns;
  std::optional<std::int64_t> limit;
  std::optional<double> from_s;
  std::optional<double> to_s;
  std::string zero_tokens = "drop";
  std::string sessions = "auto";
  std::string session_input = "auto";
  std::string session_prefix = "none";
  std::string spread_ties = "none";
  double keep = 1;
  double rate_scale = 1;
  std::int64_t copies = 1;
  std::optional<double> copy_shift_s;
  bool copies_share_prefixes = false;
  double input_tokens_factor = 1;
  double output_tokens_factor = 1;
  double thinking_tokens_factor = 1;
  LengthSection added_thinking_tokens;
  LongDocumentsSection long_documents;
  std::optional<std::int64_t> max_prompt_tokens;
  std::optional<std::int64_t> max_output_tokens;
};

struct ServeGenSection {
  std::string directory;
  std::optional<double> from_s;
  std::optional<double> to_s;
  double rate_scale = 1;
};

struct MaxTokensSection {
  std::string rule = "engine_default";
  std::optional<std::int64_t> value;
  std::optional<double> times_output;
  std::vector<std::int64_t> per_class;
};

struct SharedTextSection {
  std::optional<std::int64_t> count;
  double share = 1;
  double exponent = 0;
  LengthSection tokens;
};

struct SessionsSection {
  LengthSection turns;
  bool keeps_history = true;
  DurationSection think_time;
  double tool_share = 0;
  DurationSection tool_time;
};

struct PatienceSection {
  DurationSection first_token;
  DurationSection answer;
};

struct LoraSection {
  std::optional<std::int64_t> count;
  double share = 1;
  double exponent = 0;
  std::int64_t rank = 16;
};

struct RetryOutcomesSection {
  bool lost_to_oom = true;
  bool rejected = false;
  bool cancelled = true;
};

struct RetriesSection {
  std::int64_t max_attempts = 1;
  std::optional<double> delay_s;
  std::string backoff = "constant";
  double jitter = 0;
  RetryOutcomesSection on;
};

struct ClosedLoopSection {
  std::optional<std::int64_t> users;
  DurationSection think_time;
  double start_within_s = 0;
};

struct WorkloadClass;

struct WorkloadSection {
  TraceSection trace;
  ServeGenSection servegen;
  ArrivalsSection arrivals;
  ClosedLoopSection closed_loop;
  std::optional<std::int64_t> num_requests;
  std::optional<std::int64_t> num_sessions;
  std::optional<double> duration_s;
  LengthSection prompt;
  LengthSection output;
  bool joint_lengths = false;
  double length_correlation = 0;
  SharedTextSection system_prompts;
  SharedTextSection documents;
  SessionsSection sessions;
  PatienceSection patience;
  RetriesSection retries;            // of the whole workload
  double prompt_logprobs_share = 0;  // of the whole workload
  LoraSection lora;                  // of the whole workload
  MaxTokensSection max_tokens;
  std::int64_t n = 1;                      // of the whole workload
  std::optional<std::int64_t> beam_width;  // of the whole workload
  std::int64_t priority = 0;
  std::string name;  // of a class
  double share = 1;  // of a class
  std::vector<WorkloadClass> classes;
};

// A class of requests: a workload of its own, or a share of the arrivals of all.
struct WorkloadClass {
  WorkloadSection workload;
  SloSection slo;
};

}  // namespace headroom
