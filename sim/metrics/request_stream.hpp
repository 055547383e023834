#pragma once
// Replaces the request table in streaming mode (`output.streaming`): records are added to sums and
// dropped, so that memory does not grow with their number.
//
// Windows are not known before the last arrival. So time is divided into 20 to 40 slots of equal
// width: when more are needed, neighbours are merged. Windows begin and end at their edges.

#include <cstdint>
#include <vector>

#include "sim/kernel/digest.hpp"
#include "sim/metrics/serving_totals.hpp"
#include "sim/metrics/windows.hpp"

namespace headroom {

class RequestStream {
 public:
  // `classes`: ids are below; with one there are no sums per class.
  RequestStream(ServingOptions serving, WindowOptions windows, std::int32_t classes);

  // Each request once, when it leaves; those that never do when the run ends.
  void add(const RequestRecord& record);

  // Records in the order in which they came.
  [[nodiscard]] const Digest& digest() const { return digest_; }

  [[nodiscard]] ServingTotals total() const;
  [[nodiscard]] WindowSummary windows(TimeNs end_ns) const;
  [[nodiscard]] const std::vector<ServingTotals>& classes() const { return classes_; }
  [[nodiscard]] const ServingOptions& serving() const { return serving_; }

 private:
  struct Slot {
    ServingTotals arrived;          // requests that arrived in it
    std::int64_t finished = 0;      // requests that finished in it
    Int128 present_request_ns = 0;  // number in system, integrated over it
  };

  void cover(TimeNs t);
  [[nodiscard]] std::size_t slot_of(TimeNs t) const;
  [[nodiscard]] TimeNs edge_ns(std::size_t slot) const;
  [[nodiscard]] std::size_t nearest_edge(TimeNs t) const;
  // Adds one request's time in system from `from_ns` to `to_ns` to the slots' integrals.
  template <typename AddTo>
  void spread(TimeNs from_ns, TimeNs to_ns, AddTo add_to) const;
  [[nodiscard]] WindowReport window(std::size_t from, std::size_t to, TimeNs end_ns) const;
  [[nodiscard]] Stationarity stationarity(std::size_t from, std::size_t to, TimeNs end_ns) const;

  ServingOptions serving_;
  WindowOptions windows_;
  std::vector<ServingTotals> classes_;
  std::vector<Slot> slots_;
  TimeNs origin_ns_ = -1;  // of the grid; slot 0 also takes what lies before it
  TimeNs width_ns_;
  TimeNs first_arrival_ns_ = kNever;
  TimeNs last_arrival_ns_ = 0;
  std::vector<TimeNs> without_end_ns_;  // arrivals of requests that never left
  Digest digest_;
};

}  // namespace headroom
