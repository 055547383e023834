#include "workloads/merged_source.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

MergedSource::MergedSource(std::vector<std::unique_ptr<WorkloadSource>> sources)
    : sources_(std::move(sources)), taken_(sources_.size(), 0) {
  HEADROOM_CHECK(!sources_.empty(), "a merged workload has a source");
}

std::size_t MergedSource::first_source() {
  std::size_t first = 0;
  TimeNs first_ns = sources_[0]->next_time();
  for (std::size_t i = 1; i < sources_.size(); ++i) {
    const TimeNs time_ns = sources_[i]->next_time();
    if (time_ns >= first_ns) continue;
    first = i;
    first_ns = time_ns;
  }
  return first;
}

TimeNs MergedSource::next_time() { return sources_[first_source()]->next_time(); }

Arrival MergedSource::take() {
  const std::size_t source = first_source();
  Arrival arrival = sources_[source]->take();
  origins_.emplace(taken_in_all_++, Origin{.source = source, .index = taken_[source]++});
  if (source > 0 && arrival.session != kNoSession) {
    arrival.session = mixed_id(source, arrival.session);
  }
  return arrival;
}

void MergedSource::on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) {
  const auto found = origins_.find(index);
  HEADROOM_CHECK(found != origins_.end(), fmt::format("request {} leaves, unknown here", index));
  const Origin origin = found->second;
  origins_.erase(found);
  sources_[origin.source]->on_done(origin.index, outcome, now_ns);
}

}  // namespace headroom
