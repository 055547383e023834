#pragma once
// What the naive engine knows between two steps, and the few things its policies may do with it.

#include <cstddef>
#include <optional>
#include <vector>

#include "tests/oracle/address_space.hpp"
#include "tests/oracle/block_pool.hpp"
#include "tests/oracle/oracle_types.hpp"

namespace headroom::oracle {

struct Sequence {
  TokenCount prompt = 0;     // P
  TokenCount output = 0;     // N, cut to M
  TokenCount max = 0;        // M
  TokenCount generated = 0;  // tokens that have come out
  TokenCount computed = 0;   // as planned; 0 while waiting; padding included
  TokenCount pad = 0;
  bool decodes = false;   // a planned chunk has reached `known`
  bool left = false;      // finished, rejected or cancelled
  bool given_up = false;  // its client has gone
  TickSum last_token = 0;

  [[nodiscard]] TokenCount known() const { return prompt + generated; }
  [[nodiscard]] bool has_all_tokens() const { return generated == output; }
  // Output tokens that are out or in flight reach M: nothing more will be planned for it.
  // A sequence that decodes feeds every planned token but the last.
  [[nodiscard]] bool is_ending() const { return decodes && computed - pad - prompt + 1 >= max; }
};

// One row of a planned step.
struct PlannedRow {
  StepRow row;
  TokenCount context_before = 0;
};

class NaiveState {
 public:
  explicit NaiveState(const Scenario& scenario);

  const Scenario& scenario;
  TimeNs now = 0;
  std::vector<Sequence> sequences;  // by request index
  std::vector<std::size_t> waiting;
  std::vector<std::size_t> running;
  std::optional<TimeNs> wake_up;  // set by a plan that came out empty
  BlockPool blocks;
  AddressSpace cells;
  Result result;

  void arrive(std::size_t request);
  // Takes room for all `tokens` a request may ever need (orca, static); false if it has no room.
  [[nodiscard]] bool try_reserve(std::size_t request, TokenCount tokens);
  [[nodiscard]] bool try_grow(std::size_t request, TokenCount tokens);
  void release(std::size_t request, bool keep_identity);
  // The head of the waiting queue becomes the last of the running list.
  void start_head();
  void preempt_last();
  // The client of `request` goes, after all step ends and arrivals of `now`. `plans_now`: plans are
  // made in this nanosecond. `in_flight`: a planned step that has not ended samples its row.
  void give_up(std::size_t request, bool plans_now, bool in_flight);
  // Plans `tokens` for a running request and moves `computed`.
  [[nodiscard]] PlannedRow plan_row(std::size_t request, TokenCount tokens);
  // The effects of the end of a step at `instant`; whether it yielded a token.
  bool end_step(const std::vector<StepRow>& rows, TickSum instant);

 private:
  [[nodiscard]] bool batch_keeps_rows() const { return scenario.policy == Policy::static_batch; }
  void yield_token(std::size_t request, TickSum instant);
  void finish(std::size_t request, TickSum instant);
  void finish_sequences(TickSum instant);
  void finish_static_batch(TickSum instant);
  void withdraw(std::size_t request);
  void note_peaks();

  std::vector<std::size_t> leaving_;  // their clients have gone; they leave at the next step end
};

}  // namespace headroom::oracle
