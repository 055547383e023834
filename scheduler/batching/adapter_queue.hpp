#pragma once
// The waiting requests of each LoRA adapter, in the order of the whole queue. Finds the first one
// with any of certain adapters in O(number of adapters).

#include <cstdint>
#include <span>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

class AdapterQueue {
 public:
  // Behind, or before, all that wait.
  void push_back(RequestId id, std::int32_t adapter);
  void push_front(RequestId id, std::int32_t adapter);
  void remove(RequestId id);

  // The first that uses no adapter, or one of `adapters`; kNoRequest: there is none.
  [[nodiscard]] RequestId first_of(std::span<const std::int32_t> adapters) const;

 private:
  struct Link {
    RequestId previous = kNoRequest;
    RequestId next = kNoRequest;
    std::int64_t place = 0;  // in the whole queue: smaller ones come first
    std::int32_t adapter = 0;
  };
  struct Ends {
    RequestId first = kNoRequest;
    RequestId last = kNoRequest;
  };

  [[nodiscard]] Ends& ends_of(RequestId id, std::int32_t adapter);
  [[nodiscard]] RequestId first(std::int32_t adapter) const;

  std::vector<Link> links_;  // by request
  std::vector<Ends> ends_;   // by adapter
  std::int64_t first_place_ = 0;
  std::int64_t last_place_ = 0;
};

}  // namespace headroom
