#pragma once
// The answers to one prompt as vLLM V0 kept them: forks of one sequence, which share its full
// blocks without a prefix cache. They shared a partly filled last block of the prompt until they
// wrote to it: all but the last writer copied it (copy on write). All write in the step after the
// prompt's, so here a fork has its copy from its admission on.
//
// A prompt is identified by its only piece, which only its answers may have.

#include <cstdint>
#include <unordered_map>

#include "sim/serving/request.hpp"

namespace headroom {

class SampleForks {
 public:
  explicit SampleForks(std::int32_t block_tokens) : block_tokens_(block_tokens) {}

  // Tokens that a running answer to the same prompt has computed, less one that is computed again
  // for the answer's first token; 0 if there is none.
  [[nodiscard]] TokenCount found(const Request& request) const;
  // Full blocks of the prompt.
  [[nodiscard]] BlockCount blocks(const Request& request) const {
    return request.prompt_tokens / block_tokens_;
  }
  // Whether a fork has to copy the last block of the prompt.
  [[nodiscard]] bool copies(const Request& request) const {
    return request.prompt_tokens % block_tokens_ > 0;
  }
  // `request` shares the blocks of the prompt from now on.
  void fork(const Request& request);
  // It has computed its prompt by itself: true if others can fork from it now, so that the prompt's
  // blocks are no longer its own.
  [[nodiscard]] bool offer(const Request& request);
  // One that shares them leaves: true if it was the last.
  [[nodiscard]] bool leave(const Request& request);
  void on_engine_lost();

  // Counted once for each holder but the first.
  [[nodiscard]] BlockCount shared_blocks() const { return shared_blocks_; }

 private:
  [[nodiscard]] static std::uint64_t prompt_of(const Request& request);

  std::int32_t block_tokens_;
  std::unordered_map<std::uint64_t, std::int32_t> holders_;  // by prompt; never iterated
  BlockCount shared_blocks_ = 0;
};

}  // namespace headroom
