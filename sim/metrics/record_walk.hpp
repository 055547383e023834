#pragma once
// Passes over all records, which may be more than any cache holds.

#include <cstddef>
#include <span>

#include "sim/serving/request.hpp"

namespace headroom {

// Calls visit(record) for each in order and prefetches the next ones, because the processor's own
// prefetching stops at each page.
template <typename Visit>
void walk(std::span<const RequestRecord> records, Visit visit) {
  constexpr std::size_t kAhead = 32;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i + kAhead < records.size()) __builtin_prefetch(&records[i + kAhead]);
    visit(records[i]);
  }
}

}  // namespace headroom
