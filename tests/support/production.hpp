#pragma once
// Runs a small scenario of the oracle through the production event loop.

#include <cstdint>
#include <memory>

#include "sim/serving/fleet.hpp"
#include "tests/oracle/oracle_types.hpp"

namespace headroom::test {

struct ProductionOptions {
  bool single_step = false;
  std::uint64_t cut_seed = 0;    // != 0: every run of steps is cut at random places as well
  StopReason* reason = nullptr;  // where to write why the run ended
};

// The same results as the oracle's, from the production code. `timeline` stays empty.
[[nodiscard]] oracle::Result run_production(const oracle::Scenario& scenario,
                                            const ProductionOptions& options = {});

// Parts of one replica for `scenario`; for tests that bring their own workload or sink.
[[nodiscard]] ReplicaParts make_parts(const oracle::Scenario& scenario,
                                      const ProductionOptions& options = {});

// The arrivals of a scenario, as they are.
class ListSource final : public WorkloadSource {
 public:
  explicit ListSource(std::vector<Arrival> arrivals) : arrivals_(std::move(arrivals)) {}
  [[nodiscard]] TimeNs next_time() override {
    return next_ < arrivals_.size() ? arrivals_[next_].time_ns : kNever;
  }
  [[nodiscard]] Arrival take() override { return arrivals_[next_++]; }
  void on_done(std::uint64_t, Outcome, TimeNs) override {}

 private:
  std::vector<Arrival> arrivals_;
  std::size_t next_ = 0;
};

// Price by whole coefficients; exactly affine while the batch stays.
class AffineStepCost final : public StepCost {
 public:
  explicit AffineStepCost(const oracle::AffineCost& cost) : cost_(cost) {}
  void price(const StepShape& shape, StepPrice& price) const override;

 private:
  oracle::AffineCost cost_;
};

}  // namespace headroom::test
