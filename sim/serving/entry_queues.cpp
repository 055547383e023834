#include "sim/serving/entry_queues.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// Far from where sums of nanoseconds end.
constexpr TimeNs kLongestBacklogNs = TimeNs{1} << 52;

}  // namespace

EntryQueues::EntryQueues(std::vector<EntryWork> work) {
  queues_.reserve(work.size());
  for (const EntryWork& one : work) queues_.push_back({.work = one});
}

TimeNs EntryQueues::entry_of(Queue& queue, const Arrival& arrival, TimeNs now_ns) {
  const bool is_sent = arrival.shared_prompt != 0 && arrival.shared_prompt == queue.latest_prompt &&
                       now_ns == queue.last_ns;
  if (is_sent) return queue.latest_entry_ns;
  queue.latest_prompt = arrival.shared_prompt;
  queue.latest_entry_ns = std::max(now_ns, queue.free_at_ns);
  const TimeNs work_ns = queue.work.of(arrival.prompt_tokens);
  queue.free_at_ns = queue.latest_entry_ns + work_ns;
  queue.work_ns += work_ns;
  queue.backlog_ns = std::max(queue.backlog_ns, queue.free_at_ns - now_ns);
  queue.first_ns = std::min(queue.first_ns, now_ns);
  queue.last_ns = now_ns;
  if (queue.backlog_ns >= kLongestBacklogNs) {
    throw ConfigError(Complaint{
        .pointer = "/workload",
        .problem = "requests come faster than an API server takes them, which is 52 days behind"});
  }
  return queue.latest_entry_ns;
}

bool EntryQueues::holds(const Arrival& arrival, std::uint64_t index, std::uint32_t replica,
                        TimeNs now_ns) {
  Queue& queue = queues_[replica];
  const TimeNs entry_ns = entry_of(queue, arrival, now_ns);
  if (entry_ns == now_ns) return false;
  const TimeNs patience_ns = std::min(arrival.first_token_deadline_ns, arrival.deadline_ns);
  ++queue.held;
  held_.push_back({.time_ns = std::min(entry_ns, patience_ns),
                   .number = came_++,
                   .index = index,
                   .replica = replica,
                   .gives_up = patience_ns < entry_ns,
                   .arrival = arrival});
  std::ranges::push_heap(held_, Later{});
  return true;
}

EntryQueues::Held EntryQueues::take() {
  HEADROOM_CHECK(!held_.empty(), "nobody is held");
  std::ranges::pop_heap(held_, Later{});
  Held next = held_.back();
  held_.pop_back();
  --queues_[next.replica].held;
  return next;
}

bool EntryQueues::give_up(std::uint64_t index, TimeNs now_ns) {
  const auto held = std::ranges::find(held_, index, &Held::index);
  if (held == held_.end()) return false;
  held->arrival.deadline_ns = now_ns;
  held->gives_up = now_ns < held->time_ns;
  held->time_ns = std::min(held->time_ns, now_ns);
  std::ranges::make_heap(held_, Later{});
  return true;
}

ApiServerUse EntryQueues::use() const {
  ApiServerUse all;
  for (const Queue& queue : queues_) {
    if (queue.first_ns == kNever) continue;
    const TimeNs left_ns = std::max<TimeNs>(0, queue.free_at_ns - queue.last_ns);
    const bool at_once = queue.last_ns == queue.first_ns;
    all += {ticks_from_ns(at_once ? queue.work_ns : queue.work_ns - left_ns),
            ticks_from_ns((at_once ? queue.free_at_ns : queue.last_ns) - queue.first_ns),
            ticks_from_ns(queue.backlog_ns)};
  }
  return all;
}

}  // namespace headroom
