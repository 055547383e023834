#include "scheduler/kv/sample_forks.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"

namespace headroom {

// 0: no other request has it.
std::uint64_t SampleForks::prompt_of(const Request& request) {
  const bool whole = request.prefix.size() == 1 && !request.prompt_logprobs &&
                     request.prefix[0].tokens == request.prompt_tokens;
  return whole ? request.prefix[0].id : 0;
}

TokenCount SampleForks::found(const Request& request) const {
  if (!holders_.contains(prompt_of(request))) return 0;
  return std::min(request.prompt_tokens, request.known_tokens - 1);
}

void SampleForks::fork(const Request& request) {
  ++holders_.at(prompt_of(request));
  shared_blocks_ += blocks(request);
}

bool SampleForks::offer(const Request& request) {
  const std::uint64_t prompt = prompt_of(request);
  return prompt != 0 && holders_.try_emplace(prompt, 1).second;
}

bool SampleForks::leave(const Request& request) {
  const auto prompt = holders_.find(prompt_of(request));
  HEADROOM_CHECK(prompt != holders_.end(), "a fork of an unknown prompt leaves");
  if (--prompt->second > 0) {
    shared_blocks_ -= blocks(request);
    return false;
  }
  holders_.erase(prompt);
  return true;
}

void SampleForks::on_engine_lost() {
  holders_.clear();
  shared_blocks_ = 0;
}

}  // namespace headroom
