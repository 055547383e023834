#pragma once
// Marks a share of a workload's requests as asking for log-probabilities of their prompts.

#include <cstdint>
#include <memory>

#include "sim/kernel/random.hpp"
#include "sim/serving/workload_source.hpp"

namespace headroom {

// One draw per request in the order of arrival, from the stream "prompt_logprobs": whether a
// request is marked depends on the seed and its number alone.
class PromptLogprobsSource final : public WorkloadSource {
 public:
  // share: 0 to 1
  PromptLogprobsSource(std::unique_ptr<WorkloadSource> inner, double share, std::uint64_t seed);

  [[nodiscard]] TimeNs next_time() override { return inner_->next_time(); }
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override {
    inner_->on_done(index, outcome, now_ns);
  }

 private:
  std::unique_ptr<WorkloadSource> inner_;
  double share_;
  RandomStream stream_;
};

}  // namespace headroom
