#pragma once
// The requests of a replica that computes prompts for others, or decodes those of others
// (docs/semantics.md, "Prefill and decode apart"): where each one stands between the two, and what
// the fleet has to be told. A replica without a role has none: then queries answer as for a request
// that begins and ends here.
//
// Invariants:
// 1. held() requests are in stage `held`.
// 2. Requests in stage `waits_for_room`, and no others, are in the line, in order of arrival.
// 3. Requests in stages `fetching` and `arrived` hold blocks for reserved() tokens, counted in the
//    ResidentSums although they wait.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/kv_handover.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/request_story.hpp"
#include "sim/serving/resident_sums.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class RemoteRequests {
 public:
  enum class Stage : std::uint8_t {
    none,
    held,            // its prompt is done here, its KV stays until it is fetched
    waits_for_room,  // to decode here, without blocks yet
    fetching,        // with its blocks; the KV is on its way
    arrived          // waits for the scheduler
  };
  // A request that leaves when the engine plans next. Blocks change hands at plans only: so results
  // depend neither on how a run of steps is cut, nor on which of several replicas is told first.
  struct Exit {
    KvHold request = {};
    bool is_given_back = false;  // else: its KV was lost on the way,
    Outcome outcome = Outcome::lost_to_fault;
    bool hand_back = false;
  };

  explicit RemoteRequests(const ReplicaOptions& options)
      : role_(options.role),
        prefill_token_counts_(options.prefill_token_counts),
        keep_free_(options.arriving_keep_free),
        max_sequences_(options.max_sequences) {}

  [[nodiscard]] bool has_role() const { return rarely(role_ != ReplicaRole::both); }
  [[nodiscard]] Stage stage(RequestId id) const {
    return has_role() ? by_id_[id].stage : Stage::none;
  }
  // It waits, and holds blocks all the same.
  [[nodiscard]] bool holds_early(RequestId id) const {
    const Stage now = stage(id);
    return now == Stage::fetching || now == Stage::arrived;
  }
  [[nodiscard]] TokenCount reserved(RequestId id) const { return by_id_[id].reserved; }
  // Tokens that the engine has to compute before `request`, which waits, decodes.
  [[nodiscard]] TokenCount queued_tokens(RequestId id, const Request& request) const {
    const bool comes = stage(id) == Stage::waits_for_room || holds_early(id);
    return comes ? 1 : request.known_tokens;
  }
  // Of its tokens, those that came out of another replica.
  [[nodiscard]] std::int32_t carried(RequestId id) const {
    return has_role() ? by_id_[id].carried : 0;
  }
  // As its client declared it.
  [[nodiscard]] std::int32_t max_tokens(RequestId id, const Request& request) const {
    return has_role() ? by_id_[id].max_tokens : request.max_tokens;
  }

  // A request comes to this replica, before it is queued; `prefilled`: with its prompt computed.
  // Where it has a role.
  void begin(RequestId id, Request& request, RequestStory& story, const KvOffer* prefilled);

  // --- on the prefill replica -------------------------------------------------------------------

  // It leaves with its first token.
  [[nodiscard]] bool hands_on(RequestId id) const { return has_role() && by_id_[id].hands_on; }
  // Its token is out and it is in no batch any more; its KV stays.
  void hold(RequestId id, const KvOffer& offer);
  // The KV that it kept was fetched, or need not be.
  void end_hold(RequestId id);
  [[nodiscard]] std::int64_t held() const { return held_; }
  // KV that others would have fetched has died with its engine.
  void lose_kv(std::uint64_t index, const KvHold& hold) { told_.lost.push_back({index, hold}); }

  // --- on the decode replica --------------------------------------------------------------------

  // Before a plan: takes the blocks of those that wait for room, in order, and asks for their KV.
  // Whether it took any.
  [[nodiscard]] bool take_in(const RequestPool& requests, ResidentSums& sums, KvAllocator& kv);
  // Its KV is here.
  void arrive(RequestId id);
  // The scheduler admits it, with `context` tokens computed. Returns those of them that were found
  // in this replica's cache.
  [[nodiscard]] TokenCount admit(RequestId id, TokenCount context, ResidentSums& sums);

  // --- a request leaves -------------------------------------------------------------------------

  // It waits for room or KV, in a line of its own: the scheduler does not know it. False: it does.
  [[nodiscard]] bool leave_line(RequestId id);
  // Gives up the blocks of one that waits, if it has any.
  void withdraw(RequestId id, const Request& request, ResidentSums& sums, KvAllocator& kv) const;
  // It will begin anew, on a replica that the fleet chooses.
  void hand_back(const HandedBack& request) { told_.handed_back.push_back(request); }
  void leave_when_planning(const Exit& exit) { exits_.push_back(exit); }
  [[nodiscard]] bool has_exits() const { return !exits_.empty(); }
  [[nodiscard]] std::vector<Exit> take_exits() { return std::exchange(exits_, {}); }
  // All who were begun are gone.
  void on_engine_lost();

  [[nodiscard]] std::vector<HandedBack>& handed_back() { return told_.handed_back; }
  // For the fleet, which empties the lists.
  [[nodiscard]] Handovers& handovers() { return told_; }

 private:
  struct State {
    Stage stage = Stage::none;
    bool hands_on = false;
    std::int32_t max_tokens = 0;
    std::int32_t carried = 0;
    TokenCount reserved = 0;  // that its blocks hold, before its admission
    TokenCount found = 0;     // of these, known here already
    std::uint64_t place = 0;  // in the line
  };

  // As constructed.
  ReplicaRole role_;
  bool prefill_token_counts_;
  BlockCount keep_free_;
  std::int64_t max_sequences_;

  std::vector<State> by_id_;                 // begin() makes one, its stages change it
  std::map<std::uint64_t, RequestId> line_;  // begin(), take_in() and leave_line() write
  std::uint64_t places_ = 0;                 // begin() counts
  std::int64_t held_ = 0;                    // hold(), end_hold() and on_engine_lost() write
  std::vector<Exit> exits_;
  Handovers told_;
};

}  // namespace headroom
