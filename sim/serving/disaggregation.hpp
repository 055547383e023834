#pragma once
// A fleet in which some replicas compute prompts and others decode (docs/semantics.md, "Prefill and
// decode apart"): who hands what to whom, and what became of it. Fleet moves it along.

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "sim/serving/kv_handover.hpp"
#include "sim/serving/kv_links.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/router.hpp"

namespace headroom {

struct DisaggregationOptions {
  std::int64_t link_bytes_per_s = 1;  // of each replica's port, > 0
  TimeNs link_latency_ns = 0;         // >= 0
  ByteCount block_bytes = 0;          // of all ranks
  // A decode replica computes prompts itself that lack no more tokens in its cache, or come while
  // so many requests wait in the queues of the prefill replicas. Empty: never.
  std::optional<TokenCount> max_local_prefill_tokens;
  std::optional<std::int64_t> max_prefill_queue;
};

// The hand-over of one request; instants are -1 where not reached.
struct TransferRecord {
  std::uint64_t index = 0;
  std::uint16_t prefill_replica = kNoReplica;
  std::uint16_t decode_replica = kNoReplica;
  TimeNs prefilled_ns = -1;  // the prefill's token was out
  TimeNs asked_ns = -1;      // the decode replica had room
  TimeNs begin_ns = -1;      // the ports were free
  TimeNs end_ns = -1;        // the KV was there
  BlockCount blocks = 0;
};

struct TransferCounts {
  std::int64_t transfers = 0;     // complete
  ByteCount bytes = 0;            // of these
  Int128 room_wait_ns = 0;        // of these, from the prefill's end until there was room,
  Int128 port_wait_ns = 0;        //   and from then until the ports were free
  std::int64_t lost = 0;          // KV that died with its prefill replica before it was fetched
  std::int64_t abandoned = 0;     // fetches whose request left meanwhile
  std::int64_t local_short = 0;   // prompts that a decode replica computed: they lacked few tokens,
  std::int64_t local_queued = 0;  //   or the prefill replicas were behind
  std::vector<TimeNs> port_busy_ns;  // by replica, of transfers that have ended
};

struct DisaggregationParts {
  DisaggregationOptions options;
  std::unique_ptr<Router> decode_router;
};

class Disaggregation {
 public:
  // Where a request continues; `replica` and `id` of the decode side once it is there.
  struct Handover {
    enum class Stage : std::uint8_t { offered, waits, moves, abandoned };
    Stage stage = Stage::offered;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    RequestId id = kNoRequest;
    KvOffer offer;
    KvLinks::Trip trip;
    std::size_t record = 0;
  };
  // What happens next; a request without a hand-over is sent anew.
  struct Due {
    TimeNs time_ns = 0;
    std::uint64_t order = 0;
    std::uint64_t number = 0;  // of a hand-over; or
    bool sends_anew = false;
    std::uint32_t from = 0;  // the replica that handed it back
    HandedBack request = {};
    friend auto operator<=>(const Due& a, const Due& b) {
      return a.time_ns != b.time_ns ? a.time_ns <=> b.time_ns : a.order <=> b.order;
    }
    friend bool operator==(const Due& a, const Due& b) { return a.order == b.order; }
  };

  Disaggregation(DisaggregationParts parts, const std::vector<ReplicaRole>& roles);

  [[nodiscard]] const DisaggregationOptions& options() const { return parts_.options; }
  [[nodiscard]] Router& decode_router() { return *parts_.decode_router; }
  [[nodiscard]] bool prefills(std::uint32_t replica) const { return prefills_[replica] != 0; }
  [[nodiscard]] bool is_conditional() const {
    return parts_.options.max_local_prefill_tokens || parts_.options.max_prefill_queue;
  }

  // An offer becomes a hand-over, which is dealt with at `now_ns`.
  void offered(std::uint32_t from, const KvOffer& offer, TimeNs now_ns);
  void send_anew(std::uint32_t from, const HandedBack& request, TimeNs now_ns);
  // The decode replica has room: the KV moves.
  void fetch(const KvFetch& fetch, TimeNs now_ns);
  // The request is over, or begins anew. Whose KV can be released now.
  [[nodiscard]] std::optional<Handover> end(std::uint64_t index);
  // The requests that waited for KV this prefill replica has lost; perhaps none any more.
  [[nodiscard]] std::optional<Handover> lose(std::uint32_t from, const LostKv& lost);

  [[nodiscard]] TimeNs next_ns() const { return due_.empty() ? kNever : due_.top().time_ns; }
  [[nodiscard]] Due take();
  [[nodiscard]] Handover& handover(std::uint64_t number) { return handovers_.at(number); }
  // The decode replica has it as `id`; kNoRequest: it has turned it away.
  void entered(std::uint64_t number, std::uint32_t to, RequestId id);
  // Its transfer is over. It is forgotten.
  [[nodiscard]] Handover arrived(std::uint64_t number);

  // The decode replica that was chosen when the request came, if any.
  void choose(std::uint64_t index, std::uint32_t replica) { chosen_[index] = replica; }
  [[nodiscard]] std::optional<std::uint32_t> take_choice(std::uint64_t index);

  std::int64_t waiting_for_prefill = 0;  // in the queues of the prefill replicas
  TransferCounts counts;
  [[nodiscard]] std::vector<TransferRecord> take_records() { return std::move(records_); }

 private:
  DisaggregationParts parts_;
  std::vector<std::uint8_t> prefills_;  // by replica
  KvLinks links_;
  std::unordered_map<std::uint64_t, Handover> handovers_;        // by number
  std::unordered_map<std::uint64_t, std::uint64_t> of_request_;  // index to number, while it counts
  std::unordered_map<std::uint64_t, std::uint32_t> chosen_;      // by index
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<TransferRecord> records_;
  std::uint64_t numbers_ = 0;
  std::uint64_t orders_ = 0;
};

}  // namespace headroom
