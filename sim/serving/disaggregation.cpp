#include "sim/serving/disaggregation.hpp"

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

using HandoverStage = Disaggregation::Handover::Stage;

Disaggregation::Disaggregation(DisaggregationParts parts, const std::vector<ReplicaRole>& roles)
    : parts_(std::move(parts)),
      links_(roles.size(), parts_.options.link_bytes_per_s, parts_.options.link_latency_ns) {
  for (const ReplicaRole role : roles) {
    HEADROOM_CHECK(role != ReplicaRole::both, "a replica without a role beside some that have one");
    prefills_.push_back(role == ReplicaRole::prefill ? 1 : 0);
  }
  const std::ptrdiff_t prefills = std::ranges::count(prefills_, 1);
  HEADROOM_CHECK(prefills > 0 && prefills < std::ssize(prefills_) && parts_.decode_router,
                 "replicas of both roles, and a router for each");
  counts.port_busy_ns.resize(roles.size());
}

void Disaggregation::offered(std::uint32_t from, const KvOffer& offer, TimeNs now_ns) {
  const std::uint64_t number = numbers_++;
  Handover handover;
  handover.from = from;
  handover.offer = offer;
  handover.record = records_.size();
  records_.push_back({.index = offer.index,
                      .prefill_replica = static_cast<std::uint16_t>(from),
                      .prefilled_ns = offer.prefilled_ns});
  handovers_.emplace(number, handover);
  const bool is_new = of_request_.emplace(offer.index, number).second;
  HEADROOM_CHECK(is_new, "a request is handed on twice at once");
  due_.push({.time_ns = now_ns, .order = orders_++, .number = number});
}

void Disaggregation::send_anew(std::uint32_t from, const HandedBack& request, TimeNs now_ns) {
  due_.push({.time_ns = now_ns,
             .order = orders_++,
             .sends_anew = true,
             .from = from,
             .request = request});
}

void Disaggregation::fetch(const KvFetch& fetch, TimeNs now_ns) {
  const std::uint64_t number = of_request_.at(fetch.index);
  Handover& handover = handovers_.at(number);
  HEADROOM_CHECK(handover.stage == HandoverStage::waits, "a request fetches its KV twice");
  handover.stage = HandoverStage::moves;
  handover.trip = links_.transfer(handover.from, handover.to,
                                  fetch.blocks * parts_.options.block_bytes, now_ns);
  TransferRecord& record = records_[handover.record];
  record.asked_ns = now_ns;
  record.begin_ns = handover.trip.begin_ns;
  record.blocks = fetch.blocks;
  due_.push({.time_ns = handover.trip.end_ns, .order = orders_++, .number = number});
}

std::optional<Disaggregation::Handover> Disaggregation::end(std::uint64_t index) {
  chosen_.erase(index);
  const auto found = of_request_.find(index);
  if (found == of_request_.end()) return std::nullopt;
  const auto at = handovers_.find(found->second);
  of_request_.erase(found);
  Handover& handover = at->second;
  if (handover.stage == HandoverStage::moves) {
    // A transfer on the way is not stopped: the prefill replica keeps its blocks until then (vLLM's
    // NIXL connector frees them on the notice that the read is done).
    handover.stage = HandoverStage::abandoned;
    ++counts.abandoned;
    return std::nullopt;
  }
  HEADROOM_CHECK(handover.stage == HandoverStage::waits, "a request ends while it is handed on");
  const Handover over = handover;
  handovers_.erase(at);
  return over;
}

std::optional<Disaggregation::Handover> Disaggregation::lose(std::uint32_t from,
                                                             const LostKv& lost) {
  const auto found = of_request_.find(lost.index);
  if (found == of_request_.end()) return std::nullopt;
  const auto at = handovers_.find(found->second);
  Handover& handover = at->second;
  if (handover.from != from || handover.offer.hold != lost.hold) return std::nullopt;
  HEADROOM_CHECK(handover.stage != HandoverStage::offered,
                 "KV is lost in the instant of its offer");
  ++counts.lost;
  of_request_.erase(found);
  const Handover over = handover;
  if (handover.stage == HandoverStage::moves) {
    handover.stage = HandoverStage::abandoned;  // the ports stay taken
  } else {
    handovers_.erase(at);
  }
  return over;
}

Disaggregation::Due Disaggregation::take() {
  Due due = due_.top();
  due_.pop();
  return due;
}

void Disaggregation::entered(std::uint64_t number, std::uint32_t to, RequestId id) {
  const auto at = handovers_.find(number);
  Handover& handover = at->second;
  handover.stage = HandoverStage::waits;
  handover.to = to;
  handover.id = id;
  records_[handover.record].decode_replica = static_cast<std::uint16_t>(to);
}

Disaggregation::Handover Disaggregation::arrived(std::uint64_t number) {
  const auto at = handovers_.find(number);
  const Handover handover = at->second;
  handovers_.erase(at);
  const TimeNs wire_ns = handover.trip.sent_ns - handover.trip.begin_ns;
  counts.port_busy_ns[handover.from] += wire_ns;
  counts.port_busy_ns[handover.to] += wire_ns;
  if (handover.stage == HandoverStage::abandoned) return handover;
  HEADROOM_CHECK(handover.stage == HandoverStage::moves, "KV arrives that was not asked for");
  of_request_.erase(handover.offer.index);
  TransferRecord& record = records_[handover.record];
  record.end_ns = handover.trip.end_ns;
  ++counts.transfers;
  counts.bytes += record.blocks * parts_.options.block_bytes;
  counts.room_wait_ns += record.asked_ns - record.prefilled_ns;
  counts.port_wait_ns += record.begin_ns - record.asked_ns;
  return handover;
}

std::optional<std::uint32_t> Disaggregation::take_choice(std::uint64_t index) {
  const auto found = chosen_.find(index);
  if (found == chosen_.end()) return std::nullopt;
  const std::uint32_t replica = found->second;
  chosen_.erase(found);
  return replica;
}

}  // namespace headroom
