#include "workloads/adapter_source.hpp"

#include <utility>

#include "sim/kernel/check.hpp"
#include "workloads/length_laws/length_quantile.hpp"

namespace headroom {

AdapterSource::AdapterSource(std::unique_ptr<WorkloadSource> inner, const AdapterLaw& law,
                             std::uint64_t seed)
    : inner_(std::move(inner)),
      share_(law.share),
      popularity_(law.count, law.exponent),
      requests_(seed, "lora"),
      sessions_(seed, "lora/sessions") {
  HEADROOM_CHECK(inner_ != nullptr && law.share >= 0 && law.share <= 1, "a share of some requests");
}

Arrival AdapterSource::take() {
  Arrival arrival = inner_->take();
  const std::uint64_t number = taken_++;
  const CounterStream draws =
      arrival.session == kNoSession ? requests_.of(number) : sessions_.of(arrival.session);
  if (uniform_of(draws.bits(0)) < share_) {
    arrival.adapter = static_cast<std::int32_t>(popularity_(uniform_of(draws.bits(1))));
  }
  return arrival;
}

}  // namespace headroom
