#pragma once
// Prompts whose blocks others find only when the engine has processed the step that computed them:
// SGLang inserts them into its tree then, TensorRT-LLM stores them. Requests that are planned
// before that compute the same prefix once more.

#include <cstdint>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/batch_scheduler.hpp"

namespace headroom {

class LatePrefixes {
 public:
  // `is_on`: requests look for cached prefixes at all.
  explicit LatePrefixes(bool is_on) : is_on_(is_on) {}

  // The plan being made computes the first `tokens` of `id`; other requests can find them from the
  // `plans`-th plan after it on (>= 1), with pipeline stages that of its micro-batch.
  void add(RequestId id, TokenCount tokens, std::int32_t plans, std::int32_t micro_batch = 0) {
    if (is_on_) pending_.push_back({id, tokens, plans, micro_batch});
  }
  // `id` is out of the batch: what it leaves behind is its release's to say.
  void forget(RequestId id) {
    if (!pending_.empty()) std::erase_if(pending_, [id](const Entry& e) { return e.id == id; });
  }
  void clear() { pending_.clear(); }

  // The plan that is being made must not be repeated: the next one makes something known.
  [[nodiscard]] bool any() const { return !pending_.empty(); }

  // At the beginning of every plan.
  void publish_due(const PlanContext& context) {
    if (mostly(pending_.empty())) return;
    std::erase_if(pending_, [&context](Entry& entry) {
      if (entry.micro_batch != context.micro_batch || --entry.plans > 0) return false;
      const bool done = context.kv.try_grow(
          {.id = entry.id, .request = &context.requests[entry.id], .hold_tokens = entry.tokens});
      HEADROOM_CHECK(done, "blocks that are held are made known");
      return true;
    });
  }

 private:
  struct Entry {
    RequestId id = kNoRequest;
    TokenCount tokens = 0;
    std::int32_t plans = 1;
    std::int32_t micro_batch = 0;
  };
  bool is_on_;
  std::vector<Entry> pending_;  // in the order of their plans
};

}  // namespace headroom
