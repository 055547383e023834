#include "sim/metrics/request_stream.hpp"

#include <algorithm>
#include <cmath>

#include "sim/kernel/check.hpp"
#include "sim/metrics/record_digest.hpp"

namespace headroom {

namespace {
constexpr std::size_t kMostSlots = 40;
constexpr TimeNs kFirstWidthNs = 1'000'000;
}  // namespace

RequestStream::RequestStream(ServingOptions serving, WindowOptions windows, std::int32_t classes)
    : serving_(std::move(serving)), windows_(windows), width_ns_(kFirstWidthNs) {
  if (classes > 1) classes_.resize(static_cast<std::size_t>(classes));
}

std::size_t RequestStream::slot_of(TimeNs t) const {
  return t <= origin_ns_ ? 0 : static_cast<std::size_t>((t - origin_ns_) / width_ns_);
}

// Where slot number `slot` begins; that of slot 0 is the first arrival.
TimeNs RequestStream::edge_ns(std::size_t slot) const {
  return slot == 0 ? first_arrival_ns_ : origin_ns_ + static_cast<TimeNs>(slot) * width_ns_;
}

std::size_t RequestStream::nearest_edge(TimeNs t) const {
  return std::min(slot_of(t + width_ns_ / 2), slots_.size());
}

void RequestStream::cover(TimeNs t) {
  while (slot_of(t) >= kMostSlots) {
    for (std::size_t i = 0; 2 * i < slots_.size(); ++i) {
      if (i > 0) slots_[i] = std::move(slots_[2 * i]);
      if (2 * i + 1 == slots_.size()) break;
      const Slot& right = slots_[2 * i + 1];
      slots_[i].arrived.merge(right.arrived);
      slots_[i].finished += right.finished;
      slots_[i].present_request_ns += right.present_request_ns;
    }
    slots_.resize((slots_.size() + 1) / 2);
    HEADROOM_CHECK(width_ns_ < kNever / 4, "a run too long for its windows");
    width_ns_ *= 2;
  }
  if (slot_of(t) >= slots_.size()) slots_.resize(slot_of(t) + 1);
}

template <typename AddTo>
void RequestStream::spread(TimeNs from_ns, TimeNs to_ns, AddTo add_to) const {
  const std::size_t last = slot_of(to_ns);
  TimeNs at_ns = from_ns;
  for (std::size_t slot = slot_of(from_ns); slot < last; ++slot) {
    const TimeNs next_ns = origin_ns_ + static_cast<TimeNs>(slot + 1) * width_ns_;
    add_to(slot, next_ns - at_ns);
    at_ns = next_ns;
  }
  if (to_ns > at_ns) add_to(last, to_ns - at_ns);
}

void RequestStream::add(const RequestRecord& record) {
  add_record(digest_, record);
  if (origin_ns_ < 0) origin_ns_ = record.arrival_ns;
  first_arrival_ns_ = std::min(first_arrival_ns_, record.arrival_ns);
  last_arrival_ns_ = std::max(last_arrival_ns_, record.arrival_ns);
  cover(std::max(record.arrival_ns, record.finish_ns));
  slots_[slot_of(record.arrival_ns)].arrived.add(record, serving_);
  if (!classes_.empty()) classes_.at(record.class_id).add(record, serving_);
  if (record.finish_ns < 0) {
    without_end_ns_.push_back(record.arrival_ns);
    return;
  }
  if (record.outcome == Outcome::finished) ++slots_[slot_of(record.finish_ns)].finished;
  spread(record.arrival_ns, record.finish_ns,
         [this](std::size_t slot, TimeNs span_ns) { slots_[slot].present_request_ns += span_ns; });
}

ServingTotals RequestStream::total() const {
  ServingTotals total;
  for (const Slot& slot : slots_) total.merge(slot.arrived);
  return total;
}

// Of slots [from, to).
WindowReport RequestStream::window(std::size_t from, std::size_t to, TimeNs end_ns) const {
  WindowReport report;
  report.start_ns = std::min(edge_ns(from), end_ns + 1);
  report.end_ns = std::max(report.start_ns, std::min(edge_ns(to), end_ns + 1));
  ServingTotals arrived;
  for (std::size_t i = from; i < to; ++i) {
    arrived.merge(slots_[i].arrived);
    report.finished_inside += slots_[i].finished;
  }
  report.arrived = arrived.counts().arrived;
  report.metrics = arrived.metrics(nullptr, serving_.has_goodput());
  set_rates(report);
  return report;
}

Stationarity RequestStream::stationarity(std::size_t from, std::size_t to, TimeNs end_ns) const {
  Stationarity result;
  if (to < from + 3) return result;
  std::vector<Int128> present(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) present[i] = slots_[i].present_request_ns;
  const TimeNs grid_end_ns = edge_ns(slots_.size());
  for (const TimeNs arrival_ns : without_end_ns_) {
    spread(arrival_ns, std::clamp(end_ns + 1, arrival_ns, grid_end_ns),
           [&present](std::size_t slot, TimeNs span_ns) { present[slot] += span_ns; });
  }
  std::array<TimeNs, 3> length_ns{};
  for (std::size_t third = 0; third < 3; ++third) {
    const std::size_t first = from + (to - from) * third / 3;
    const std::size_t last = from + (to - from) * (third + 1) / 3;
    for (std::size_t i = first; i < last; ++i) result.integral_ns[third] += present[i];
    length_ns[third] = std::min(edge_ns(last), end_ns + 1) - edge_ns(first);
  }
  judge(result, length_ns);
  return result;
}

WindowSummary RequestStream::windows(TimeNs end_ns) const {
  WindowSummary summary;
  if (slots_.empty()) return summary;
  const std::size_t arrivals = slot_of(last_arrival_ns_) + 1;
  const auto edge_after = [this](double seconds) {
    return nearest_edge(first_arrival_ns_ + static_cast<TimeNs>(seconds * 1e9));
  };
  const std::size_t steady_end =
      windows_.steady_end_s ? edge_after(*windows_.steady_end_s) : arrivals;
  const std::size_t warmup_end = std::min(
      windows_.warmup_s ? edge_after(*windows_.warmup_s) : (arrivals + 5) / 10, steady_end);
  summary.warmup = window(0, warmup_end, end_ns);
  summary.steady = window(warmup_end, steady_end, end_ns);
  summary.drain = window(steady_end, slots_.size(), end_ns);
  summary.drain.end_ns = std::max(summary.steady.end_ns, end_ns + 1);
  set_rates(summary.drain);
  summary.stationarity = stationarity(warmup_end, steady_end, end_ns);
  return summary;
}

}  // namespace headroom
