#include "workloads/trace_transform.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "sim/kernel/decimal_factor.hpp"
#include "sim/kernel/errors.hpp"
#include "workloads/length_laws/length_quantile.hpp"
#include "workloads/session_rows.hpp"
#include "workloads/transforms/row_draws.hpp"
#include "workloads/transforms/row_order.hpp"

namespace headroom {
namespace {

constexpr double kMaxTokensFactor = 1000.0;
constexpr double kMaxRateScale = 1'000'000.0;
constexpr std::string_view kThinking = "lengths/thinking";

struct Factors {
  explicit Factors(const TransformOptions& options)
      : input(options.input_tokens_factor, kMaxTokensFactor, "trace: input_tokens_factor"),
        output(options.output_tokens_factor, kMaxTokensFactor, "trace: output_tokens_factor"),
        thinking(options.thinking_tokens_factor, kMaxTokensFactor, "trace: thinking_tokens_factor"),
        rate(options.rate_scale, kMaxRateScale, "trace: rate_scale") {}

  DecimalFactor input;
  DecimalFactor output;
  DecimalFactor thinking;
  DecimalFactor rate;
};

void check_arrivals(const Trace& trace, const TransformOptions& options) {
  const bool has_times = trace.clock == TraceClock::absolute;
  if (has_times && options.arrivals) {
    throw ConfigError(
        "trace: arrivals: the trace has its own arrival times, so no rate is "
        "set (--rate); rate_scale (--set workload.trace.rate_scale=2) makes them denser");
  }
  if (!has_times && !options.arrivals) {
    throw ConfigError(
        fmt::format("trace: arrivals: required (--rate), because the trace has no arrival times{}",
                    trace.clock == TraceClock::per_session ? " for its sessions" : ""));
  }
}

void check_cap(std::optional<std::int64_t> cap, std::string_view option) {
  if (!cap || (*cap >= 1 && *cap <= INT32_MAX)) return;
  throw ConfigError(
      fmt::format("trace: {} is {}; allowed: 1 .. {} tokens", option, *cap, INT32_MAX));
}

void check(const Trace& trace, const TransformOptions& options) {
  check_arrivals(trace, options);
  if (!(options.keep > 0.0 && options.keep <= 1.0)) {  // nan is neither
    throw ConfigError(fmt::format("trace: keep is {}; allowed: above 0, at most 1", options.keep));
  }
  if (options.added_thinking_tokens) {
    static_cast<void>(length_quantile(*options.added_thinking_tokens, kThinking));
  }
  check_documents(options.documents);
  check_cap(options.max_prompt_tokens, "max_prompt_tokens");
  check_cap(options.max_output_tokens, "max_output_tokens");
  const auto rows = static_cast<Int128>(trace.rows.size());
  if (options.copies < 1 || rows * options.copies >= kNoRow) {
    throw ConfigError(
        fmt::format("trace: copies is {}; allowed: 1 or more, less than {} rows in all ({} in one)",
                    options.copies, kNoRow, trace.rows.size()));
  }
  if (options.copies_shift_ns.value_or(0) < 0) {
    throw ConfigError(
        fmt::format("trace: copies_shift is {} ns; allowed: 0 or more", *options.copies_shift_ns));
  }
}

void scale_rate(Trace& trace, const DecimalFactor& factor) {
  if (factor.is_one()) return;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    TimeNs& time_ns = trace.rows[i].time_ns;
    time_ns = checked_instant(trace, i, factor.quotient(time_ns), "rate_scale");
  }
}

}  // namespace

TransformReport transform(Trace& trace, const TransformOptions& options, std::uint64_t seed) {
  check(trace, options);
  const Factors factors(options);
  TransformReport report;
  report.rows_before = static_cast<std::int64_t>(trace.rows.size());
  if (options.arrivals) report.arrivals = give_arrivals(trace, *options.arrivals, seed);
  report.ties = spread_ties(trace, options.spread_ties, seed);
  std::vector<bool> kept;  // empty: all
  if (options.keep < 1.0) {
    kept = thinned_rows(trace, options.keep, seed, report.thinning);
    keep_rows(trace, kept);
  }
  scale_prompts(trace, factors.input, report.tokens);
  scale_outputs(trace, factors.output, factors.thinking, report.tokens);
  if (options.added_thinking_tokens) {
    const RowsThere rows(trace, kept);
    add_thinking(trace, drawn_lengths(rows, *options.added_thinking_tokens, seed, kThinking),
                 report.tokens);
  }
  std::vector<std::int32_t> document_tokens;
  if (options.documents.share > 0.0) {
    document_tokens = add_documents(trace, options.documents, kept, seed, report.documents);
  }
  report.caps = cap_lengths(trace, options.max_prompt_tokens, options.max_output_tokens);
  if (options.session_prefix == SessionPrefix::history) {
    report.history = give_history(trace, document_tokens);
  }
  scale_rate(trace, factors.rate);
  report.copies =
      superpose(trace, options.copies, options.copies_shift_ns, options.copies_share_prefixes);
  report.rows_after = static_cast<std::int64_t>(trace.rows.size());
  return report;
}

}  // namespace headroom
