#include "sim/serving/replica_tally.hpp"

#include <fmt/format.h>

#include "sim/kernel/check.hpp"

namespace headroom {

void ReplicaTally::report(const RequestRecord& record) {
  ++counts_.requests[static_cast<std::size_t>(record.outcome)];
  if (mostly(record.outcome == Outcome::finished)) counts_.prompt_tokens += record.prompt_tokens;
  counts_.output_tokens += record.output_tokens;
  if (record.outcome == Outcome::finished && record.first_token_ns >= 0) tell_answer(record);
  sink_.on_request(record);
}

void ReplicaTally::tell_answer(const RequestRecord& record) {
  if (tells_first_tokens() && answers_at_once_) {
    ttft_->add(record.first_token_ns - record.arrival_ns);
  }
  if (rarely(tpot_ != nullptr) && record.output_tokens > 1) {
    tpot_->add((record.finish_ns - record.first_token_ns) / (record.output_tokens - 1));
  }
}

void ReplicaTally::check_settled() const {
  HEADROOM_CHECK(settled_ == tokens_out_,
                 fmt::format("{} tokens came out, requests have {}", tokens_out_, settled_));
}

}  // namespace headroom
