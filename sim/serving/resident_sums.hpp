#pragma once
// The requests in a replica, as sums that every event reads in O(1). This is the only place that
// writes them. Replica::check_all() computes them again from the requests.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/kernel/likely.hpp"
#include "sim/serving/decode_set.hpp"
#include "sim/serving/kv_allocator.hpp"
#include "sim/serving/request.hpp"
#include "sim/serving/types.hpp"

namespace headroom {

// Tokens are computed ones, as applied (StepTimeline), unless said otherwise.
class ResidentSums {
 public:
  // `decode_block_tokens`: as a DecodeSet takes it. `micro_batches`: of pipeline stages, each with
  // decoding rows of its own; functions that name none are about the one that was chosen last.
  ResidentSums(const KvAllocator& kv, std::int32_t decode_block_tokens,
               std::int32_t micro_batches = 1);

  void choose(std::int32_t micro_batch) {
    if (mostly(micro_batch == micro_batch_)) return;
    std::swap(decodes_, others_[static_cast<std::size_t>(micro_batch_)]);
    std::swap(decodes_, others_[static_cast<std::size_t>(micro_batch)]);
    micro_batch_ = micro_batch;
  }
  // By micro-batch; that which is chosen stands elsewhere. Empty without pipeline stages.
  [[nodiscard]] std::span<DecodeSet> others_to_plan() { return others_; }

  [[nodiscard]] std::int64_t residents() const { return residents_; }  // ghosts included
  [[nodiscard]] std::int64_t ghosts() const { return ghosts_; }
  [[nodiscard]] std::int64_t running() const { return residents_ - ghosts_; }
  [[nodiscard]] std::int64_t waiting() const { return waiting_; }
  [[nodiscard]] TokenCount waiting_tokens() const { return waiting_tokens_; }  // known ones
  // What the ids of all who hold KV keep (SequenceBlocks::kept).
  [[nodiscard]] TokenCount kept() const {
    const TokenCount tokens = decodes_.kept_sum() + other_kept_;
    return mostly(others_.empty()) ? tokens : tokens + kept_in_others();
  }
  // Tokens that the residents (without ghosts) will hold at their end, and do not hold yet.
  [[nodiscard]] TokenCount still_to_come() const {
    return final_tokens_ - (kept() - ghost_tokens_);
  }
  [[nodiscard]] std::int32_t decode_block_tokens() const { return decode_block_tokens_; }
  [[nodiscard]] const DecodeSet& decodes() const { return decodes_; }
  // For a plan, which counts its own step and takes out those that it preempts.
  [[nodiscard]] DecodeSet& decodes_to_plan() { return decodes_; }
  // The same of each data rank; empty: there is one.
  [[nodiscard]] std::span<const DecodeSet> rank_decodes() const { return rank_decodes_; }
  [[nodiscard]] std::span<DecodeSet> rank_decodes_to_plan() { return rank_decodes_; }
  // Of those with whom `request` shares a pool.
  [[nodiscard]] const DecodeSet& decodes_beside(const Request& request) const {
    return rarely(has_ranks()) ? rank_decodes_[request.rank] : decodes_;
  }

  // One that waits for `tokens` to be computed.
  void enter_queue(TokenCount tokens) {
    ++waiting_;
    waiting_tokens_ += tokens;
  }
  void leave_queue(TokenCount tokens) {
    --waiting_;
    waiting_tokens_ -= tokens;
  }

  // Into the batch, and out of it. `final_tokens`: what it holds when it ends there.
  void enter_batch(TokenCount final_tokens) {
    ++residents_;
    final_tokens_ += final_tokens;
  }
  void leave_batch(TokenCount final_tokens) {
    --residents_;
    final_tokens_ -= final_tokens;
  }

  // A request that does not decode starts to hold `tokens`, releases them, or holds more of them.
  void hold(TokenCount tokens) { other_kept_ += kept_of(tokens); }
  void let_go(TokenCount tokens) { other_kept_ -= kept_of(tokens); }
  void grow(TokenCount before, TokenCount after) {
    other_kept_ += kept_of(after) - kept_of(before);
  }

  // `request` runs in every step from the next one on, with `held` tokens; and no longer does.
  void begin_decoding(const Request& request, TokenCount held) {
    rows_beside(request).join(kv_->row_of(request, held));
    if (rarely(has_ranks())) rank_decodes_[request.rank].join(kv_->row_of(request, held));
  }
  void end_decoding(const Request& request, TokenCount held) {
    rows_beside(request).leave(kv_->row_of(request, held));
    if (rarely(has_ranks())) rank_decodes_[request.rank].leave(kv_->row_of(request, held));
  }
  // A decoding row that yields none, or several tokens in a step: `held` becomes `tokens`.
  void correct_decoding(Request& request, TokenCount held, TokenCount tokens) {
    end_decoding(request, held);
    request.ids_per_block = kv_->sequence().ids_per_block(tokens);
    begin_decoding(request, tokens);
  }
  // Repetitions of the last plan.
  void advance(StepCount steps) {
    decodes_.advance(steps);
    for (DecodeSet& decodes : rank_decodes_) decodes.advance(steps);
    ghost_tokens_ += ghosts_ * steps;
  }
  // A step is planned; the scheduler has counted it in decodes_to_plan().
  void advance_ghosts() { ghost_tokens_ += ghosts_; }

  // A decoding row with `held` tokens stays in the batch behind its end (docs/semantics.md 9).
  void become_ghost(TokenCount held, TokenCount final_tokens) {
    final_tokens_ -= final_tokens;
    ghost_tokens_ += held;
    ++ghosts_;
  }
  // All of them leave; each has ended decoding.
  void retire_ghosts() {
    residents_ -= ghosts_;
    ghosts_ = 0;
    ghost_tokens_ = 0;
  }

  // All requests in the batch are gone; the queue stays.
  void forget_batch() {
    decodes_ = DecodeSet(decode_block_tokens_);
    rank_decodes_.assign(rank_decodes_.size(), decodes_);
    std::ranges::fill(others_, decodes_);
    residents_ = ghosts_ = other_kept_ = final_tokens_ = ghost_tokens_ = 0;
  }

  // The same, but empty.
  [[nodiscard]] ResidentSums of_nobody() const {
    ResidentSums sums(*kv_, decode_block_tokens_,
                      others_.empty() ? 1 : static_cast<std::int32_t>(others_.size()));
    sums.choose(micro_batch_);
    return sums;
  }
  // Whether those that requests can tell of are the same: queue, batch, and what they hold.
  void check_same(const ResidentSums& expected) const;

 private:
  [[nodiscard]] bool has_ranks() const { return !rank_decodes_.empty(); }
  [[nodiscard]] TokenCount kept_of(TokenCount tokens) const { return kv_->sequence().kept(tokens); }
  [[nodiscard]] TokenCount kept_in_others() const;
  [[nodiscard]] DecodeSet& rows_beside(const Request& request) {
    return mostly(request.micro_batch == micro_batch_)
               ? decodes_
               : others_[static_cast<std::size_t>(request.micro_batch)];
  }

  const KvAllocator* kv_;
  std::int32_t decode_block_tokens_;
  std::int64_t residents_ = 0;
  std::int64_t ghosts_ = 0;
  std::int64_t waiting_ = 0;
  TokenCount waiting_tokens_ = 0;
  TokenCount other_kept_ = 0;  // of those that do not decode
  TokenCount final_tokens_ = 0;
  TokenCount ghost_tokens_ = 0;
  DecodeSet decodes_;
  std::vector<DecodeSet> rank_decodes_;
  std::int32_t micro_batch_ = 0;
  std::vector<DecodeSet> others_;  // by micro-batch; that of micro_batch_ is empty
};

}  // namespace headroom
