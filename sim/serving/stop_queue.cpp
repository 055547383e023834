#include "sim/serving/stop_queue.hpp"

#include "sim/kernel/likely.hpp"

namespace headroom {

// Of the first bucket that has any, the first one; or that on top of the heap, which may have come
// within the ring's reach since it was put there.
void StopQueue::find_first() {
  if (rarely(size_ == 0)) {
    first_decode_ = INT64_MAX;
    return;
  }
  const std::size_t begin = bucket_of(begin_);
  const std::size_t here = begin / 64;
  const std::uint64_t bits_here = filled_[here] & (~std::uint64_t{0} << (begin % 64));
  // Else the next word that has any, once around to the part of this one that was left out. Looked
  // for in any case: which of the two it is cannot be foreseen.
  const int ahead = std::countr_zero(std::rotr(words_, static_cast<int>(here + 1)));
  const std::size_t there = (here + 1 + static_cast<std::size_t>(ahead)) % filled_.size();
  const std::size_t word = bits_here != 0 ? here : there;
  const std::uint64_t bits = bits_here != 0 ? bits_here : filled_[there];
  if (mostly(words_ != 0)) {
    const std::size_t bucket = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    first_ = buckets_[bucket];
    for (std::uint32_t entry = entries_[first_].next; rarely(entry != kNoEntry);
         entry = entries_[entry].next) {
      if (entries_[entry].stop < entries_[first_].stop) first_ = entry;
    }
  }
  if (rarely(!far_.empty()) && (words_ == 0 || far_.front() < entries_[first_].stop)) first_ = kFar;
  first_decode_ = first().decode;
}

[[gnu::noinline]] void StopQueue::drop_void() {
  while (void_ > 0) {
    if (first_ == kNoEntry) find_first();
    if (first().epoch == marks_[first().id].epoch) return;
    take_first();
    --void_;
  }
}

// The first one must be known.
void StopQueue::take_first() {
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
    std::uint64_t& word = filled_[bucket / 64];
    word &= ~(std::uint64_t{1} << (bucket % 64));
    words_ = static_cast<std::uint16_t>(words_ & ~(unsigned{word == 0} << (bucket / 64)));
  }
  entries_[gone].next = spare_;
  spare_ = gone;
}

void StopQueue::clear() {
  for (Mark& mark : marks_) mark.stops = 0;
  size_ = void_ = 0;
  first_ = spare_ = kNoEntry;
  entries_.resize(1);
  filled_.fill(0);
  words_ = 0;
  std::fill(buckets_.begin(), buckets_.end(), kNoEntry);
  far_.clear();
}

}  // namespace headroom
