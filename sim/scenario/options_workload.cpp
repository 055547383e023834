// Option rows of /workload: where requests come from, what they look like, when clients give up.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "scheduler/batching/policies.hpp"
#include "sim/scenario/option_tables.hpp"

namespace headroom {
namespace {

using W = WorkloadSection;
using A = ArrivalsSection;
using M = MaxTokensSection;
using S = SessionsSection;

template <auto... Members>
constexpr auto of_workload = field<&Scenario::workload, Members...>;

constexpr Bounds kNonNegative{.low = 0, .high = 1e9};
constexpr std::string_view kWithLora = "/engine/enable_lora=true";
constexpr std::string_view kGroupLora = "/workload/lora";

constexpr std::string_view kGroupLoop = "/workload/closed_loop";
constexpr std::string_view kGroupServeGen = "/workload/servegen";
constexpr std::string_view kGroupRetries = "/workload/retries";

std::string_view with_prompt_logprobs() {
  static const std::string kCondition = fmt::format(
      "/engine/scheduler={}", fmt::join(policies_that(&BatchTraits::keeps_prompt_logprobs), "|"));
  return kCondition;
}

const OptionRow kArrivalRows[] = {
    {.pointer = "/workload/arrivals/process",
     .reach = of_workload<&W::arrivals, &A::process>,
     .choices = "poisson|gamma|weibull|constant|all_at_once|vllm_bench|on_off|mmpp|piecewise|"
                "diurnal|ramp",
     .doc = "vllm_bench: gamma, rescaled to end at n / rate"},
    {.pointer = "/workload/arrivals/request_rate",
     .reach = of_workload<&W::arrivals, &A::request_rate>,
     .unit = "requests/s",
     .bounds = kPositive,
     .doc = "mean rate; for ramp the rate at the start",
     .absent = "required",
     .only_with = "/workload/arrivals/process=poisson|gamma|weibull|constant|vllm_bench|on_off|"
                  "diurnal|ramp"},
    {.pointer = "/workload/arrivals/burstiness",
     .reach = of_workload<&W::arrivals, &A::burstiness>,
     .bounds = kPositive,
     .doc = "shape of the gamma distribution of the gaps; 1 = Poisson, below 1 is burstier",
     .only_with = "/workload/arrivals/process=gamma|vllm_bench|piecewise|diurnal|ramp"},
    {.pointer = "/workload/arrivals/shape",
     .reach = of_workload<&W::arrivals, &A::shape>,
     .bounds = {.low = 0.1, .high = 1e9},
     .doc = "shape of the Weibull distribution of the gaps; 1 = Poisson, below 1 is burstier",
     .only_with = "/workload/arrivals/process=weibull"},
    {.pointer = "/workload/arrivals/on_s",
     .reach = of_workload<&W::arrivals, &A::on_s>,
     .unit = "s",
     .bounds = kPositive,
     .doc = "mean length of a period with requests",
     .absent = "required",
     .only_with = "/workload/arrivals/process=on_off"},
    {.pointer = "/workload/arrivals/off_s",
     .reach = of_workload<&W::arrivals, &A::off_s>,
     .unit = "s",
     .bounds = kNonNegative,
     .doc = "mean length of a period without requests",
     .absent = "required",
     .only_with = "/workload/arrivals/process=on_off"},
    {.pointer = "/workload/arrivals/periods",
     .reach = of_workload<&W::arrivals, &A::periods>,
     .choices = "exponential|fixed",
     .doc = "distribution of on_s and off_s",
     .only_with = "/workload/arrivals/process=on_off"},
    {.pointer = "/workload/arrivals/rates",
     .reach = of_workload<&W::arrivals, &A::rates>,
     .unit = "requests/s",
     .bounds = kNonNegative,
     .doc = "rate in each state or segment",
     .absent = "required",
     .only_with = "/workload/arrivals/process=mmpp|piecewise"},
    {.pointer = "/workload/arrivals/sojourns_s",
     .reach = of_workload<&W::arrivals, &A::sojourns_s>,
     .unit = "s",
     .bounds = kPositive,
     .doc = "mean time in each state",
     .absent = "required",
     .only_with = "/workload/arrivals/process=mmpp"},
    {.pointer = "/workload/arrivals/transitions",
     .reach = of_workload<&W::arrivals, &A::transitions>,
     .bounds = kShare,
     .doc = "transition probabilities between the states, row by row",
     .absent = "every other state equally likely",
     .only_with = "/workload/arrivals/process=mmpp"},
    {.pointer = "/workload/arrivals/durations_s",
     .reach = of_workload<&W::arrivals, &A::durations_s>,
     .unit = "s",
     .bounds = kPositive,
     .doc = "length of each segment",
     .absent = "required",
     .only_with = "/workload/arrivals/process=piecewise"},
    {.pointer = "/workload/arrivals/repeat",
     .reach = of_workload<&W::arrivals, &A::repeat>,
     .doc = "repeat the segments after the last one",
     .only_with = "/workload/arrivals/process=piecewise"},
    {.pointer = "/workload/arrivals/tail_rate",
     .reach = of_workload<&W::arrivals, &A::tail_rate>,
     .unit = "requests/s",
     .bounds = kNonNegative,
     .doc = "rate after the last segment",
     .only_with = "/workload/arrivals/process=piecewise"},
    {.pointer = "/workload/arrivals/amplitude",
     .reach = of_workload<&W::arrivals, &A::amplitude>,
     .bounds = kShare,
     .doc = "rate = mean * (1 + amplitude * sine)",
     .only_with = "/workload/arrivals/process=diurnal"},
    {.pointer = "/workload/arrivals/period_s",
     .reach = of_workload<&W::arrivals, &A::period_s>,
     .unit = "s",
     .bounds = kPositive,
     .doc = "period of the sine",
     .only_with = "/workload/arrivals/process=diurnal"},
    {.pointer = "/workload/arrivals/phase_s",
     .reach = of_workload<&W::arrivals, &A::phase_s>,
     .unit = "s",
     .bounds = {.low = -1e9, .high = 1e9},
     .doc = "time at which the rate rises through its mean",
     .only_with = "/workload/arrivals/process=diurnal"},
    {.pointer = "/workload/arrivals/end_rate",
     .reach = of_workload<&W::arrivals, &A::end_rate>,
     .unit = "requests/s",
     .bounds = kNonNegative,
     .doc = "rate from ramp_s on",
     .absent = "required",
     .only_with = "/workload/arrivals/process=ramp"},
    {.pointer = "/workload/arrivals/ramp_s",
     .reach = of_workload<&W::arrivals, &A::ramp_s>,
     .unit = "s",
     .bounds = kPositive,
     .doc = "length of the ramp",
     .absent = "required",
     .only_with = "/workload/arrivals/process=ramp"},
    {.pointer = "/workload/arrivals/ramp_shape",
     .reach = of_workload<&W::arrivals, &A::ramp_shape>,
     .choices = "linear|exponential",
     .doc = "shape of the rate over time",
     .only_with = "/workload/arrivals/process=ramp"},

    {.pointer = "/workload/closed_loop/users",
     .reach = of_workload<&W::closed_loop, &ClosedLoopSection::users>,
     .unit = "users",
     .bounds = {.low = 1, .high = 1e7},
     .doc = "number of users, in place of arrivals; each sends the next request after the previous "
            "answer",
     .absent = "an open loop (arrivals)",
     .group = kGroupLoop},
    {.pointer = "/workload/closed_loop/start_within_s",
     .reach = of_workload<&W::closed_loop, &ClosedLoopSection::start_within_s>,
     .unit = "s",
     .bounds = kNonNegative,
     .doc = "time over which the starts of the users are spread evenly",
     .group = kGroupLoop},

    {.pointer = "/workload/servegen/directory",
     .reach = of_workload<&W::servegen, &ServeGenSection::directory>,
     .doc = "folder of a ServeGen client pool (chunk-*-trace.csv); relative to the scenario file",
     .group = kGroupServeGen},
    {.pointer = "/workload/servegen/from_s",
     .reach = of_workload<&W::servegen, &ServeGenSection::from_s>,
     .unit = "s",
     .bounds = kNonNegative,
     .doc = "beginning of the window in the pool's time",
     .absent = "0",
     .group = kGroupServeGen},
    {.pointer = "/workload/servegen/to_s",
     .reach = of_workload<&W::servegen, &ServeGenSection::to_s>,
     .unit = "s",
     .bounds = kPositive,
     .doc = "end of the window in the pool's time",
     .absent = "the end of the pool",
     .group = kGroupServeGen},
    {.pointer = "/workload/servegen/rate_scale",
     .reach = of_workload<&W::servegen, &ServeGenSection::rate_scale>,
     .bounds = kPositive,
     .doc = "factor on the rate of every client",
     .group = kGroupServeGen},
};

const OptionRow kRequestRows[] = {
    {.pointer = "/workload/num_requests",
     .reach = of_workload<&W::num_requests>,
     .unit = "requests",
     .bounds = {.low = 1, .high = 9e15},
     .doc = "number of requests of a synthetic workload",
     .absent = "required, or num_sessions, or duration_s"},
    {.pointer = "/workload/n",
     .reach = of_workload<&W::n>,
     .unit = "answers",
     .bounds = {.low = 1, .high = 128},
     .doc = "answers per prompt (parallel sampling): separate requests that arrive together and "
            "share the full blocks of the prompt if the engine caches prefixes"},
    {.pointer = "/workload/beam_width",
     .reach = of_workload<&W::beam_width>,
     .unit = "beams",
     .bounds = {.low = 2, .high = 64},
     .doc = "beams per prompt (beam search outside the engine, as with vLLM V1): one request per "
            "beam and output token, which reuses the full blocks of the one before",
     .absent = "no beam search",
     .group = "/workload/beam_width"},
    {.pointer = "/workload/num_sessions",
     .reach = of_workload<&W::num_sessions>,
     .unit = "sessions",
     .bounds = {.low = 1, .high = 9e15},
     .doc = "number of sessions of a synthetic workload, each with all its turns",
     .absent = "no limit but num_requests or duration_s",
     .group = "/workload/num_sessions"},
    {.pointer = "/workload/duration_s",
     .reach = of_workload<&W::duration_s>,
     .unit = "s",
     .bounds = kPositive,
     .doc = "time at which a synthetic workload stops sending",
     .absent = "no limit but num_requests or num_sessions"},
    {.pointer = "/workload/name",
     .reach = of_workload<&W::name>,
     .doc = "name of the class of these requests"},
    {.pointer = "/workload/share",
     .reach = of_workload<&W::share>,
     .bounds = kPositive,
     .doc = "share of a class in the common arrivals, relative to the other classes",
     .group = "/workload/share"},
    {.pointer = "/workload/priority",
     .reach = of_workload<&W::priority>,
     .bounds = {.low = -2147483648.0, .high = 2147483647},
     .doc = "priority; schedulers with priorities serve smaller numbers first",
     .group = "/workload/priority"},
    {.pointer = "/workload/joint_lengths",
     .reach = of_workload<&W::joint_lengths>,
     .doc = "draw prompt and output from the same row of an empirical table"},
    {.pointer = "/workload/length_correlation",
     .reach = of_workload<&W::length_correlation>,
     .bounds = {.low = -1, .high = 1},
     .doc = "correlation of prompt and output (Gaussian copula)"},

    {.pointer = "/workload/system_prompts/count",
     .reach = of_workload<&W::system_prompts, &SharedTextSection::count>,
     .bounds = {.low = 1, .high = 1e7},
     .doc = "number of different system prompts; prefix caches find repeated ones",
     .absent = "none",
     .group = "/workload/system_prompts"},
    {.pointer = "/workload/system_prompts/share",
     .reach = of_workload<&W::system_prompts, &SharedTextSection::share>,
     .bounds = kShare,
     .doc = "share of the sessions that have one",
     .group = "/workload/system_prompts"},
    {.pointer = "/workload/system_prompts/exponent",
     .reach = of_workload<&W::system_prompts, &SharedTextSection::exponent>,
     .bounds = {.low = 0, .high = 20},
     .doc = "popularity of the k-th ~ k^-exponent",
     .group = "/workload/system_prompts"},
    {.pointer = "/workload/documents/count",
     .reach = of_workload<&W::documents, &SharedTextSection::count>,
     .bounds = {.low = 1, .high = 1e7},
     .doc = "number of different documents, placed after the system prompt",
     .absent = "none",
     .group = "/workload/documents"},
    {.pointer = "/workload/documents/share",
     .reach = of_workload<&W::documents, &SharedTextSection::share>,
     .bounds = kShare,
     .doc = "share of the sessions that have one",
     .group = "/workload/documents"},
    {.pointer = "/workload/documents/exponent",
     .reach = of_workload<&W::documents, &SharedTextSection::exponent>,
     .bounds = {.low = 0, .high = 20},
     .doc = "popularity of the k-th ~ k^-exponent",
     .group = "/workload/documents"},

    {.pointer = "/workload/sessions/keeps_history",
     .reach = of_workload<&W::sessions, &S::keeps_history>,
     .doc = "a prompt repeats the whole conversation so far and adds the new text",
     .group = "/workload/sessions"},
    {.pointer = "/workload/sessions/tool_share",
     .reach = of_workload<&W::sessions, &S::tool_share>,
     .bounds = kShare,
     .doc = "share of the pauses between turns in which a tool runs",
     .group = "/workload/sessions"},

    {.pointer = "/workload/prompt_logprobs_share",
     .reach = of_workload<&W::prompt_logprobs_share>,
     .bounds = kShare,
     .doc = "share of the requests that ask for log-probabilities of their prompt",
     .only_with = with_prompt_logprobs()},

    {.pointer = "/workload/lora/count",
     .reach = of_workload<&W::lora, &LoraSection::count>,
     .unit = "adapters",
     .bounds = {.low = 1, .high = 1e6},
     .doc = "different LoRA adapters",
     .absent = "none",
     .only_with = kWithLora,
     .group = kGroupLora},
    {.pointer = "/workload/lora/share",
     .reach = of_workload<&W::lora, &LoraSection::share>,
     .bounds = kShare,
     .doc = "share of the sessions (or of single requests) that use an adapter",
     .only_with = kWithLora,
     .group = kGroupLora},
    {.pointer = "/workload/lora/exponent",
     .reach = of_workload<&W::lora, &LoraSection::exponent>,
     .bounds = {.low = 0, .high = 20},
     .doc = "popularity of the k-th ~ k^-exponent; 0 = all equal",
     .only_with = kWithLora,
     .group = kGroupLora},
    {.pointer = "/workload/lora/rank",
     .reach = of_workload<&W::lora, &LoraSection::rank>,
     .bounds = {.low = 1, .high = 512},
     .doc = "rank of all adapters, at most engine.max_lora_rank",
     .only_with = kWithLora,
     .group = kGroupLora},

    {.pointer = "/workload/max_tokens/rule",
     .reach = of_workload<&W::max_tokens, &M::rule>,
     .choices = "value|times_output|engine_default|per_class",
     .doc =
         "rule for the max_tokens that clients declare; matters most for engines that reserve it"},
    {.pointer = "/workload/max_tokens/value",
     .reach = of_workload<&W::max_tokens, &M::value>,
     .unit = "tokens",
     .bounds = kTokens,
     .doc = "the same max_tokens for all requests",
     .absent = "required",
     .only_with = "/workload/max_tokens/rule=value"},
    {.pointer = "/workload/max_tokens/times_output",
     .reach = of_workload<&W::max_tokens, &M::times_output>,
     .bounds = {.low = 1, .high = 1e6},
     .doc = "max_tokens as a multiple of the true output",
     .absent = "1",
     .only_with = "/workload/max_tokens/rule=times_output"},
    {.pointer = "/workload/max_tokens/per_class",
     .reach = of_workload<&W::max_tokens, &M::per_class>,
     .unit = "tokens",
     .bounds = {.low = 0, .high = 1e8},
     .doc = "one value per request class, 0 = not declared",
     .absent = "required",
     .only_with = "/workload/max_tokens/rule=per_class"},
};

using R = RetriesSection;
using O = RetryOutcomesSection;

const OptionRow kRetryRows[] = {
    {.pointer = "/workload/retries/max_attempts",
     .reach = of_workload<&W::retries, &R::max_attempts>,
     .unit = "attempts",
     .bounds = {.low = 1, .high = 1000},
     .doc = "most attempts per request, including the first; 1 = no retries",
     .group = kGroupRetries},
    {.pointer = "/workload/retries/delay_s",
     .reach = of_workload<&W::retries, &R::delay_s>,
     .unit = "s",
     .bounds = kNonNegative,
     .doc = "time from the first failure to the next attempt",
     .absent = "required",
     .group = kGroupRetries},
    {.pointer = "/workload/retries/backoff",
     .reach = of_workload<&W::retries, &R::backoff>,
     .choices = "constant|exponential",
     .doc = "how the delay grows; exponential doubles it with each attempt",
     .group = kGroupRetries},
    {.pointer = "/workload/retries/jitter",
     .reach = of_workload<&W::retries, &R::jitter>,
     .bounds = kShare,
     .doc = "random share of each delay: uniform between (1 - jitter) x delay and the delay",
     .group = kGroupRetries},
    {.pointer = "/workload/retries/on/lost_to_oom",
     .reach = of_workload<&W::retries, &R::on, &O::lost_to_oom>,
     .doc = "retry if the engine died while it held the request, out of memory or by a fault",
     .group = kGroupRetries},
    {.pointer = "/workload/retries/on/rejected",
     .reach = of_workload<&W::retries, &R::on, &O::rejected>,
     .doc = "retry if the request was rejected, even if it is too long",
     .group = kGroupRetries},
    {.pointer = "/workload/retries/on/cancelled",
     .reach = of_workload<&W::retries, &R::on, &O::cancelled>,
     .doc = "retry if the client's patience ended",
     .group = kGroupRetries},
};

void add_laws(RowTable& table) {
  constexpr auto kSection = &Scenario::workload;
  add_length_rows<kSection, &W::prompt>(table, {"/workload/prompt", "prompt lengths", "tokens"});
  add_length_rows<kSection, &W::output>(table, {"/workload/output", "output lengths", "tokens"});
  add_length_rows<kSection, &W::system_prompts, &SharedTextSection::tokens>(
      table, {"/workload/system_prompts/tokens", "system prompt lengths", "tokens",
              "/workload/system_prompts"});
  add_length_rows<kSection, &W::documents, &SharedTextSection::tokens>(
      table, {"/workload/documents/tokens", "document lengths", "tokens", "/workload/documents"});
  add_length_rows<kSection, &W::sessions, &S::turns>(
      table,
      {"/workload/sessions/turns", "requests per session", "requests", "/workload/sessions"});
  add_duration_rows<kSection, &W::sessions, &S::think_time>(
      table, {"/workload/sessions/think_time", "pauses between turns", "s",
              "/workload/sessions/think_time"});
  add_duration_rows<kSection, &W::sessions, &S::tool_time>(
      table, {"/workload/sessions/tool_time", "pauses in which a tool runs", "s",
              "/workload/sessions/tool_time"});
  add_duration_rows<kSection, &W::closed_loop, &ClosedLoopSection::think_time>(
      table, {"/workload/closed_loop/think_time", "pauses between a user's sessions", "s",
              "/workload/closed_loop/think_time"});
  add_duration_rows<kSection, &W::patience, &PatienceSection::first_token>(
      table, {"/workload/patience/first_token", "the time clients wait for a first token", "s",
              "/workload/patience/first_token"});
  add_duration_rows<kSection, &W::patience, &PatienceSection::answer>(
      table, {"/workload/patience/answer", "the time clients wait for the whole answer", "s",
              "/workload/patience/answer"});
}

}  // namespace

std::span<const OptionRow> workload_options() {
  static const RowTable table = [] {
    RowTable all;
    for (const OptionRow& row : trace_options()) all.add(row);
    for (const OptionRow& row : kArrivalRows) all.add(row);
    for (const OptionRow& row : kRequestRows) all.add(row);
    for (const OptionRow& row : kRetryRows) all.add(row);
    add_laws(all);
    return all;
  }();
  return table.rows();
}

}  // namespace headroom
