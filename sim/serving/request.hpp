#pragma once
// A request while it is in the system. What a policy may see is `Request`; the true output length
// is not in it (DESIGN.md, "max_tokens"): the replica keeps it apart.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/prefix.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

inline constexpr std::uint16_t kNoReplica = UINT16_MAX;  // turned away at the fleet's door
inline constexpr std::uint64_t kNoSession = UINT64_MAX;

// One row of a workload.
struct Arrival {
  TimeNs time_ns = 0;
  std::int32_t prompt_tokens = 0;  // >= 1
  std::int32_t output_tokens = 0;  // >= 1; what the model would really produce
  std::int32_t max_tokens = 0;     // declared by the client; 0 = not declared (engine default)
  std::int32_t class_id = 0;
  std::int32_t priority = 0;           // smaller is served first, as in vLLM
  std::uint64_t session = kNoSession;  // requests of one user
  // The client gives up: without a first token, or without the whole answer, by then.
  TimeNs first_token_deadline_ns = kNever;
  TimeNs deadline_ns = kNever;
  // The prompt from its first token, as far as it has identities (at most prompt_tokens in all);
  // the memory is the workload's, until the request leaves.
  std::span<const PrefixSegment> prefix = {};
  std::uint64_t output_segment = 0;  // identity of the answer in later prompts; 0 = none
  bool prompt_logprobs = false;      // the client requests log-probabilities of its prompt
  std::int32_t adapter = 0;          // LoRA adapter; 0 = none
  // Requests in a row with one number are answers of one prompt, which clients send once; 0: the
  // only one.
  std::uint64_t shared_prompt = 0;
  std::int32_t thinking_tokens = 0;  // of the output, before the answer; where the workload knows
};

enum class RequestState : std::uint8_t {
  waiting,     // in the scheduler's queue; also after a preemption
  prefilling,  // admitted, computed < known tokens
  decoding,    // runs in every step
  ending,      // its last step is planned but has not ended (pipeline depth 2)
  ghost,       // has all its tokens, but its row still runs (static batches)
  gone
};

enum class Outcome : std::uint8_t {
  unfinished,
  finished,
  rejected,
  cancelled,
  lost_to_oom,
  lost_to_fault  // its replica crashed
};
inline constexpr std::size_t kOutcomeCount = 6;

struct Request {
  std::uint64_t index = 0;  // order of arrival in the run, from 0
  TimeNs arrival_ns = 0;
  std::int32_t prompt_tokens = 0;
  std::int32_t max_tokens = 0;       // declared or default; prompt + max_tokens <= max_model_len
  std::int32_t known_tokens = 0;     // prompt + generated when it last (re)entered the queue
  std::int32_t computed_tokens = 0;  // tokens with KV as of step `anchor_step`; 0 while waiting
  std::int32_t pad_tokens = 0;  // left padding of a static batch's row, counted in computed_tokens
  // Output tokens that a reserving allocator sets aside: max_tokens, or what `setup` hands to the
  // literature's oracles (ReplicaOptions::reservation).
  std::int32_t reserved_output = 0;
  std::int32_t preemptions = 0;
  std::int32_t class_id = 0;
  std::int32_t priority = 0;  // smaller is served first
  RequestState state = RequestState::gone;
  // While decoding: computed_tokens + 1 for each decode step planned after this one.
  StepIndex anchor_decode = 0;
  std::int32_t ids_per_block = 1;  // while decoding: block ids that its next block takes
  // With pipeline stages: that of its latest chunk, in which it decodes from then on.
  std::int32_t micro_batch = 0;
  std::uint64_t admission = 0;  // rank among all admissions of its replica; later = larger
  // What the prompt begins with, and what its answer will be called: as in the arrival.
  std::span<const PrefixSegment> prefix = {};
  std::uint64_t output_segment = 0;
  // Log-probabilities of the prompt: no cached prefix may replace any of it (ENGINES.md 2.2).
  bool prompt_logprobs = false;
  std::uint16_t rank = 0;        // data rank that it stays on; 0 where there is one
  bool token_in_flight = false;  // preempted, and a step in flight yields its next token
  std::int32_t adapter = 0;      // LoRA; its KV is found by requests of the same one only
};

// Tokens with KV, counting the decode steps planned up to number `decodes`.
[[nodiscard]] inline TokenCount computed_by(const Request& request, StepIndex decodes) {
  const bool grows =
      request.state == RequestState::decoding || request.state == RequestState::ghost;
  return request.computed_tokens + (grows ? decodes - request.anchor_decode : 0);
}

// What is recorded of a request when it leaves, or when the run ends. Times in ns, -1 where not
// reached.
struct RequestRecord {
  TimeNs arrival_ns = 0;
  TimeNs queued_ns = -1;           // entered an engine's queue
  TimeNs first_scheduled_ns = -1;  // start of planning of its first chunk
  TimeNs first_token_ns = -1;
  TimeNs finish_ns = -1;  // last token; for a rejected or lost request the moment it left
  std::uint64_t index = 0;
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;  // generated in this run
  std::int32_t max_tokens = 0;
  std::uint16_t preemptions = 0;
  std::uint16_t replica = 0;
  std::uint8_t class_id = 0;
  Outcome outcome = Outcome::unfinished;
};

// Of a request that no engine has seen: its client gave up at `finish_ns` (cancelled), or the run
// ended (unfinished, -1).
[[nodiscard]] RequestRecord unseen_record(const Arrival& arrival, std::uint64_t index,
                                          std::uint16_t replica, Outcome outcome, TimeNs finish_ns);

// Slots of live requests, reused (the last freed first); references stay valid until the next
// `add`. No allocation once as many requests have been live as ever are.
class RequestPool {
 public:
  [[nodiscard]] RequestId add();  // to be filled: the slot is as its last request has left it
  [[nodiscard]] RequestId add(const Request& request) {
    const RequestId id = add();
    slots_[id] = request;
    return id;
  }
  void remove(RequestId id);
  [[nodiscard]] Request& operator[](RequestId id) { return slots_[id]; }
  [[nodiscard]] const Request& operator[](RequestId id) const { return slots_[id]; }
  [[nodiscard]] std::size_t live() const { return live_; }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

 private:
  std::vector<Request> slots_;
  std::vector<RequestId> free_;
  std::size_t live_ = 0;  // slots that are not free: every event asks, and to count would divide
  std::vector<std::uint8_t> is_live_;  // per slot: finds a second removal
};

}  // namespace headroom
