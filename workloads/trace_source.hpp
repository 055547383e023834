#pragma once
// Replays a recorded trace: open loop, at its own times.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "sim/serving/workload_source.hpp"
#include "workloads/max_tokens.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

struct TraceSourceOptions {
  std::optional<std::int64_t> num_requests =
      {};  // >= 0: only the first ones; absent = the whole trace
  MaxTokensOptions max_tokens = {};
  std::int32_t class_id = 0;  // of every request
};

class TraceSource final : public WorkloadSource {
 public:
  // Runs may share one trace, in several threads.
  TraceSource(std::shared_ptr<const Trace> trace,
              const TraceSourceOptions& options);  // ConfigError

  [[nodiscard]] TimeNs next_time() override;
  [[nodiscard]] Arrival take() override;
  void on_done(std::uint64_t index, Outcome outcome, TimeNs now_ns) override;

  [[nodiscard]] std::int64_t outputs_cut() const { return max_tokens_.outputs_cut(); }

 private:
  std::shared_ptr<const Trace> trace_;
  MaxTokens max_tokens_;
  std::int32_t class_id_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace headroom
