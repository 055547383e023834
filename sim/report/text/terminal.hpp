#pragma once
// The summary a person reads: at most 80 columns, human units, warnings included.

#include <string>

#include "sim/resolve/run_verdict.hpp"

namespace headroom {

// `where` says where the files are; empty: nowhere. `verbose`: with the sources of constants.
[[nodiscard]] std::string terminal_summary(const RunResult& result, const RunVerdict& verdict,
                                           const std::string& where, bool verbose = false);
// "DOES NOT HOLD: overloaded: serves 2.90 of 5.00 requests/s; the KV pool is full", wrapped.
[[nodiscard]] std::string verdict_line(const RunVerdict& verdict);
// What `check` prints: what would run, and whether it starts.
[[nodiscard]] std::string terminal_check(const RunResult& result);

// "measured mean TTFT was 23 % lower to 11 % higher than simulated (10 runs of other models)".
[[nodiscard]] std::string accuracy_text(const ExpectedError& error);
// Whose runs the ranges were measured on, in a word: this model's ("measured"), or others.
[[nodiscard]] std::string accuracy_word(const ExpectedError& error);

// Mean, median, p90 and p99 of TTFT, TPOT, ITL and E2E, a line for each.
[[nodiscard]] std::string latency_table(const ServingMetrics& metrics);

// "55.0 GiB", "812 MiB"
[[nodiscard]] std::string human_bytes(ByteCount bytes);
// "8.25 GiB per device", "448.00 MiB per device and 704.00 MiB in host memory": what the KV pool of
// a device takes, with `where` that is, and what of the cache the host holds.
[[nodiscard]] std::string kv_place_text(const MemoryBudget& budget, const std::string& where);
// "1,234,567"
[[nodiscard]] std::string human_count(std::int64_t count);
// "12.3 ms", "1.20 s"
[[nodiscard]] std::string human_ms(double ms);

}  // namespace headroom
