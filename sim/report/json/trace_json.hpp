#pragma once
// The answers of `headroom trace describe` and `headroom trace check` as JSON text. Shares are of
// 1, and what a trace does not have is null or [].
//
// describe:
//   file, format, clock        "absolute", "per_session" or "none"
//   backward_step_rows         rows earlier than the row before them; the file was then sorted
//   held_in_memory             it was: sorted there, or read from a pipe
//   warning                    of the file as a whole, e.g. times in another unit
//   all, without_zero_tokens   the file's rows; those with tokens in prompt and answer:
//     rows
//     arrivals                 of rows with a time; null without a common clock:
//       rows, first_ns (by the file's clock), span_ns, rate_per_s, gap_cv (std / mean of gaps),
//       peak_to_mean (busiest aligned window of 60 s over the mean), peak_minute_rows, minutes,
//       empty_minutes, tie_rows (at the time of the row before), longest_silence_ns
//     input, output            sum_tokens, mean_tokens, p50_tokens, p90_tokens, p99_tokens (linear
//       interpolation, rounded down), max_tokens, rows_by_tokens: [{from_tokens, to_tokens, rows}]
//     input_tokens_per_output_token
//   zero_token_rows            without_prompt_rows, without_output_rows, without_both_rows
//   thinking_tokens, closed_loop_rows (sent after an answer), timeless_rows (of these)
//   classes                    [{class, rows}]
//   sessions                   sessions, rows, p50_turns, max_turns
//   later_turns                of formats that leave open what they state: whole_rows, added_rows
//   prefix                     by an endless cache of full blocks, prompts only: block_tokens, rows
//     (with identities), prefix_tokens, hit_tokens, hit_share (of all prompt tokens)
//   measured                   ttft, e2el: rows, mean_ms, p50_ms, p90_ms, p99_ms, max_ms
//   reservations               of the rows without zero tokens: requests, pool_tokens,
//     max_model_len_tokens, rules: [{rule, limit_tokens (the same for all requests),
//     mean_reserved_tokens, requests_at_once, relative_to_true_output, cut_requests (whose answer
//     ends at the limit), refused_requests (whose prompt leaves no room for one)}]
// check:
//   file, format, clock, rows, usable_rows (without zero tokens), and of each kind rows, first_row
//   and first_line (from 1; line null where a row has none): backward_steps, ties,
//   without_prompt, without_output, without_both; later_turns as in describe; warning

#include <string>
#include <string_view>

#include "sim/traces/trace_check.hpp"
#include "sim/traces/trace_profile.hpp"

namespace headroom {

[[nodiscard]] std::string trace_profile_json(const TraceProfile& profile);
[[nodiscard]] std::string trace_check_json(const TraceCheck& check);

// "absolute", ...: as JSON spells it.
[[nodiscard]] std::string_view name_of(TraceClock clock);

}  // namespace headroom
