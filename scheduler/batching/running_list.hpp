#pragma once
// Admitted requests in order of admission: append, remove from anywhere and look at the last in
// O(1).

#include <cstdint>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

class RunningList {
 public:
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] RequestId back() const { return last_; }  // kNoRequest when empty
  [[nodiscard]] bool contains(RequestId id) const { return id < links_.size() && links_[id].in; }

  void push_back(RequestId id) {
    if (id >= links_.size()) links_.resize(id + 1);
    links_[id] = {last_, kNoRequest, true};
    if (last_ != kNoRequest) links_[last_].next = id;
    last_ = id;
    ++size_;
  }

  void remove(RequestId id) {
    const Link link = links_[id];
    if (link.previous != kNoRequest) links_[link.previous].next = link.next;
    if (link.next != kNoRequest) links_[link.next].previous = link.previous;
    if (last_ == id) last_ = link.previous;
    links_[id].in = false;
    --size_;
  }

  void clear() {
    links_.clear();
    last_ = kNoRequest;
    size_ = 0;
  }

 private:
  struct Link {
    RequestId previous = kNoRequest;
    RequestId next = kNoRequest;
    bool in = false;
  };
  std::vector<Link> links_;
  RequestId last_ = kNoRequest;
  std::int64_t size_ = 0;
};

}  // namespace headroom
