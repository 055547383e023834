#pragma once
// The records of all requests, by arrival index.

#include <cstddef>
#include <span>
#include <vector>

#include "sim/kernel/check.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

class RequestTable {
 public:
  explicit RequestTable(std::size_t expected_requests = 0);

  // Each index once; in any order.
  void add(const RequestRecord& record) {
    if (record.index >= slots_.size()) grow(record.index);
    RequestRecord& slot = slots_[record.index];
    HEADROOM_CHECK(slot.index == kAbsent, "a request was recorded twice");
    slot = record;
    ++recorded_;
    if (record.index >= size_) size_ = record.index + 1;
  }

  // In order of arrival index. At the end of a run every index is there (`complete`).
  [[nodiscard]] std::span<const RequestRecord> records() const { return {slots_.data(), size_}; }
  [[nodiscard]] bool complete() const { return recorded_ == size_; }

 private:
  static constexpr std::uint64_t kAbsent = UINT64_MAX;
  void grow(std::uint64_t index);

  std::vector<RequestRecord> slots_;  // a stretch of absent ones behind the last record
  std::size_t size_ = 0;              // one past the highest index
  std::size_t recorded_ = 0;
};

}  // namespace headroom
