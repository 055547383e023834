#pragma once
// What passes between a replica that computes a prompt and the one that decodes it
// (docs/semantics.md, "Prefill and decode apart").

#include <cstdint>
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
  KvHold hold = {};
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
  KvHold hold = {};
};

// What the fleet has to deal with; it takes the lists and leaves them empty.
struct Handovers {
  std::vector<KvOffer> offers;
  std::vector<KvFetch> fetches;
  std::vector<LostKv> lost;
  std::vector<HandedBack> handed_back;  // their KV was lost: they begin anew
};

}  // namespace headroom
