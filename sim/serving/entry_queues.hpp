#pragma once
// The way of requests into their engines where the API server is no model of its own
// (docs/semantics.md, "The API server"). One per replica.
//
// The server is one thread that runs the handlers of all requests by turns: it reads a body, checks
// it, renders and tokenises the prompt, hands it over, and between these it serves the others. So
// requests that come together also arrive together, when nearly all of their work is done, and the
// first one gains little. Of 47 that came to vLLM 0.24 on an H200 within 48 ms the first seven had
// their tokens after 271 ms, from a full step of some 190 ms (hardware/catalog/measured/h200).
// Served one behind the other they would have entered one by one, in many small prefill steps.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/kernel/time.hpp"
#include "sim/serving/api_server.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

class EntryQueues {
 public:
  // The handler of a request gives way so often that its work is done in so many turns: reading,
  // checking, rendering, handing over (vllm/entrypoints/openai, v1/engine/async_llm.py).
  static constexpr std::size_t kTurns = 4;

  // `work`: by replica, for each request.
  explicit EntryQueues(const std::vector<EntryWork>& work);

  struct Held {
    TimeNs time_ns = 0;  // it enters its engine, or its client gives up before
    std::uint64_t index = 0;
    std::uint32_t replica = 0;
    bool gives_up = false;
    Arrival arrival;
  };

  // Requests come in the order of time. Answers of one prompt that are sent in one nanosecond are
  // one request. False: nothing is to be done for this one, and it enters its engine now.
  [[nodiscard]] bool holds(const Arrival& arrival, std::uint64_t index, std::uint32_t replica,
                           TimeNs now_ns);
  // Nobody leaves before; kNever: nobody is held.
  [[nodiscard]] TimeNs next_ns() const;
  // The next one that has left by `now_ns`; nothing: who was next has got company since.
  [[nodiscard]] std::optional<Held> take(TimeNs now_ns);
  // All that are still held: the run ends.
  [[nodiscard]] std::vector<Held> drop_all();
  // The client of request `index` gives up at `now_ns`, before its turn. False: it is not held.
  // O(held).
  bool give_up(std::uint64_t index, TimeNs now_ns);
  [[nodiscard]] std::int64_t held_for(std::uint32_t replica) const { return queues_[replica].held; }
  // Of their prompts.
  [[nodiscard]] TokenCount held_tokens_for(std::uint32_t replica) const {
    return queues_[replica].held_tokens;
  }
  // Between the first request and the last one, of all queues.
  [[nodiscard]] ApiServerUse use() const;

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  // One answer that is asked for. Its place is used again once it has left.
  struct Item {
    Arrival arrival;
    std::uint64_t index = 0;
    std::uint64_t number = 0;  // in order of coming; tells apart who was here before
    std::uint32_t replica = 0;
    std::uint32_t next = kNobody;  // of the same prompt
    bool is_held = false;
  };
  // A request in its queue: the turn that is waited for, and how many are left with it.
  struct Job {
    std::uint32_t item = kNobody;  // the first one
    std::size_t left = 0;
    TimeNs turn_ns = 0;
    TimeNs end_ns = 0;  // of its next turn: those before it in the queue are done by then

    // If nobody else has a turn.
    [[nodiscard]] TimeNs last_end_ns() const {
      return end_ns + static_cast<std::int64_t>(left - 1) * turn_ns;
    }
  };
  struct Queue {
    EntryWork work;
    std::deque<Job> jobs{};                          // in the order of their next turns
    std::array<std::int64_t, kTurns + 1> by_left{};  // jobs with so many turns left
    std::deque<TimeNs> exits_ns{};                   // of jobs in their last turn
    TimeNs round_ns = 0;                             // one turn of each
    TimeNs tail_ns = 0;                              // the turns in the queue are done
    TimeNs free_at_ns = 0;                           // all work so far is done
    TimeNs work_ns = 0;                              // all that came
    TimeNs backlog_ns = 0;                           // the greatest
    TimeNs first_ns = kNever;
    TimeNs last_ns = 0;
    std::int64_t held = 0;
    TokenCount held_tokens = 0;
    std::uint64_t latest_prompt = 0;
    std::uint32_t latest_item = kNobody;
  };
  struct Wake {
    TimeNs time_ns = 0;
    std::uint64_t key = 0;  // the replica; the number of an item
    std::uint32_t item = kNobody;
  };
  struct Later {
    bool operator()(const Wake& a, const Wake& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.key > b.key;
    }
  };

  std::uint32_t item_of(const Arrival& arrival, std::uint64_t index, std::uint32_t replica);
  static void note_work(Queue& queue, TimeNs work_ns, TimeNs now_ns);
  static void begin(Queue& queue, std::uint32_t item, TimeNs work_ns, TimeNs now_ns);
  static void append(Queue& queue, Job job, TimeNs turn_ns, TimeNs now_ns);
  void pass(TimeNs now_ns);
  void advance(Queue& queue, TimeNs now_ns);
  void leave_alone(Queue& queue, Job job);
  void leave(Queue& queue, const Job& job);
  // Nobody leaves before.
  static TimeNs first_exit_ns(const Queue& queue);
  void wake(std::uint32_t replica);
  void add_deadline(std::uint32_t item);
  [[nodiscard]] bool is_over(const Wake& deadline) const;
  void drop_past_deadlines();
  Held released(std::uint32_t item, TimeNs now_ns, bool gives_up);

  std::vector<Queue> queues_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> spare_;
  std::vector<Wake> wakes_;      // a heap: one of each queue that has jobs, never too late
  std::vector<Wake> deadlines_;  // a heap: clients that will give up; some have left before
  std::deque<Held> left_;        // and were not taken yet
  std::int64_t held_ = 0;        // of all queues
  std::uint64_t came_ = 0;
};

}  // namespace headroom
