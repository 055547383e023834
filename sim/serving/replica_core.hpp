#pragma once
// What all parts of a replica work on: its requests and their stories, the sums over them, their
// KV, and where the replica stands in time. Functions that need several of these are here; a
// function that needs one of them is a member of that one.
//
// Other parts keep a reference to it. They are layers, each of which uses those before it and knows
// none behind it: ReplicaReports tells others, ReplicaExits lets requests leave, StepEnds and
// StepPlans move time on, ReplicaOutage is about engines that die, and Replica takes requests and
// events.
//
// Invariants, which check() recomputes from the requests:
// 1. `sums` are those of the requests that are here, as of step time.applied().
// 2. The pool holds the blocks of those that have any, and no others.
// 3. Rows of `adapters` are the requests that use one and take part in plans.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/serving/adapter_slots.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/kv_handover.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/remote_requests.hpp"
#include "sim/serving/replica_features.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/request_story.hpp"
#include "sim/serving/resident_sums.hpp"
#include "sim/serving/step_timeline.hpp"
#include "sim/serving/token_gaps.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

struct ReplicaCore {
  ReplicaCore(std::uint16_t own_number, ReplicaOptions own_options, KvAllocator& kv_pool,
              std::optional<AdapterSlots> adapter_slots);

  // Writers: the layers; DraftedStep and WindowMoves add stops.
  StepTimeline time;
  // Writers: every function that changes the state or the tokens of a request, along with it; the
  // scheduler counts the step it plans.
  ResidentSums sums;
  // Writers: the layers, RemoteRequests::begin(), DraftedStep and WindowMoves::change().
  RequestPool requests;
  std::vector<RequestStory> stories;  // by RequestId; written along with `requests`
  // Writers: the scheduler, and functions that take blocks for requests or let them leave.
  KvAllocator& kv;
  TokenGaps gaps;         // writers: StepEnds, interrupt(), DraftedStep::draw()
  RemoteRequests remote;  // writers: the layers
  // Empty: LoRA is off. Writers: the scheduler lets requests join, the layers let them leave.
  std::optional<AdapterSlots> adapters;
  ReplicaFeatures features;  // writer: the constructor of Replica
  // Head of the queue that placement kept out. Writers: StepPlans, remove().
  RequestId refused_by_placement = kNoRequest;
  std::uint16_t number;    // of the replica; the constructor
  ReplicaOptions options;  // the constructor

  // Tokens that are out by now.
  [[nodiscard]] std::int32_t generated(RequestId id) const {
    return stories[id].generated_by(time, requests[id]);
  }
  // Those of the answer to request `index`, as its client sees them; empty: it is not here. 0 until
  // the end where clients see nothing before.
  [[nodiscard]] std::optional<std::int32_t> tokens_of(RequestId id, std::uint64_t index) const;
  // Whether the client of request `id`, which arrived as number `index`, will still wait here at
  // `time_ns` for its answer (`first_token`: for the beginning of it), as far as is known now.
  [[nodiscard]] bool awaits(RequestId id, std::uint64_t index, bool first_token,
                            TimeNs time_ns) const;
  // Tokens with KV, as applied.
  [[nodiscard]] TokenCount held(RequestId id) const {
    return computed_by(requests[id], time.applied_decodes(requests[id].micro_batch));
  }
  // What it holds when it ends in the batch.
  [[nodiscard]] TokenCount final_tokens(RequestId id) const {
    const Request& request = requests[id];
    return TokenCount{request.pad_tokens} + request.prompt_tokens + stories[id].output_tokens - 1;
  }
  // Says later whether `id` is still the same request, in the same stay.
  [[nodiscard]] KvHold stay(RequestId id) const { return {id, time.stops().epoch(id)}; }
  // In place: a copy of what was just written in smaller parts would wait for it.
  void read_state(ReplicaState& now) const;
  [[nodiscard]] ReplicaState state() const {
    ReplicaState now;
    read_state(now);
    return now;
  }

  // With pipeline stages: what follows is about that micro-batch.
  void choose(std::int32_t micro_batch) {
    time.choose(micro_batch);
    sums.choose(micro_batch);
  }
  // The others, as a plan sees them; O(micro-batches).
  [[nodiscard]] std::span<const PlannedMicroBatch> other_micro_batches();

  // Of a request that comes to this replica.
  RequestStory& begin_story(RequestId id) {
    if (id >= stories.size()) [[unlikely]] {
      stories.resize(id + 1);
      time.track(id);
    }
    stories[id] = {};
    stories[id].here = true;
    return stories[id];
  }
  void enter_queue(RequestId id) { sums.enter_queue(remote.queued_tokens(id, requests[id])); }
  void leave_queue(RequestId id) { sums.leave_queue(remote.queued_tokens(id, requests[id])); }
  // A running request gives up what it holds.
  void leave_batch(RequestId id);
  // It takes part in no further plans.
  void leave_adapter(const Request& request) {
    if (rarely(adapters.has_value())) leave_its_adapter(request);
  }
  // The scheduler has taken it out of the batch and released its KV. `latest_tokens`: when clients
  // had the latest tokens that are out. Returns the tokens that it held, as planned.
  TokenCount preempt(RequestId id, TickSum latest_tokens);
  // All max_tokens of a decoding request are planned: its last step is in flight, and later plans
  // go without it.
  void leave_plans(RequestId id);
  // A step without the decoding rows ends at the next instant: they stand by, and those that it
  // lets begin join them. Latest tokens came out at `before` it, and at `after` it.
  void note_pause(const Segment& segment, TickSum before, TickSum after);
  // A decoding row leaves the batch: it is no longer among those that stand by.
  void leave_pause(RequestId id);
  // Rows of steps in flight stay as priced, but yield nothing for this running request. Returns how
  // many of them would have yielded its first token.
  [[nodiscard]] std::int64_t forget_in_flight(RequestId id);
  // The request is gone.
  void remove(RequestId id);
  // Nothing is in flight any more, and nobody is in the batch; requests have been removed. Tokens
  // of steps that have ended are out.
  void on_engine_lost();

  // Whether features that do not go together do.
  void check_features() const;
  // Recomputes every sum from the requests themselves (VERIFICATION V0.3, V0.4). O(requests).
  // `slots_ahead`: KV slots that a row may hold behind its own tokens.
  void check(std::int32_t slots_ahead) const;

 private:
  std::vector<PlannedMicroBatch> other_micro_batches_;  // other_micro_batches() fills it

  void interrupt(RequestId id, TickSum latest_tokens);
  [[nodiscard]] TokenCount unnamed_tokens(RequestId id) const;
  void leave_its_adapter(const Request& request);
  void check_adapters() const;
  void check_blocks(BlockCount blocks, std::int32_t slots_ahead) const;
};

}  // namespace headroom
