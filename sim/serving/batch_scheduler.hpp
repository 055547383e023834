#pragma once
// Port: what the next step does, as a change against the steps before it.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/serving/adapter_slots.hpp"
#include "sim/serving/decode_set.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// Prompt tokens of one request computed in one step.
struct Chunk {
  RequestId id = kNoRequest;
  std::int32_t context_tokens = 0;  // computed before the step (prefix hits included)
  std::int32_t tokens = 0;          // computed in the step, padding included; >= 1
  bool admits = false;              // the request enters the batch with this chunk
  bool samples = false;             // reaches the last known token, so it yields a token
  std::int32_t padding = 0;         // of `tokens`, when it samples: left padding of a static row
  // It was swapped out while it decoded: the KV of its context comes back from the host, and it
  // decodes one token, which is priced like those of the other decoding rows.
  bool resumes = false;
};

// Speculative decoding: what a decoding sequence does in the step.
struct VerifiedRow {
  RequestId id = kNoRequest;
  std::int32_t tokens = 0;  // its next one and the drafts after it; 0: it skips the step
};

enum class PlanFailure : std::uint8_t {
  none,
  out_of_device_memory,  // the engine dies
  out_of_cells           // requests that run fail, the engine and its queue go on
};

// "All decoding sequences take one token each, unless they pause; besides, what is said here."
// With speculative decoding `verified` names every decoding sequence once instead, in order.
// Buffers are reused between plans.
struct BatchPlan {
  std::vector<Chunk> chunks;
  std::vector<VerifiedRow> verified;
  std::vector<RequestId> preempted;  // in the order of preemption
  std::vector<RequestId> swapped;    // of these, those whose KV went to the host
  std::vector<RequestId> rejected;   // waiting requests that will never be served; they leave now
  // The decoding sequences pause while this step runs its chunks (prefill-first engines); without
  // chunks there is no step, and a plan again when the step in flight has ended.
  bool decodes_pause = false;
  // Data ranks: in the price of a rank that computes prompts its decoding sequences do not count.
  bool prompts_alone = false;
  StepCount steady_steps = 1;  // the plan may be repeated so often; 1 with chunks or preemptions
  bool arrivals_can_join =
      true;  // false: an arrival cannot change the plans made until a request leaves
  TimeNs wake_at_ns = kNever;  // empty plan: plan again at this time even if nothing happens
  PlanFailure failure = PlanFailure::none;
  std::vector<RequestId> lost;   // with a failure: waiting requests that it takes along
  TokenCount wanted_tokens = 0;  // with a failure or refusal: the requested amount
  RequestId refused_by_placement = kNoRequest;  // would fit in the free blocks, but in no hole

  void clear() {
    chunks.clear();
    verified.clear();
    preempted.clear();
    swapped.clear();
    rejected.clear();
    lost.clear();
    decodes_pause = false;
    prompts_alone = false;
    steady_steps = 1;
    arrivals_can_join = true;
    wake_at_ns = kNever;
    failure = PlanFailure::none;
    wanted_tokens = 0;
    refused_by_placement = kNoRequest;
  }
};

// Another micro-batch than the one that is planned: its decoding sequences, and decode steps.
struct PlannedMicroBatch {
  DecodeSet* decodes = nullptr;
  StepIndex decodes_planned = 0;
  StepCount decodes_in_flight = 0;
};

enum class PlanPart : std::uint8_t { whole, prompts, decodes };

// What a scheduler looks at, and the two actions that every policy shares.
struct PlanContext {
  TimeNs now_ns = 0;
  StepIndex decodes_planned = 0;  // decode steps planned before this plan
  RequestPool& requests;          // a scheduler reads; the replica writes
  KvAllocator& kv;
  DecodeSet& decodes;  // changed only by the two functions below
  // Null: LoRA is off. A scheduler lets join() whom it admits.
  AdapterSlots* adapters = nullptr;
  StepCount decodes_in_flight = 0;  // of decodes_planned, those that have not ended
  // Upper bound on steady_steps; longer repetitions are cut here. >= 1.
  StepCount horizon = kManySteps / 2;
  // Of each data rank, in `decodes` together; empty: there is one.
  std::span<DecodeSet> rank_decodes = {};
  // Prompts that could run stand by in this plan (data ranks that compute them together).
  bool prompts_wait = false;
  // Decodes may not pause for prompts: other data ranks decode in the same step.
  bool decodes_go_on = false;
  // Data ranks whose decodes all pause for the prompts of any: each is asked for prompts first, and
  // for decodes if none has any.
  PlanPart part = PlanPart::whole;
  // With pipeline stages: the decoding sequences of each micro-batch, which take part in its steps
  // alone. `decodes` are those of the one that is planned; the others are in flight.
  std::int32_t micro_batch = 0;
  std::span<const PlannedMicroBatch> micro_batches = {};

  // Takes the blocks of one step of all decoding sequences, less those the caller has taken for
  // them already, and counts that step. Exactly once in each plan in which they do not pause,
  // before its chunks; they must be free.
  void take_decodes(BlockCount taken = 0) const {
    const BlockCount blocks = decodes.blocks_needed() - taken;
    if (blocks > 0) kv.take(blocks);
    decodes.advance(1);
  }

  // Blocks of these that belong to `id`; 0 unless it decodes in this step.
  [[nodiscard]] BlockCount decode_need(RequestId id) const;

  // Takes `id` out of the batch and gives back its KV; it may find its own blocks again later.
  // Not for a decoding sequence after take_decodes(), nor for one with a chunk in this plan.
  void preempt(RequestId id, BatchPlan& plan, KvRelease how = KvRelease::preempted) const;

  // The same for a decoding sequence whose KV is copied to the host. Only where no step is in
  // flight (pipeline depth 1).
  void swap_out(RequestId id, BatchPlan& plan) const;

  // Takes a swapped request back into the batch, with the blocks of all its tokens and of the one
  // that it decodes in this step. After take_decodes(). False: they do not fit above `keep_free`.
  [[nodiscard]] bool try_resume(RequestId id, BlockCount keep_free, BatchPlan& plan) const;

  // Where `request` decodes.
  [[nodiscard]] PlannedMicroBatch micro_batch_of(const Request& request) const {
    if (mostly(request.micro_batch == micro_batch) || micro_batches.empty()) {
      return {&decodes, decodes_planned, decodes_in_flight};
    }
    return micro_batches[static_cast<std::size_t>(request.micro_batch)];
  }

  // How often a plan of decodes alone may be repeated before `free` blocks are used up, at most
  // `horizon` times; >= 1.
  [[nodiscard]] StepCount steady_decodes(BlockCount free) const {
    return 1 + decodes.steps_within(free, horizon - 1);
  }

  // Output tokens of a decoding sequence that are planned so far (>= 1).
  [[nodiscard]] std::int32_t generated(const Request& request) const {
    return static_cast<std::int32_t>(computed_by(request, decodes_planned)) + 1 -
           request.prompt_tokens - request.pad_tokens;
  }
};

class BatchScheduler {
 public:
  virtual ~BatchScheduler() = default;

  // Whether a plan now could compute part of a prompt. Only for data ranks that agree on it.
  [[nodiscard]] virtual bool can_run_prompts(const PlanContext& /*context*/) const { return false; }

  // A request arrived at this replica and waits.
  virtual void enqueue(RequestId id, const Request& request) = 0;
  // The same for one whose KV has come from another replica: it holds the blocks of all its known
  // tokens, and KvAllocator::cached_prefix() says so.
  virtual void enqueue_arrived(RequestId id, const Request& request) { enqueue(id, request); }
  // The data rank of a request that arrives now, which stays on it (Request::rank). Once for each,
  // before it is enqueued; only of an engine that has several.
  [[nodiscard]] virtual std::uint16_t choose_rank(TimeNs /*now_ns*/) { return 0; }

  // Fills `plan` (cleared by the caller) with the next step. KV moves here, through the context and
  // `kv.try_grow` for chunks; requests keep the states they had: the replica changes them
  // afterwards.
  virtual void plan(const PlanContext& context, BatchPlan& plan) = 0;

  // `id` has all its tokens, or its client has gone (it may be waiting in both cases). Returns
  // whether its row leaves now, or stays in the batch as a ghost row until no live row is left; a
  // waiting request always leaves. The replica releases the KV.
  [[nodiscard]] virtual bool on_leave(RequestId id) = 0;

  // Forget every admitted request: the engine died and restarts. The queue stays, but for those
  // that on_leave() is told of behind this.
  virtual void on_engine_lost() = 0;
};

}  // namespace headroom
