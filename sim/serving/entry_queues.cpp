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

EntryQueues::EntryQueues(const std::vector<EntryWork>& work) {
  queues_.reserve(work.size());
  for (const EntryWork& one : work) queues_.push_back({.work = one});
}

bool EntryQueues::holds(const Arrival& arrival, std::uint64_t index, std::uint32_t replica,
                        TimeNs now_ns) {
  Queue& queue = queues_[replica];
  const TimeNs work_ns = queue.work.of(arrival.prompt_tokens);
  if (work_ns == 0) return false;
  pass(now_ns);
  const bool is_sent = arrival.shared_prompt != 0 && arrival.shared_prompt == queue.latest_prompt &&
                       now_ns == queue.last_ns;
  const std::uint32_t item = item_of(arrival, index, replica);
  if (is_sent) {
    items_[queue.latest_item].next = item;
  } else {
    const bool is_awake = !queue.jobs.empty();
    advance(queue, now_ns);
    note_work(queue, work_ns, now_ns);
    begin(queue, item, work_ns, now_ns);
    if (!is_awake) wake(replica);
  }
  queue.latest_prompt = arrival.shared_prompt;
  queue.latest_item = item;
  queue.last_ns = now_ns;
  ++queue.held;
  queue.held_tokens += arrival.prompt_tokens;
  ++held_;
  add_deadline(item);
  return true;
}

std::uint32_t EntryQueues::item_of(const Arrival& arrival, std::uint64_t index,
                                   std::uint32_t replica) {
  Item item{
      .arrival = arrival, .index = index, .number = came_++, .replica = replica, .is_held = true};
  if (spare_.empty()) {
    items_.push_back(item);
    return static_cast<std::uint32_t>(items_.size() - 1);
  }
  const std::uint32_t place = spare_.back();
  spare_.pop_back();
  items_[place] = item;
  return place;
}

void EntryQueues::note_work(Queue& queue, TimeNs work_ns, TimeNs now_ns) {
  queue.free_at_ns = std::max(now_ns, queue.free_at_ns) + work_ns;
  queue.work_ns += work_ns;
  queue.backlog_ns = std::max(queue.backlog_ns, queue.free_at_ns - now_ns);
  queue.first_ns = std::min(queue.first_ns, now_ns);
  if (queue.backlog_ns >= kLongestBacklogNs) {
    throw ConfigError(Complaint{
        .pointer = "/workload",
        .problem = "requests come faster than an API server takes them, which is 52 days behind"});
  }
}

// What the turns leave over is done in the first one.
void EntryQueues::begin(Queue& queue, std::uint32_t item, TimeNs work_ns, TimeNs now_ns) {
  const Job job{
      .item = item, .left = kTurns, .turn_ns = work_ns / static_cast<std::int64_t>(kTurns)};
  queue.round_ns += job.turn_ns;
  append(queue, job, work_ns - static_cast<std::int64_t>(kTurns - 1) * job.turn_ns, now_ns);
}

void EntryQueues::append(Queue& queue, Job job, TimeNs turn_ns, TimeNs now_ns) {
  queue.tail_ns = std::max(queue.tail_ns, now_ns) + turn_ns;
  job.end_ns = queue.tail_ns;
  ++queue.by_left[job.left];
  if (job.left == 1) queue.exits_ns.push_back(job.end_ns);
  queue.jobs.push_back(job);
}

// Whoever is done by then has left. While nobody is held nobody asks for it, and work for clients
// that are gone may lie behind.
void EntryQueues::pass(TimeNs now_ns) {
  while (!wakes_.empty() && wakes_.front().time_ns <= now_ns) {
    std::ranges::pop_heap(wakes_, Later{});
    const auto replica = static_cast<std::uint32_t>(wakes_.back().key);
    wakes_.pop_back();
    advance(queues_[replica], now_ns);
    if (!queues_[replica].jobs.empty()) wake(replica);
  }
}

void EntryQueues::advance(Queue& queue, TimeNs now_ns) {
  while (!queue.jobs.empty() && queue.jobs.front().end_ns <= now_ns) {
    Job job = queue.jobs.front();
    if (queue.jobs.size() == 1 && job.last_end_ns() <= now_ns) {  // its turns follow one another
      return leave_alone(queue, job);
    }
    queue.jobs.pop_front();
    --queue.by_left[job.left--];
    if (job.left > 0) {
      append(queue, job, job.turn_ns, job.end_ns);
    } else {
      queue.exits_ns.pop_front();
      leave(queue, job);
    }
  }
}

void EntryQueues::leave_alone(Queue& queue, Job job) {
  queue.jobs.clear();
  queue.exits_ns.clear();
  --queue.by_left[job.left];
  queue.tail_ns = job.end_ns = job.last_end_ns();
  leave(queue, job);
}

void EntryQueues::leave(Queue& queue, const Job& job) {
  queue.round_ns -= job.turn_ns;
  for (std::uint32_t item = job.item; item != kNobody;) {
    const std::uint32_t next = items_[item].next;
    if (items_[item].is_held) left_.push_back(released(item, job.end_ns, false));
    spare_.push_back(item);
    item = next;
  }
}

EntryQueues::Held EntryQueues::released(std::uint32_t item, TimeNs now_ns, bool gives_up) {
  Item& out = items_[item];
  out.is_held = false;
  --queues_[out.replica].held;
  queues_[out.replica].held_tokens -= out.arrival.prompt_tokens;
  --held_;
  return {.time_ns = now_ns,
          .index = out.index,
          .replica = out.replica,
          .gives_up = gives_up,
          .arrival = out.arrival};
}

// Who is in its last turn leaves at its end. If nobody is, everyone has a turn in each round until
// the one with the fewest left is there; whoever comes meanwhile makes rounds longer.
TimeNs EntryQueues::first_exit_ns(const Queue& queue) {
  if (!queue.exits_ns.empty()) return queue.exits_ns.front();
  std::size_t fewest = 2;
  while (queue.by_left[fewest] == 0) ++fewest;
  return queue.jobs.front().end_ns + static_cast<std::int64_t>(fewest - 1) * queue.round_ns;
}

void EntryQueues::wake(std::uint32_t replica) {
  wakes_.push_back({.time_ns = first_exit_ns(queues_[replica]), .key = replica});
  std::ranges::push_heap(wakes_, Later{});
}

void EntryQueues::add_deadline(std::uint32_t item) {
  const Arrival& arrival = items_[item].arrival;
  const TimeNs patience_ns = std::min(arrival.first_token_deadline_ns, arrival.deadline_ns);
  if (patience_ns == kNever) return;
  deadlines_.push_back({.time_ns = patience_ns, .key = items_[item].number, .item = item});
  std::ranges::push_heap(deadlines_, Later{});
}

bool EntryQueues::is_over(const Wake& deadline) const {
  const Item& item = items_[deadline.item];
  return !item.is_held || item.number != deadline.key;
}

void EntryQueues::drop_past_deadlines() {
  while (!deadlines_.empty() && is_over(deadlines_.front())) {
    std::ranges::pop_heap(deadlines_, Later{});
    deadlines_.pop_back();
  }
}

TimeNs EntryQueues::next_ns() const {
  if (!left_.empty()) return left_.front().time_ns;
  if (held_ == 0) return kNever;  // what is left to do is for clients that are gone
  const TimeNs exit_ns = wakes_.empty() ? kNever : wakes_.front().time_ns;
  return deadlines_.empty() ? exit_ns : std::min(exit_ns, deadlines_.front().time_ns);
}

std::optional<EntryQueues::Held> EntryQueues::take(TimeNs now_ns) {
  pass(now_ns);
  std::optional<Held> next;
  if (!left_.empty()) {
    next = left_.front();
    left_.pop_front();
  } else if (drop_past_deadlines(); !deadlines_.empty() && deadlines_.front().time_ns <= now_ns) {
    next = released(deadlines_.front().item, now_ns, true);
  }
  drop_past_deadlines();
  return next;
}

std::vector<EntryQueues::Held> EntryQueues::drop_all() {
  std::vector<Held> all(left_.begin(), left_.end());
  left_.clear();
  for (std::uint32_t item = 0; item < items_.size(); ++item) {
    if (items_[item].is_held) all.push_back(released(item, kNever, false));
  }
  return all;
}

bool EntryQueues::give_up(std::uint64_t index, TimeNs now_ns) {
  const auto found = std::ranges::find_if(
      items_, [index](const Item& item) { return item.is_held && item.index == index; });
  if (found == items_.end()) return false;
  found->arrival.deadline_ns = now_ns;
  add_deadline(static_cast<std::uint32_t>(found - items_.begin()));
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
