#include "sim/report/page/timeline_data.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/json/names.hpp"
#include "sim/report/page/run_data.hpp"

namespace headroom {
namespace {

constexpr std::size_t kOomMoments = 200;
constexpr std::size_t kEventsOfAKind = 100;

double timeline_seconds(TimeNs ns) { return static_cast<double>(ns) * 1e-9; }

void add_to(TimelineRow& sum, const TimelineRow& row) {
  sum.running += row.running;
  sum.waiting += row.waiting;
  sum.kv.capacity += row.kv.capacity;
  sum.kv.used += row.kv.used;
  sum.kv.reserved += row.kv.reserved;
  sum.kv.internal += row.kv.internal;
  sum.kv.external += row.kv.external;
  sum.kv.cached += row.kv.cached;
}

// Samples of all replicas are at the same times.
std::vector<TimelineRow> fleet_samples(std::span<const TimelineRow> rows) {
  std::map<TimeNs, TimelineRow> by_time;
  for (const TimelineRow& row : rows) {
    if (row.oom) continue;
    TimelineRow& sum = by_time[row.time_ns];
    sum.time_ns = row.time_ns;
    add_to(sum, row);
  }
  std::vector<TimelineRow> samples;
  samples.reserve(by_time.size());
  for (const auto& [time, row] : by_time) samples.push_back(row);
  return samples;
}

std::vector<TimelineRow> thinned(const std::vector<TimelineRow>& samples) {
  if (samples.size() <= 2 * kTimelineSlices) return samples;
  std::vector<TimelineRow> kept{samples.front()};
  const auto keep = [&](std::size_t at) {
    if (samples[at].time_ns > kept.back().time_ns) kept.push_back(samples[at]);
  };
  for (std::size_t slice = 0; slice < kTimelineSlices; ++slice) {
    const std::size_t begin = slice * samples.size() / kTimelineSlices;
    const std::size_t end = (slice + 1) * samples.size() / kTimelineSlices;
    std::size_t fullest = begin;
    std::size_t longest = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (samples[i].kv.used > samples[fullest].kv.used) fullest = i;
      if (samples[i].waiting > samples[longest].waiting) longest = i;
    }
    keep(std::min(fullest, longest));
    keep(std::max(fullest, longest));
  }
  keep(samples.size() - 1);
  return kept;
}

Json sample_row(const TimelineRow& row) {
  return Json::array({timeline_seconds(row.time_ns), row.running, row.waiting, row.kv.capacity,
                      row.kv.used, row.kv.reserved, row.kv.internal, row.kv.external,
                      row.kv.cached});
}

Json event_row(const LoggedEvent& event) {
  const auto known = [](std::int64_t value) { return value < 0 ? Json(nullptr) : Json(value); };
  const bool of_memory = event.kind == EngineEventKind::oom ||
                         event.kind == EngineEventKind::rejected ||
                         event.kind == EngineEventKind::placement_refused;
  return Json::array({timeline_seconds(event.time_ns), name_of(event.kind),
                      of_memory ? Json(name_of(event.oom)) : Json(nullptr), event.replica,
                      event.request == UINT64_MAX ? Json(nullptr) : Json(event.request),
                      event.tokens, known(event.running), known(event.waiting),
                      known(event.free_blocks)});
}

}  // namespace

Json timeline_data(std::span<const TimelineRow> rows) {
  const std::vector<TimelineRow> samples = fleet_samples(rows);
  std::uint16_t last_replica = 0;
  Json moments = Json::array();
  for (const TimelineRow& row : rows) {
    last_replica = std::max(last_replica, row.replica);
    if (!row.oom || moments.size() >= kOomMoments) continue;
    moments.push_back(Json::array({timeline_seconds(row.time_ns), row.replica}));
  }
  Json kept = Json::array();
  for (const TimelineRow& row : thinned(samples)) kept.push_back(sample_row(row));
  return {
      {"samples", samples.size()},
      {"replicas", last_replica + 1},
      {"columns",
       {"time_s", "running_requests", "waiting_requests", "kv_capacity_tokens", "kv_used_tokens",
        "kv_reserved_tokens", "kv_internal_tokens", "kv_external_tokens", "kv_cached_tokens"}},
      {"rows", std::move(kept)},
      {"oom", std::move(moments)}};
}

Json events_data(std::span<const LoggedEvent> events, double end_s) {
  const double width_s = std::max(end_s, 1e-9) / kTimeBins;
  std::array<std::vector<std::int64_t>, kEngineEventKinds> bins;
  std::array<std::int64_t, kEngineEventKinds> counts{};
  Json rows = Json::array();
  for (const LoggedEvent& event : events) {
    const auto kind = static_cast<std::size_t>(event.kind);
    if (counts[kind]++ == 0) bins[kind].resize(kTimeBins);
    const double bin = std::min(timeline_seconds(event.time_ns) / width_s, kTimeBins - 1.0);
    ++bins[kind][static_cast<std::size_t>(bin)];
    if (std::cmp_less_equal(counts[kind], kEventsOfAKind)) rows.push_back(event_row(event));
  }
  Json counts_json = Json::object();
  Json bins_json = Json::object();
  for (std::size_t kind = 0; kind < kEngineEventKinds; ++kind) {
    if (counts[kind] == 0) continue;
    const std::string name(name_of(static_cast<EngineEventKind>(kind)));
    counts_json[name] = counts[kind];
    bins_json[name] = bins[kind];
  }
  return {{"total", events.size()},
          {"counts", std::move(counts_json)},
          {"bin_s", width_s},
          {"bins", std::move(bins_json)},
          {"columns",
           {"time_s", "kind", "oom", "replica", "request", "tokens", "running", "waiting",
            "free_blocks"}},
          {"rows", std::move(rows)}};
}

}  // namespace headroom
