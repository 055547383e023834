#include "sim/metrics/summary.hpp"

#include <algorithm>
#include <tuple>

namespace headroom {

RequestCounts count_requests(std::span<const RequestRecord> records) {
  RequestCounts counts;
  for (const RequestRecord& record : records) counts.add(record.outcome);
  return counts;
}

MemorySummary memory_summary(const Recorder& recorder) {
  MemorySummary summary;
  Int128 capacity = 0;  // all in tokens x ticks
  Int128 held = 0;
  Int128 used = 0;
  Int128 reserved = 0;
  Int128 external = 0;
  Int128 cached = 0;
  for (std::size_t i = 0; i < recorder.replicas(); ++i) {
    const KvMeter& kv = recorder.replica(static_cast<std::uint16_t>(i)).kv;
    const TokenCount block = kv.block_tokens();
    capacity += kv.integrals().total_blocks * block;
    held += kv.integrals().used_blocks * block;
    external += kv.integrals().external_blocks * block;
    cached += kv.integrals().cached_blocks * block;
    used += kv.integrals().kv_tokens;
    reserved += kv.integrals().reserved_tokens;
    summary.capacity_tokens += kv.capacity_blocks() * block;
    summary.peak_kv_tokens = std::max(summary.peak_kv_tokens, kv.peak_kv_tokens());
    summary.peak_held_tokens = std::max(summary.peak_held_tokens, kv.peak_used_blocks() * block);
    if (kv.capacity_blocks() > 0) {
      summary.peak_utilisation =
          std::max(summary.peak_utilisation, static_cast<double>(kv.peak_used_blocks()) /
                                                 static_cast<double>(kv.capacity_blocks()));
    }
  }
  if (capacity == 0) return summary;
  const auto share = [&](Int128 part) {
    return static_cast<double>(part) / static_cast<double>(capacity);
  };
  summary.mean_utilisation = share(held);
  summary.mean_used = share(used);
  summary.mean_reserved = share(reserved);
  summary.mean_internal = share(held - used - reserved);
  summary.mean_external = share(external);
  summary.mean_cached = share(cached);
  return summary;
}

EngineSummary engine_summary(const Recorder& recorder) {
  EngineSummary summary;
  std::array<TickSum, kCostTermCount> terms{};
  TickSum busy = 0;
  for (std::size_t i = 0; i < recorder.replicas(); ++i) {
    const ReplicaMeters& meters = recorder.replica(static_cast<std::uint16_t>(i));
    for (std::size_t t = 0; t < kCostTermCount; ++t) {
      terms[t] += meters.cost.term(static_cast<CostTerm>(t));
    }
    busy += meters.cost.busy_ticks();
    summary.steps += meters.cost.steps();
    summary.prefill_tokens += meters.cost.prefill_tokens();
    summary.recomputed_tokens += meters.thrash.recomputed_tokens();
    summary.speculation.add(meters.speculation.counts());
  }
  constexpr double kSecondsPerTick = 1e-9 / static_cast<double>(kTicksPerNs);
  summary.busy_s = static_cast<double>(busy) * kSecondsPerTick;
  for (std::size_t t = 0; t < kCostTermCount; ++t) {
    summary.time_s[t] = static_cast<double>(terms[t]) * kSecondsPerTick;
  }
  summary.tokens_out = recorder.totals().tokens_out();
  summary.prefix_cache_queries = recorder.events().prefix_queries();
  summary.prefix_cache_hits = recorder.events().prefix_hits();
  summary.preemptions = recorder.events().count(EngineEventKind::preempted);
  return summary;
}

namespace {

// Requests that were turned away: those that were too long for the context, or all others.
void add_turned_away(const Recorder& recorder, bool context, std::vector<OomEntry>& entries) {
  for (const TurnedAway& group : recorder.events().turned_away()) {
    if ((group.first.oom == OomKind::context_length_exceeded) != context) continue;
    entries.push_back({.kind = group.first.oom,
                       .time_ns = group.first.time_ns,
                       .replica = group.first.replica,
                       .count = group.count,
                       .request = group.first.request,
                       .wanted_tokens = group.first.tokens,
                       .kv = {}});
  }
}

void sort_entries(std::vector<OomEntry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const OomEntry& a, const OomEntry& b) {
    return std::tie(a.time_ns, a.replica) < std::tie(b.time_ns, b.replica);
  });
}

}  // namespace

std::vector<OomEntry> oom_entries(const Recorder& recorder) {
  std::vector<OomEntry> entries;
  for (const OomMoment& oom : recorder.events().ooms()) {
    entries.push_back({.kind = oom.kind,
                       .time_ns = oom.time_ns,
                       .replica = oom.replica,
                       .request = oom.request,
                       .wanted_tokens = oom.wanted_tokens,
                       .kv = oom.state ? std::optional(split_of(*oom.state)) : std::nullopt,
                       .shortage = oom.shortage});
  }
  add_turned_away(recorder, false, entries);
  for (std::size_t i = 0; i < recorder.replicas(); ++i) {
    const auto number = static_cast<std::uint16_t>(i);
    const auto window = recorder.replica(number).thrash.first_thrashing(recorder.end_ns());
    if (!window) continue;
    entries.push_back({.kind = OomKind::thrash,
                       .time_ns = (window->number + 1) * kThrashWindowNs,
                       .replica = number,
                       .wanted_tokens = window->recomputed_tokens,
                       .sampled_tokens = window->sampled_tokens,
                       .kv = {}});
  }
  sort_entries(entries);
  return entries;
}

std::vector<OomEntry> refused_entries(const Recorder& recorder) {
  std::vector<OomEntry> entries;
  add_turned_away(recorder, true, entries);
  sort_entries(entries);
  return entries;
}

std::vector<ClassSummary> class_summaries(std::span<const RequestRecord> records,
                                          std::int32_t classes, const ServingOptions& options) {
  std::vector<ClassSummary> summaries;
  if (classes < 2) return summaries;
  std::vector<std::vector<RequestRecord>> by_class(static_cast<std::size_t>(classes));
  for (const RequestRecord& record : records) by_class.at(record.class_id).push_back(record);
  for (std::int32_t id = 0; id < classes; ++id) {
    const std::vector<RequestRecord>& own = by_class[static_cast<std::size_t>(id)];
    ServingOptions limits = options;
    limits.goodput = options.limits_of(id);
    limits.class_goodput.clear();
    summaries.push_back({id, count_requests(own), serving_metrics(own, nullptr, limits)});
  }
  return summaries;
}

namespace {

void summarise_stream(const RequestStream& stream, const Recorder& recorder, RunSummary& summary) {
  const bool with_goodput = stream.serving().has_goodput();
  summary.metrics = stream.total().metrics(&recorder.itl(), with_goodput);
  summary.windows = stream.windows(recorder.end_ns());
  for (std::size_t id = 0; id < stream.classes().size(); ++id) {
    const ServingTotals& own = stream.classes()[id];
    const auto number = static_cast<std::int32_t>(id);
    const bool has_limits = stream.serving().limits_of(number).any();
    summary.classes.push_back({number, own.counts(), own.metrics(nullptr, has_limits)});
  }
}

void summarise_table(const Recorder& recorder, const SummaryOptions& options, RunSummary& summary,
                     Digest* digest) {
  const auto records = recorder.records();
  summary.windows = windows_of(records, recorder.end_ns(), options.windows, digest);
  const std::array<WindowReport*, 3> windows{&summary.windows.warmup, &summary.windows.steady,
                                             &summary.windows.drain};
  std::array<std::size_t, 3> sizes{};
  for (std::size_t i = 0; i < windows.size(); ++i) {
    sizes[i] = static_cast<std::size_t>(windows[i]->arrived);
  }
  const MetricsByPart metrics =
      serving_metrics_by_part(records, sizes, &recorder.itl(), options.serving);
  summary.metrics = metrics.all;
  for (std::size_t i = 0; i < windows.size() && !records.empty(); ++i) {
    windows[i]->metrics = metrics.parts[i];
  }
  summary.classes = class_summaries(records, options.classes, options.serving);
}

}  // namespace

RunSummary summarise(const Recorder& recorder, const SummaryOptions& options, Digest* digest) {
  RunSummary summary;
  summary.end_ns = recorder.end_ns();
  summary.requests = recorder.totals().counts();
  if (const RequestStream* stream = recorder.stream()) {
    summarise_stream(*stream, recorder, summary);
  } else {
    summarise_table(recorder, options, summary, digest);
  }
  summary.memory = memory_summary(recorder);
  summary.engine = engine_summary(recorder);
  summary.ooms = oom_entries(recorder);
  summary.refused = refused_entries(recorder);
  return summary;
}

}  // namespace headroom
