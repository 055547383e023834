#include "workloads/prompt_logprobs_source.hpp"

#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {

PromptLogprobsSource::PromptLogprobsSource(std::unique_ptr<WorkloadSource> inner, double share,
                                           std::uint64_t seed)
    : inner_(std::move(inner)), share_(share), stream_(seed, "prompt_logprobs") {
  HEADROOM_CHECK(inner_ != nullptr && share >= 0 && share <= 1, "a share of some requests");
}

Arrival PromptLogprobsSource::take() {
  Arrival arrival = inner_->take();
  arrival.prompt_logprobs = stream_.uniform() < share_;
  return arrival;
}

}  // namespace headroom
