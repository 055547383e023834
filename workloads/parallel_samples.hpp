#pragma once
// Parallel sampling (`n` of the OpenAI API): every prompt of another workload is answered n times.
// As in vLLM V1 each answer is a request of its own: the children arrive together, with the same
// prompt, and share its full KV blocks through the prefix cache of an engine that has one. The rest
// of the prompt is kept once for each child. V0 forks one sequence instead, without a cache: then
// the whole prompt is one piece that only its children have.
//
// Where the pieces of a prompt end, a piece of its own follows, up to the end of the prompt: it is
// the children's alone.
//
// Limits: all children have the prompt's output length; later turns of a session go on behind the
// first child's answer.
//
// The inner workload is told of a prompt when its last child has left: as finished, or with the
// first other outcome among its children. Memory: prompts in the system.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/serving/workload_source.hpp"

namespace headroom {

class ParallelSamples final : public WorkloadSource {
 public:
  // `samples` >= 1.
  ParallelSamples(std::unique_ptr<WorkloadSource> inner, std::int64_t samples,
                  bool one_piece = false);

  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

 private:
  using Slot = std::size_t;

  struct Prompt {
    Arrival arrival;
    std::vector<PrefixSegment> pieces;  // what arrival.prefix refers to
    std::int64_t in_system = 0;         // children that have not left
    Outcome outcome = Outcome::finished;
  };

  void take_prompt();

  std::unique_ptr<WorkloadSource> inner_;
  std::uint64_t samples_;
  bool one_piece_;
  std::deque<Prompt> prompts_;  // by slot; addresses stay
  std::vector<Slot> free_;
  std::unordered_map<std::uint64_t, Slot> open_;  // by number of the prompt; never iterated
  std::uint64_t taken_ = 0;                       // children in all
};

}  // namespace headroom
