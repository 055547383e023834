#pragma once
// What the naive engine knows between two steps, and the few things its policies may do with it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "tests/oracle/address_space.hpp"
#include "tests/oracle/block_pool.hpp"
#include "tests/oracle/naive_api_server.hpp"
#include "tests/oracle/oracle_types.hpp"

namespace headroom::oracle {

struct Sequence {
  TokenCount prompt = 0;     // P
  TokenCount output = 0;     // N, cut to M
  TokenCount max = 0;        // M
  TokenCount generated = 0;  // tokens that have come out
  TokenCount computed = 0;   // as planned; 0 while waiting; padding included
  TokenCount pad = 0;
  bool decodes = false;    // a planned chunk has reached `known`
  bool in_stages = false;  // pipeline stages: a step in flight samples its next token
  bool left = false;       // finished, rejected or cancelled
  bool given_up = false;   // its client has gone
  std::int32_t adapter = 0;
  TickSum last_token = 0;
  std::int64_t admission = 0;  // rank of the latest one

  [[nodiscard]] TokenCount known() const { return prompt + generated; }
  // Tokens in the KV that the engine can tell: the last one that has come out is fed by a step that
  // has not ended, if by any.
  [[nodiscard]] TokenCount with_content() const {
    return decodes ? std::min(computed, pad + known() - 1) : computed;
  }
  [[nodiscard]] bool has_all_tokens() const { return generated == output; }
  // Output tokens that are out or in flight reach M: nothing more will be planned for it.
  // A sequence that decodes feeds every planned token but the last.
  [[nodiscard]] bool is_ending() const { return decodes && planned_output() >= max; }
  [[nodiscard]] bool takes_decode() const { return decodes && !is_ending() && !in_stages; }
  // Output tokens that are out or will come from steps planned so far.
  [[nodiscard]] TokenCount planned_output() const {
    return decodes ? computed - pad - prompt + 1 : generated;
  }
};

// One row of a planned step.
struct PlannedRow {
  StepRow row;
  TokenCount context_before = 0;
};

// What TGI's router remembers (tgi.hpp).
struct RouterMemory {
  bool joined_others = false;  // the latest admission interrupted a running batch,
  bool step_since = true;      // and a step without one has been planned since
  StepCount tokens_since = 0;  // tokens since the latest admission, with that of the prefill
};

// What SGLang remembers (sglang.hpp, sglang_retraction.hpp).
struct SglangMemory {
  bool batch_is_full = false;
  std::vector<std::size_t> batch;  // the running batch, those that have finished since included
  std::vector<std::size_t>
      last;                 // the prefill batch that was planned last, if it was the last plan
  double ratio_from = 0.0;  // new_token_ratio `decodes_since` decode steps ago
  StepCount decodes_since = 0;
};

// Where LoRA adapters are (docs/semantics.md 29).
struct AdapterMemory {
  std::set<std::int32_t> batch;      // of the plan in progress, or of the latest step
  std::vector<std::int32_t> joined;  // by its admissions, in order
  std::vector<std::int32_t> idle;    // in host memory and not in the batch, the latest first
};

inline constexpr std::size_t kFreeSlot = SIZE_MAX;

// A slot of llama.cpp's server.
struct Slot {
  std::size_t request = kFreeSlot;
  std::int64_t given_back = 0;  // rank among all releases; 0 = never used
};

class NaiveState {
 public:
  explicit NaiveState(const Scenario& scenario);

  const Scenario& scenario;
  TimeNs now = 0;
  std::size_t steps_in_flight = 0;
  std::vector<Sequence> sequences;  // by request index
  std::vector<std::size_t> waiting;
  std::vector<std::size_t> running;
  std::optional<TimeNs> wake_up;  // set by a plan that came out empty
  BlockPool blocks;
  AddressSpace cells;
  std::vector<Slot> slots;
  RouterMemory router;
  SglangMemory sglang;
  AdapterMemory adapters;
  NaiveApiServer api;
  Result result;

  void arrive(std::size_t request);
  // Takes room for all `tokens` a request may ever need (orca, static); false if it has no room.
  [[nodiscard]] bool try_reserve(std::size_t request, TokenCount tokens);
  // Full blocks of its first `known` tokens can be found from now on.
  [[nodiscard]] bool try_grow(std::size_t request, TokenCount tokens, TokenCount known = 0);
  void release(std::size_t request, KvRelease how);
  // Puts a waiting request at the end of the running list, behind a prefix hit of `hit` tokens.
  void start(std::size_t request, TokenCount hit = 0);
  void start_head() { start(waiting.front()); }
  // Takes a running request out of the batch; the caller puts it back into the queue.
  void interrupt(std::size_t request, KvRelease how);
  void preempt(std::size_t request);  // to the front of the queue
  void preempt_last() { preempt(running.back()); }
  // A waiting request that can never be served leaves.
  void reject(std::size_t request);
  // llama.cpp's server found no cell: whoever has a slot leaves, and no slot has been used.
  void fail_slots();
  // The client of `request` goes, after all step ends and arrivals of `now`. `plans_now`: plans are
  // made in this nanosecond. `in_flight`: a planned step that has not ended samples its row.
  void give_up(std::size_t request, bool plans_now, bool in_flight);
  // Plans `tokens` for a running request and moves `computed`.
  [[nodiscard]] PlannedRow plan_row(std::size_t request, TokenCount tokens);
  // The batch without those that admissions add: before the rows of a plan are.
  [[nodiscard]] std::set<std::int32_t> adapters_of_batch() const;
  // The step is planned: moves adapters, and says how long that takes.
  [[nodiscard]] Ticks load_adapters();
  // The effects of the end of a step at `instant`; whether it yielded a token.
  bool end_step(const std::vector<StepRow>& rows, TickSum instant);

 private:
  void introduce(std::size_t request);
  [[nodiscard]] bool batch_keeps_rows() const { return scenario.policy == Policy::static_batch; }
  void yield_token(std::size_t request, TickSum instant);
  void finish(std::size_t request, TickSum instant);
  void answer_finished(TickSum instant);
  void tell(std::size_t request, TickSum instant);
  void finish_sequences(TickSum instant);
  void finish_static_batch(TickSum instant);
  void withdraw(std::size_t request);
  void leave_running(std::size_t request);
  void lose(std::size_t request, Outcome outcome);
  void note_peaks();

  std::int64_t admissions_ = 0;
  std::vector<std::size_t> finished_;  // in this step
  std::vector<std::size_t> leaving_;   // their clients have gone; they leave at the next step end
};

}  // namespace headroom::oracle
