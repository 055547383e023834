#pragma once
// Request-level batches (HF generate, FasterTransformer; docs/semantics.md 9, ENGINES.md 3.7, 3.9):
// a batch is formed when none runs, padded to its longest prompt, and decodes until its last row is
// done. Rows that end earlier stay as ghost rows.
//
// With an allocator that reserves, every row holds (longest prompt + largest max_tokens) from the
// start. With one that grows (a concatenating cache), nothing is set aside, and a pool that runs
// out while the batch decodes is a run-time OOM: the engine dies. The same happens if the batch is
// not sized to the pool and its prefill does not fit.
//
// Preferred sizes are those of Triton's dynamic batcher (its dynamic_batch_scheduler.cc).

#include <cstdint>
#include <vector>

#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/batching/request_list.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

// The dynamic batcher's options (Triton: model_config.proto).
struct StaticScheduling {
  double batch_wait_ms = 0;  // wait for a full batch at most so long
  std::vector<std::int64_t> preferred_batch_size;
  bool stream = false;
};

class StaticScheduler final : public BatchScheduler {
 public:
  explicit StaticScheduler(const SchedulerOptions& options);

  void enqueue(RequestId id, const Request& request) override;
  void plan(const PlanContext& context, BatchPlan& plan) override;
  [[nodiscard]] bool on_leave(RequestId id) override;
  void on_engine_lost() override;

 private:
  struct Shape {
    std::int32_t rows = 0;
    std::int32_t prompt_tokens = 0;  // longest
    std::int32_t max_tokens = 0;     // largest
  };
  void continue_batch(const PlanContext& context, BatchPlan& plan) const;
  void start_batch(const PlanContext& context, std::int64_t most, BatchPlan& plan);
  [[nodiscard]] static BlockCount blocks_of(const Shape& batch, const KvAllocator& kv);
  void fail_batch(const Shape& batch, const KvAllocator& kv, BatchPlan& plan);
  [[nodiscard]] std::int64_t rows_to_send(const PlanContext& context, BatchPlan& plan) const;
  [[nodiscard]] Shape next_batch(const PlanContext& context, std::int64_t most) const;

  SchedulerOptions options_;
  TimeNs batch_wait_ns_;
  // Ascending, up to max_num_seqs: batches of these sizes do not wait.
  std::vector<std::int64_t> preferred_batch_sizes_;
  RequestList waiting_;
  std::int64_t live_rows_ = 0;  // rows of the running batch that still lack tokens
};

[[nodiscard]] const BatchPolicy& static_policy();

}  // namespace headroom
