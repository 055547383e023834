#include "sim/metrics/run_digest.hpp"

#include "sim/kernel/digest.hpp"
#include "sim/metrics/record_digest.hpp"
#include "sim/metrics/record_walk.hpp"

namespace headroom {

namespace {

// Two values in one word; both stay apart whatever they are.
std::uint64_t pack(std::int32_t high, std::int32_t low) {
  return (std::uint64_t{static_cast<std::uint32_t>(high)} << 32) | static_cast<std::uint32_t>(low);
}

void add_itl(Digest& digest, const ItlMeter& itl) {
  digest.add(itl.count());
  digest.add(itl.sum_ticks());
  digest.add(static_cast<Int128>(itl.sum_squares().low()));
  digest.add(itl.sum_squares().high());
  const LogHistogram& histogram = itl.histogram_ns();
  for (std::size_t i = 0; i < histogram.bucket_end(); ++i) {
    if (histogram.count_in(i) == 0) continue;
    digest.add(i);
    digest.add(histogram.count_in(i));
  }
}

void add_replica(Digest& digest, const ReplicaMeters& meters) {
  for (std::size_t t = 0; t < kCostTermCount; ++t) {
    digest.add(meters.cost.term(static_cast<CostTerm>(t)));
  }
  digest.add(meters.cost.busy_ticks());
  digest.add(meters.cost.steps());
  digest.add(meters.cost.prefill_tokens());
  const KvIntegrals& kv = meters.kv.integrals();
  for (const Int128 integral : {kv.total_blocks, kv.used_blocks, kv.external_blocks,
                                kv.cached_blocks, kv.kv_tokens, kv.reserved_tokens}) {
    digest.add(integral);
  }
  digest.add(meters.kv.observed_ticks());
  digest.add(meters.kv.capacity_blocks());
  digest.add(meters.kv.peak_used_blocks());
  digest.add(meters.kv.peak_kv_tokens());
  for (const ThrashWindow& window : meters.thrash.windows()) {
    digest.add(window.number);
    digest.add(window.sampled_tokens);
    digest.add(window.recomputed_tokens);
  }
}

void add_timeline(Digest& digest, const Timeline& timeline) {
  digest.add(timeline.interval_ns());
  for (std::size_t i = 0; i < timeline.replicas(); ++i) {
    const auto rows = timeline.rows(static_cast<std::uint16_t>(i));
    digest.add(rows.size());
    for (const TimelineRow& row : rows) {
      for (const std::int64_t value : {row.time_ns, static_cast<std::int64_t>(row.oom), row.running,
                                       row.waiting, row.kv.capacity, row.kv.used, row.kv.reserved,
                                       row.kv.internal, row.kv.external, row.kv.cached}) {
        digest.add(value);
      }
    }
  }
}

void add_events(Digest& digest, const EventLog& log) {
  // Those behind are entries of the log, one by one.
  constexpr auto kCounted = static_cast<std::size_t>(EngineEventKind::crashed);
  for (std::size_t kind = 0; kind < kCounted; ++kind) {
    digest.add(log.count(static_cast<EngineEventKind>(kind)));
  }
  for (const LoggedEvent& event : log.events()) {
    digest.add(
        pack((static_cast<std::uint8_t>(event.kind) << 8) | static_cast<std::uint8_t>(event.oom),
             event.replica));
    digest.add(event.time_ns);
    digest.add(event.until_ns);
    digest.add(event.request);
    digest.add(event.tokens);
    digest.add(event.running);
    digest.add(event.waiting);
    digest.add(event.free_blocks);
  }
}

}  // namespace

std::string run_digest(const Recorder& recorder) {
  Digest digest = begin_run_digest(recorder);
  walk(recorder.records(), [&](const RequestRecord& record) { add_record(digest, record); });
  return end_run_digest(digest, recorder);
}

Digest begin_run_digest(const Recorder& recorder) {
  Digest digest;
  digest.add(recorder.end_ns());
  if (const RequestStream* stream = recorder.stream()) {
    digest.add(recorder.totals().counts().arrived);
    digest.add(std::string_view(stream->digest().hex()));
  } else {
    digest.add(recorder.records().size());
  }
  return digest;
}

std::string end_run_digest(Digest digest, const Recorder& recorder) {
  add_itl(digest, recorder.itl());
  digest.add(recorder.population().integral_ns());
  digest.add(recorder.replicas());
  for (std::size_t i = 0; i < recorder.replicas(); ++i) {
    add_replica(digest, recorder.replica(static_cast<std::uint16_t>(i)));
  }
  add_timeline(digest, recorder.timeline());
  add_events(digest, recorder.events());
  return digest.hex();
}

}  // namespace headroom
