#include "sim/metrics/request_table.hpp"

namespace headroom {

namespace {
constexpr std::size_t kSlotsAtOnce = 1024;
}  // namespace

// With room for the stretch behind the last record: to grow at the very end would double the
// memory.
RequestTable::RequestTable(std::size_t expected_requests) {
  if (expected_requests > 0) slots_.reserve(expected_requests + kSlotsAtOnce);
}

void RequestTable::grow(std::uint64_t index) {
  RequestRecord absent;
  absent.index = kAbsent;
  slots_.resize(index + kSlotsAtOnce, absent);  // the capacity grows geometrically
}

}  // namespace headroom
