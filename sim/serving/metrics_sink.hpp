#pragma once
// Port: records what happens; never influences it.

#include <cstdint>
#include <span>

#include "sim/serving/decode_set.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/oom.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/step_cost.hpp"

namespace headroom {

// State of a replica between two plans, as a timeline or an integral needs it.
struct ReplicaState {
  std::int64_t running = 0;  // sequences in the batch (ghost rows apart)
  std::int64_t waiting = 0;
  TokenCount kv_tokens = 0;        // tokens with KV, as planned
  TokenCount reserved_tokens = 0;  // held, empty now, will be written if no request is preempted
  KvPoolState pool;
};

// This many tokens, each `gap` ticks after the same sequence's previous token. Tokens that a
// sequence yields in one step arrive together and count as one (ENGINES.md 7.1: ITL counts chunks).
struct GapGroup {
  TickSum gap = 0;
  std::int64_t tokens = 0;
};

// So many consecutive steps' gaps: the first one, each next one `slope` ticks longer.
struct GapRun {
  TickSum first = 0;
  Ticks slope = 0;
  StepCount steps = 0;
};

// Speculative decoding: what one decoding sequence made of a step's drafts.
struct VerifiedDrafts {
  std::int32_t drafts = 0;
  std::int32_t accepted = 0;  // as verified; an answer that ends among them is shorter
};

// `steps` consecutive steps of one batch composition that have ended. They span the nanoseconds
// [floor(begin), floor(end)): a sample at t in there shows the state during the step that runs at
// t. `state` is that of the first step (made by the plan at `begin`); the i-th further step has
// growth()[(i - 1) % growth().size()] more used blocks than the one before
// and size() more tokens, and takes cached blocks only when no others are free. `state->waiting`
// alone is of the end of the run: requests of `queued` events later than t are not waiting at t
// yet.
struct StepRun {
  std::uint16_t replica = 0;
  TickSum begin = 0;  // start of the first of them
  StepIndex first_step = 0;
  StepCount steps = 0;
  Ticks first_ticks = 0;  // duration of the first; each next one is slope_ticks longer
  Ticks slope_ticks = 0;
  const StepPrice* price = nullptr;  // of the composition; `price_offset` steps of it ran before
  StepCount price_offset = 0;
  const StepShape* shape = nullptr;  // of the composition's first step
  std::int64_t gaps_per_step =
      0;  // sequences that yield in each step of the run and yielded in the one before
  // Where an API server is in between: what the gaps of these sequences are, of `steps` steps in
  // all. Empty: as long as the steps.
  std::span<const GapRun> gaps = {};
  std::span<const GapGroup> other_gaps;  // of tokens that follow an interruption or a pause
  // Speculative decoding, where every run is one step: the sequences that verified drafts, and the
  // tokens beyond one per sequence.
  std::span<const VerifiedDrafts> verified = {};
  TokenCount extra_tokens = 0;
  const ReplicaState* state = nullptr;  // during the first step
  const DecodeSet* decodes =
      nullptr;  // growth profile: the i-th next step adds growth()[...] blocks
};

enum class EngineEventKind : std::uint8_t {
  queued,
  admitted,
  preempted,
  rejected,
  cancelled,
  oom,
  engine_lost,
  engine_restarted,
  placement_refused,
  overloaded,  // turned away at the door: too many requests are in the engine, or in the fleet
  crashed,     // a fault, not memory
  requeued,    // entered a queue again: of another replica after a crash
  escalated    // entered the queue of the next route: the answer before was not good enough
};

struct EngineEvent {
  EngineEventKind kind = EngineEventKind::admitted;
  OomKind oom = OomKind::startup;  // with kind oom, rejected and placement_refused
  TimeNs time_ns = 0;
  std::uint16_t replica = 0;
  std::uint64_t request = 0;  // arrival index; UINT64_MAX when none
  // Wanted (oom), recomputed later (preempted; 0 = swapped out), known tokens (admitted), generated
  // in vain (cancelled).
  TokenCount tokens = 0;
  bool was_waiting = false;  // cancelled: it stood in the queue
  bool resumed = false;      // admitted: again, after a preemption
  // Admitted: prefix found, or swapped in. Apart from `tokens`: side by side the two would be read
  // in one piece, and wait for having been written in two.
  TokenCount cached_tokens = 0;
  const ReplicaState* state = nullptr;       // with oom and placement_refused
  const MemoryShortage* shortage = nullptr;  // with oom, where a ledger of bytes refused
};

// One sequence in a step.
struct PlannedRow {
  std::uint64_t request = 0;      // arrival index
  TokenCount context_tokens = 0;  // with KV before the step; at an admission, found in the cache
  TokenCount tokens = 0;          // computed in the step, drafts and padding included; >= 1
  bool admitted = false;          // it enters the batch with this step
};

// One step as it was planned; without rows: a plan that only preempted.
struct PlannedStep {
  std::uint16_t replica = 0;
  TimeNs time_ns = 0;                             // of the plan
  StepIndex step = 0;                             // its number, from 1
  std::span<const PlannedRow> rows = {};          // in order of arrival
  std::span<const std::uint64_t> preempted = {};  // arrival indices, in the order of preemption
  const ReplicaState* state = nullptr;            // behind the plan
};

class MetricsSink {
 public:
  virtual ~MetricsSink() = default;
  // Whether on_plan() is of use: then every plan is reported, O(requests) each. Asked once, when
  // the replica is constructed. A step that is repeated is planned once, so single steps alone
  // (ReplicaOptions::single_step) report them all.
  [[nodiscard]] virtual bool wants_plans() const { return false; }
  virtual void on_plan(const PlannedStep& /*step*/) {}
  virtual void on_steps(const StepRun& run) = 0;
  virtual void on_request(const RequestRecord& record) = 0;
  virtual void on_event(const EngineEvent& event) = 0;
  // The replica has nothing in flight from `instant` on and stays in `state` until its next step
  // begins (requests that arrive meanwhile are reported by `queued` events). Called once at the
  // start of the run too.
  virtual void on_idle(std::uint16_t replica, TickSum instant, const ReplicaState& state) = 0;
};

}  // namespace headroom
