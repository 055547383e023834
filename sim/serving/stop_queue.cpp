#include "sim/serving/stop_queue.hpp"

#include "sim/kernel/likely.hpp"

namespace headroom {

// Of the first bucket that has any, the first one; or that on top of the heap, which may have come
// within the ring's reach since it was put there.
void StopQueue::find_first() {
  HEADROOM_CHECK(size_ > 0, "the first of no stops");
  const std::size_t begin = bucket_of(begin_);
  std::size_t word = begin / 64;
  std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << (begin % 64));
  // Once around, to the part of the first word that was left out.
  for (std::size_t words = 0; bits == 0 && words < filled_.size(); ++words) {
    word = (word + 1) % filled_.size();
    bits = filled_[word];
  }
  if (bits != 0) {
    const std::size_t bucket = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    first_ = buckets_[bucket];
    for (std::uint32_t entry = entries_[first_].next; rarely(entry != kNoEntry);
         entry = entries_[entry].next) {
      if (entries_[entry].stop < entries_[first_].stop) first_ = entry;
    }
  }
  if (rarely(!far_.empty()) && (bits == 0 || far_.front() < entries_[first_].stop)) first_ = kFar;
}

void StopQueue::pop() {
  if (first_ == kNoEntry) find_first();
  --size_;
  const std::uint32_t gone = first_;
  first_ = kNoEntry;
  if (rarely(gone == kFar)) {
    std::pop_heap(far_.begin(), far_.end(), std::greater<>{});
    far_.pop_back();
    return;
  }
  const std::size_t bucket = bucket_of(entries_[gone].stop.decode);
  std::uint32_t* place = &buckets_[bucket];
  while (rarely(*place != gone)) place = &entries_[*place].next;
  *place = entries_[gone].next;
  if (mostly(buckets_[bucket] == kNoEntry)) {
    filled_[bucket / 64] &= ~(std::uint64_t{1} << (bucket % 64));
  }
  entries_[gone].next = spare_;
  spare_ = gone;
}

void StopQueue::clear() {
  size_ = 0;
  first_ = spare_ = kNoEntry;
  entries_.resize(1);
  filled_.fill(0);
  std::fill(buckets_.begin(), buckets_.end(), kNoEntry);
  far_.clear();
}

}  // namespace headroom
