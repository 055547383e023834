#pragma once
// What passes between a replica that computes a prompt and the one that decodes it
// (docs/semantics.md, "Prefill and decode apart").

#include <cstdint>
#include <map>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/replica_load.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// KV of a whole prompt that a prefill replica keeps although the request has left its batch. Void
// once the engine has died, or the KV was given back.
struct KvHold {
  RequestId id = kNoRequest;
  std::uint32_t epoch = 0;
  friend constexpr bool operator==(const KvHold&, const KvHold&) = default;
};

// A prefill replica is done with a request: its KV waits to be fetched.
struct KvOffer {
  std::uint64_t index = 0;
  KvHold hold;
  std::int32_t prompt_tokens = 0;
  TimeNs queued_ns = -1;
  TimeNs first_scheduled_ns = -1;
  TimeNs prefilled_ns = -1;  // end of the step that yielded the token of the prefill
  TickSum token = 0;         // the same, exact
};

// A decode replica has taken blocks for a request, and wants what it does not have of its KV.
struct KvFetch {
  std::uint64_t index = 0;
  BlockCount blocks = 0;
};

// KV of request `index` that has died with its engine.
struct LostKv {
  std::uint64_t index = 0;
  KvHold hold;
};

// What the fleet has to deal with; it takes the lists and leaves them empty.
struct Handovers {
  std::vector<KvOffer> offers;
  std::vector<KvFetch> fetches;
  std::vector<LostKv> lost;
  std::vector<HandedBack> handed_back;  // their KV was lost: they begin anew
};

// Of a replica that computes prompts for others, or decodes those of others. By RequestId.
struct RemoteRequest {
  enum class Stage : std::uint8_t {
    none,
    held,            // its prompt is done here, its KV stays until it is fetched
    waits_for_room,  // to decode here, without blocks yet
    fetching,        // with its blocks; the KV is on its way
    arrived          // waits for the scheduler
  };
  Stage stage = Stage::none;
  bool hands_on = false;        // it leaves with its first token
  std::int32_t max_tokens = 0;  // as declared
  std::int32_t carried = 0;     // tokens produced elsewhere
  TokenCount reserved = 0;      // that its blocks hold, before its admission
  TokenCount found = 0;         // of these, known here already
  std::uint64_t place = 0;      // among those that wait for room
};

struct RemoteRequests {
  // What becomes of a request whose blocks can only change when the engine plans.
  struct Exit {
    KvHold request;
    bool is_given_back = false;  // else: its KV was lost on the way,
    Outcome outcome = Outcome::lost_to_fault;
    bool hand_back = false;
  };

  std::vector<RemoteRequest> by_id;
  std::map<std::uint64_t, RequestId> waiting_for_room;  // by place
  std::uint64_t places = 0;
  std::int64_t held = 0;  // in stage held
  std::vector<Exit> exits;
  Handovers handovers;
};

}  // namespace headroom
