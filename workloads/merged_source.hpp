#pragma once
// Several workloads as one, by time; at one time the source with the lower number comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/serving/workload_source.hpp"

namespace headroom {

// The requests of the sources are passed on unchanged: classes, priorities, deadlines, and
// prefixes, whose memory belongs to their source. So equal identities in two sources mean equal
// text, and streams and traces need separate names. Only sessions are renumbered: session s of
// source i > 0 becomes mixed_id(i, s).
class MergedSource final : public WorkloadSource {
 public:
  explicit MergedSource(std::vector<std::unique_ptr<WorkloadSource>> sources);

  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

  [[nodiscard]] std::size_t requests_in_flight() const { return origins_.size(); }

 private:
  // A request as its source knows it.
  struct Origin {
    std::size_t source = 0;
    std::uint64_t index = 0;
  };

  [[nodiscard]] std::size_t first_source();

  std::vector<std::unique_ptr<WorkloadSource>> sources_;
  std::vector<std::uint64_t> taken_;  // of each source
  std::uint64_t taken_in_all_ = 0;
  std::unordered_map<std::uint64_t, Origin> origins_;  // of those in flight; never iterated
};

}  // namespace headroom
