#pragma once
// What is known of all records together as soon as they come, whether they are kept or not.

#include <cstdint>

#include "sim/kernel/time.hpp"
#include "sim/metrics/request_counts.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

class RecordTotals {
 public:
  // Each request once, when it leaves; those that never do when the run ends.
  void add(const RequestRecord& record) {
    counts_.add(record.outcome);
    tokens_out_ += record.output_tokens;
    if (record.queued_ns < 0) return;
    if (record.finish_ns < 0) {
      ++queued_without_end_;
      queued_sum_ns_ += record.queued_ns;
    } else {
      sojourns_ns_ += record.finish_ns - record.queued_ns;
    }
  }

  [[nodiscard]] const RequestCounts& counts() const { return counts_; }
  [[nodiscard]] TokenCount tokens_out() const { return tokens_out_; }
  // Requests that entered a queue and never left.
  [[nodiscard]] std::int64_t queued_without_end() const { return queued_without_end_; }
  // Time between entering a queue and leaving the system (or `end_ns`), of all that entered one.
  [[nodiscard]] Int128 sojourn_sum_ns(TimeNs end_ns) const {
    return sojourns_ns_ + Int128{queued_without_end_} * end_ns - queued_sum_ns_;
  }

 private:
  RequestCounts counts_;
  TokenCount tokens_out_ = 0;
  std::int64_t queued_without_end_ = 0;
  Int128 sojourns_ns_ = 0;    // of requests that left
  Int128 queued_sum_ns_ = 0;  // of the others
};

}  // namespace headroom
