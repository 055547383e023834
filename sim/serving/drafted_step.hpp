#pragma once
// Speculative decoding (docs/semantics.md 24): the step in flight, its rows and what comes out of
// their drafts. Steps come one by one, and a decoding row yields several tokens at the end of one.
//
// Sums elsewhere count one token per row and decode step. Here the difference is booked: a row that
// yields e tokens in a step has `generated` and its computed tokens moved up by e - 1, and its last
// decode step moved earlier by as many; a row that sits a step out counts as one with e = 0. Steps
// in which the decodes pause are none of its own.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/draft_acceptance.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/replica_core.hpp"
#include "sim/serving/step_pipeline.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

class DraftedStep {
 public:
  // `verified_tokens`: of a row and step at most, its own token included; 0: 1 + its drafts. More
  // of them are a tree of drafts, of which a path as long as the drafts may be accepted.
  DraftedStep(DraftAcceptance acceptance, std::int32_t verified_tokens)
      : acceptance_(std::move(acceptance)),
        most_tokens_(verified_tokens > 0 ? verified_tokens : 1 + acceptance_.drafts()) {}

  // Drafts of a row and step at most; 0: no speculative decoding, and nothing below is called.
  [[nodiscard]] std::int32_t drafts() const { return acceptance_.drafts(); }

  // `segment` is planned, with these rows. `latest_tokens`: when the clients had the tokens of the
  // step before.
  void plan(std::span<const VerifiedRow> rows, TickSum latest_tokens, Segment& segment,
            ReplicaCore& core);
  // Decides what comes out of the step, which ends at `end`. Returns the rows that yielded nothing
  // in the step before; their gaps are told one by one.
  [[nodiscard]] std::int64_t draw(TickSum end, ReplicaCore& core);
  // The step has ended: its tokens are out.
  void yield(ReplicaCore& core);

  // Between draw() and yield(): of the rows that have drafts, and the tokens beyond one of each
  // row.
  [[nodiscard]] std::span<const VerifiedDrafts> outcomes() const { return outcomes_; }
  [[nodiscard]] TokenCount extra_tokens() const { return extra_tokens_; }

 private:
  void sit_out(RequestId id, TickSum latest_tokens, ReplicaCore& core);

  DraftAcceptance acceptance_;     // as constructed
  std::int32_t most_tokens_;       // the constructor
  std::vector<VerifiedRow> rows_;  // plan() makes them; with draw() they say what comes out
  // draw() writes, yield() clears.
  std::vector<VerifiedDrafts> outcomes_;
  TokenCount extra_tokens_ = 0;
};

}  // namespace headroom
