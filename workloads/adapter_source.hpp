#pragma once
// Gives requests of a workload a LoRA adapter.

#include <cstdint>
#include <memory>

#include "sim/serving/workload_source.hpp"
#include "workloads/counter_stream.hpp"
#include "workloads/popularity.hpp"

namespace headroom {

struct AdapterLaw {
  std::int64_t count = 1;  // 1 .. kMaxPopularItems
  double share = 1;        // of the sessions that use one
  double exponent = 0;     // popularity of adapter k ~ k^-exponent
};

// All requests of a session use the same adapter, or none. Drawn from the stream "lora" by the
// session, or by the number of a request without one: whatever else is drawn, and in which order,
// the adapter stays.
class AdapterSource final : public WorkloadSource {
 public:
  AdapterSource(std::unique_ptr<WorkloadSource> inner, const AdapterLaw& law, std::uint64_t seed);

  [[nodiscard]] TimeNs next_time() override { return inner_->next_time(); }
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override {
    inner_->on_done(index, outcome, now_ns);
  }

 private:
  std::unique_ptr<WorkloadSource> inner_;
  double share_;
  Popularity popularity_;
  CounterStream requests_;
  CounterStream sessions_;
  std::uint64_t taken_ = 0;
};

}  // namespace headroom
