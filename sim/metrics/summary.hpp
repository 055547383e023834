#pragma once
// What a run amounts to: plain structs, made from a finished recorder by a pure function.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/metrics/recorder.hpp"
#include "sim/metrics/request_counts.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "sim/metrics/windows.hpp"

namespace headroom {

// KV pools over the whole run, replicas together. Fractions are of the capacity, averaged over
// time; used + reserved + internal <= 1, external and cached are parts of the rest.
struct MemorySummary {
  TokenCount capacity_tokens = 0;
  TokenCount peak_kv_tokens = 0;    // largest of any replica
  TokenCount peak_held_tokens = 0;  // in used blocks, largest of any replica
  double peak_utilisation = 0;      // of the pool's blocks in use, largest of any replica
  double mean_utilisation = 0;      // of the pool's blocks in use = used + reserved + internal
  double mean_used = 0;
  double mean_reserved = 0;
  double mean_internal = 0;
  double mean_external = 0;
  double mean_cached = 0;
};

struct EngineSummary {
  StepCount steps = 0;
  double busy_s = 0;
  std::array<double, kCostTermCount> time_s{};  // by CostTerm; adds up to busy_s
  TokenCount prefill_tokens = 0;                // computed, recomputed ones and padding included
  TokenCount tokens_out = 0;                    // of all requests, whatever became of them
  TokenCount recomputed_tokens = 0;             // after preemptions
  std::int64_t preemptions = 0;
  TokenCount prefix_cache_queries = 0;  // tokens of requests when first admitted
  TokenCount prefix_cache_hits = 0;     // of these, found in the prefix cache
  SpeculationCounts speculation;        // no drafts: no speculative decoding
};

// One way in which memory ran out.
struct OomEntry {
  OomKind kind = OomKind::startup;
  TimeNs time_ns = 0;  // first time; thrash: end of the window
  std::uint16_t replica = 0;
  std::int64_t count = 1;  // requests concerned, where entries of a kind are counted together
  std::uint64_t request = UINT64_MAX;
  TokenCount wanted_tokens = 0;                 // thrash: recomputed in the window
  TokenCount sampled_tokens = 0;                // thrash only
  std::optional<KvSplit> kv = {};               // the pool at that moment; with run-time OOMs
  std::optional<MemoryShortage> shortage = {};  // bytes by purpose, where a ledger refused
};

// The requests of one class.
struct ClassSummary {
  std::int32_t class_id = 0;
  RequestCounts requests;
  ServingMetrics metrics;  // rates over the class's own span; no ITL
};

struct RunSummary {
  TimeNs end_ns = 0;
  RequestCounts requests;
  ServingMetrics metrics;
  WindowSummary windows;
  MemorySummary memory;
  EngineSummary engine;
  std::vector<OomEntry> ooms;         // by time, then replica
  std::vector<OomEntry> refused;      // longer than the engine takes: no lack of memory
  std::vector<ClassSummary> classes;  // by id; empty when there is one class only
};

struct SummaryOptions {
  ServingOptions serving = {};
  WindowOptions windows = {};
  std::int32_t classes = 1;  // ids are below
};

[[nodiscard]] RequestCounts count_requests(std::span<const RequestRecord> records);
[[nodiscard]] MemorySummary memory_summary(const Recorder& recorder);
[[nodiscard]] EngineSummary engine_summary(const Recorder& recorder);
// Run-time OOMs one by one; `rejected_too_long` and `fragmentation` (requests that found enough
// free blocks but no hole) as one entry each per replica; `thrash` once per replica.
[[nodiscard]] std::vector<OomEntry> oom_entries(const Recorder& recorder);
// `context_length_exceeded`: one entry per replica, by time.
[[nodiscard]] std::vector<OomEntry> refused_entries(const Recorder& recorder);

[[nodiscard]] std::vector<ClassSummary> class_summaries(std::span<const RequestRecord> records,
                                                        std::int32_t classes,
                                                        const ServingOptions& options);

// After recorder.finish(). Given a `digest`, it adds all records that are kept to that.
[[nodiscard]] RunSummary summarise(const Recorder& recorder, const SummaryOptions& options,
                                   Digest* digest = nullptr);

}  // namespace headroom
