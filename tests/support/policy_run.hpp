#pragma once
// A handful of arrivals through one replica with given parts, every step written down: for tests
// that hold a policy beside its specification.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/serving/fleet.hpp"
#include "tests/oracle/oracle_types.hpp"

namespace headroom::test {

struct PolicySetup {
  std::unique_ptr<BatchScheduler> scheduler;
  std::unique_ptr<KvAllocator> kv;
  ReplicaOptions options;  // max_sequences, max_step_tokens, pipeline_depth, single_step, ...
  AdmissionLimits limits;  // max_request_tokens 0: the whole pool
  TierLinks tier;
  RunTimeMemory memory;  // nothing grows
  std::optional<AdapterSlots> adapters = {};
  // 10 us a step, 1 us a prompt token, a decoding row, or a draft.
  oracle::AffineCost cost{.step = 10'000 * kTicksPerNs,
                          .decode_row = 1'000 * kTicksPerNs,
                          .chunk_token = 1'000 * kTicksPerNs,
                          .draft_token = 1'000 * kTicksPerNs};
};

struct PolicyStep {
  TimeNs begin_ns = 0;
  TimeNs end_ns = 0;
  std::int64_t decode_rows = 0;
  std::int64_t chunk_rows = 0;
  TokenCount chunk_tokens = 0;
  TokenCount draft_tokens = 0;
  BlockCount used_blocks = 0;
  std::int64_t waiting = 0;
};

struct PolicyRun {
  std::vector<PolicyStep> steps;
  std::vector<RequestRecord> requests;  // by order of arrival
  std::vector<EngineEvent> events;      // `state` and `shortage` are not kept
  std::vector<MemoryShortage> shortages;
  std::int64_t accepted_drafts = 0;
  StopReason reason = StopReason::drained;
  KvTierCounts tier;
  AdapterCounts adapters;
  std::int64_t ghost_rows = 0;

  // Arrival indices of the events of one kind, in order.
  [[nodiscard]] std::vector<std::uint64_t> order_of(EngineEventKind kind) const;
};

[[nodiscard]] PolicyRun run_policy(PolicySetup setup, std::vector<Arrival> arrivals);

// Requires that jumps, single steps and random cuts give the same records, steps and events.
// `make` builds the parts anew for each run.
void check_cut_invariance(const std::function<PolicySetup()>& make,
                          const std::vector<Arrival>& arrivals, std::uint64_t seeds = 3);

}  // namespace headroom::test
