#pragma once
// Requests in an order of their own (a queue, a batch in order of admission): put in at both ends,
// take from anywhere, in O(1).

#include <cstdint>
#include <vector>

#include "sim/serving/types.hpp"

namespace headroom {

class RequestList {
 public:
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] RequestId front() const { return first_; }  // kNoRequest when empty
  [[nodiscard]] RequestId back() const { return last_; }    // kNoRequest when empty
  [[nodiscard]] RequestId after(RequestId id) const { return links_[id].next; }  // or kNoRequest
  [[nodiscard]] bool contains(RequestId id) const { return id < links_.size() && links_[id].in; }

  void push_back(RequestId id) {
    if (id >= links_.size()) links_.resize(id + 1);
    links_[id] = {last_, kNoRequest, true};
    (last_ == kNoRequest ? first_ : links_[last_].next) = id;
    last_ = id;
    ++size_;
  }

  void push_front(RequestId id) {
    if (id >= links_.size()) links_.resize(id + 1);
    links_[id] = {kNoRequest, first_, true};
    (first_ == kNoRequest ? last_ : links_[first_].previous) = id;
    first_ = id;
    ++size_;
  }

  void pop_front() { remove(first_); }

  void remove(RequestId id) {
    const Link link = links_[id];
    if (link.previous != kNoRequest) links_[link.previous].next = link.next;
    if (link.next != kNoRequest) links_[link.next].previous = link.previous;
    if (first_ == id) first_ = link.next;
    if (last_ == id) last_ = link.previous;
    links_[id].in = false;
    --size_;
  }

  void clear() {
    links_.clear();
    first_ = last_ = kNoRequest;
    size_ = 0;
  }

 private:
  struct Link {
    RequestId previous = kNoRequest;
    RequestId next = kNoRequest;
    bool in = false;
  };
  std::vector<Link> links_;
  RequestId first_ = kNoRequest;
  RequestId last_ = kNoRequest;
  std::int64_t size_ = 0;
};

}  // namespace headroom
