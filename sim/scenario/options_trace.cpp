// Option rows of /workload/trace: a recorded trace and what is done to it before it is replayed.

#include "sim/scenario/option_tables.hpp"

namespace headroom {
namespace {

using W = WorkloadSection;
using T = TraceSection;
using D = LongDocumentsSection;

template <auto... Members>
constexpr auto of_trace = field<&Scenario::workload, &W::trace, Members...>;

constexpr Bounds kTraceSeconds{.low = 0, .high = 9e9};
constexpr std::string_view kGroup = "/workload/trace";
constexpr std::string_view kDocuments = "/workload/trace/long_documents";

const OptionRow kTraceRows[] = {
    {.pointer = "/workload/trace/file",
     .reach = of_trace<&T::file>,
     .doc = "trace file in any known format, plain or gzip; relative to the scenario file",
     .group = kGroup},
    {.pointer = "/workload/trace/columns",
     .reach = of_trace<&T::columns>,
     .doc = "what the columns of a table are, where their names do not say it: "
            "time=ts:s,in=prompt,out=completion,status=code (units s, ms, us, ns; of dates mdy, "
            "dmy)",
     .absent = "by their names",
     .group = kGroup},
    {.pointer = "/workload/trace/from_s",
     .reach = of_trace<&T::from_s>,
     .unit = "s",
     .bounds = kTraceSeconds,
     .doc = "use only rows from this time of the trace on",
     .absent = "all",
     .group = kGroup},
    {.pointer = "/workload/trace/to_s",
     .reach = of_trace<&T::to_s>,
     .unit = "s",
     .bounds = kTraceSeconds,
     .doc = "use only rows before this time of the trace",
     .absent = "all",
     .group = kGroup},
    {.pointer = "/workload/trace/limit",
     .reach = of_trace<&T::limit>,
     .unit = "requests",
     .bounds = {.low = 1, .high = 9e15},
     .doc = "use only this many rows, from the beginning",
     .absent = "all",
     .group = kGroup},
    {.pointer = "/workload/trace/zero_tokens",
     .reach = of_trace<&T::zero_tokens>,
     .choices = "drop|clamp|error",
     .doc = "what to do with rows of 0 tokens: drop them, count 0 as 1, or refuse the trace",
     .group = kGroup},
    {.pointer = "/workload/trace/sessions",
     .reach = of_trace<&T::sessions>,
     .choices = "auto|open|closed",
     .doc = "send a later turn at its recorded time (open), or after the previous answer (closed)",
     .group = kGroup},
    {.pointer = "/workload/trace/session_input",
     .reach = of_trace<&T::session_input>,
     .choices = "auto|whole|added",
     .doc = "what a later turn of a Mooncake file holds: the whole prompt, or only the added text",
     .group = kGroup},
    {.pointer = "/workload/trace/session_prefix",
     .reach = of_trace<&T::session_prefix>,
     .choices = "none|history",
     .doc = "whether the prompt of a turn begins with the previous turn and its answer",
     .group = kGroup},
    {.pointer = "/workload/trace/spread_ties",
     .reach = of_trace<&T::spread_ties>,
     .choices = "none|even|random",
     .doc = "spread rows with equal times up to the next time",
     .group = kGroup},
    {.pointer = "/workload/trace/keep",
     .reach = of_trace<&T::keep>,
     .bounds = {.low = 0, .high = 1, .low_open = true},
     .doc = "share of the rows (or sessions) to keep",
     .group = kGroup},
    {.pointer = "/workload/trace/rate_scale",
     .reach = of_trace<&T::rate_scale>,
     .bounds = kPositive,
     .doc = "all times are divided by this",
     .group = kGroup},
    {.pointer = "/workload/trace/copies",
     .reach = of_trace<&T::copies>,
     .bounds = {.low = 1, .high = 1e6},
     .doc = "number of copies of the trace replayed at once, each shifted cyclically",
     .group = kGroup},
    {.pointer = "/workload/trace/copy_shift_s",
     .reach = of_trace<&T::copy_shift_s>,
     .unit = "s",
     .bounds = kTraceSeconds,
     .doc = "shift between one copy and the next",
     .absent = "span / copies",
     .group = kGroup},
    {.pointer = "/workload/trace/copies_share_prefixes",
     .reach = of_trace<&T::copies_share_prefixes>,
     .doc = "prompts of different copies may share prefixes",
     .group = kGroup},
    {.pointer = "/workload/trace/input_tokens_factor",
     .reach = of_trace<&T::input_tokens_factor>,
     .bounds = kPositive,
     .doc = "prompt tokens of the simulated model per prompt token of the trace (for another "
            "tokenizer)",
     .group = kGroup},
    {.pointer = "/workload/trace/output_tokens_factor",
     .reach = of_trace<&T::output_tokens_factor>,
     .bounds = kPositive,
     .doc = "the same for output tokens",
     .group = kGroup},
    {.pointer = "/workload/trace/thinking_tokens_factor",
     .reach = of_trace<&T::thinking_tokens_factor>,
     .bounds = {.low = 0, .high = 1e9},
     .doc = "the same for thinking tokens, if the trace lists them separately",
     .group = kGroup},
    {.pointer = "/workload/trace/max_prompt_tokens",
     .reach = of_trace<&T::max_prompt_tokens>,
     .unit = "tokens",
     .bounds = kTokens,
     .doc = "longer prompts are cut",
     .absent = "no cut",
     .group = kGroup},
    {.pointer = "/workload/trace/max_output_tokens",
     .reach = of_trace<&T::max_output_tokens>,
     .unit = "tokens",
     .bounds = kTokens,
     .doc = "longer outputs are cut",
     .absent = "no cut",
     .group = kGroup},
    {.pointer = "/workload/trace/long_documents/share",
     .reach = of_trace<&T::long_documents, &D::share>,
     .bounds = kShare,
     .doc = "share of the rows with a document before their prompt",
     .group = kDocuments},
    {.pointer = "/workload/trace/long_documents/count",
     .reach = of_trace<&T::long_documents, &D::count>,
     .bounds = {.low = 1, .high = 1e7},
     .doc = "number of different documents; prefix caches find repeated ones",
     .absent = "a new document for each row",
     .group = kDocuments},
    {.pointer = "/workload/trace/long_documents/exponent",
     .reach = of_trace<&T::long_documents, &D::exponent>,
     .bounds = {.low = 0, .high = 20},
     .doc = "popularity of the k-th ~ k^-exponent",
     .group = kDocuments},
};

}  // namespace

std::span<const OptionRow> trace_options() {
  static const RowTable table = [] {
    RowTable all;
    for (const OptionRow& row : kTraceRows) all.add(row);
    add_length_rows<&Scenario::workload, &W::trace, &T::added_thinking_tokens>(
        all, {"/workload/trace/added_thinking_tokens", "tokens added to every output", "tokens",
              "/workload/trace/added_thinking_tokens"});
    add_length_rows<&Scenario::workload, &W::trace, &T::long_documents, &D::tokens>(
        all, {"/workload/trace/long_documents/tokens", "document lengths", "tokens", kDocuments});
    return all;
  }();
  return table.rows();
}

}  // namespace headroom
