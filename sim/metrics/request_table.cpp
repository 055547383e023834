#include "sim/metrics/request_table.hpp"

namespace headroom {

namespace {
constexpr std::size_t kSlotsAtOnce = 1024;
}  // namespace

void RequestTable::grow(std::uint64_t index) {
  RequestRecord absent;
  absent.index = kAbsent;
  slots_.resize(index + kSlotsAtOnce, absent);  // the capacity grows geometrically
}

}  // namespace headroom
