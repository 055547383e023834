#pragma once
// The waiting queue of SGLang and its orders (schedule_policy; ENGINES.md 3.4, SGLang's
// schedule_policy.py): fcfs, lpm (longest cached prefix), dfs-weight, lof (longest max_tokens
// first) and random. Retracted requests enter at the end of the queue, as in SGLang; "place" below
// is the place in order of entry, and breaks every tie.
//
//   lpm         longest cached prefix first; fcfs when more than 128 wait. A request that has at
//               most 32 tokens cached and shares at least 32 with one before it goes to the end:
//               once that one is computed, it finds more. Prompts without identities share nothing.
//   dfs-weight  depth first through the tree of cached pieces; the heavier branch (more requests
//               below it) first, a branch before the requests that end at its root. SGLang walks
//               its radix tree; here the nodes are the cached pieces of the waiting requests, so
//               a piece that is cached in part counts as a node, and equal weights go by place.
//   random      by a number drawn when the request enters the queue, where SGLang shuffles anew in
//               each iteration: the order may not depend on how often a plan is asked for.
//
// With its radix cache off, SGLang turns lpm and dfs-weight into fcfs; whoever fills the options
// does the same.

#include <cstdint>
#include <vector>

#include "scheduler/batching/request_list.hpp"
#include "sim/kernel/named_value.hpp"
#include "sim/kernel/random.hpp"
#include "sim/serving/batch_scheduler.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

enum class SglangOrder : std::uint8_t { fcfs, lpm, dfs_weight, lof, random };

inline constexpr NamedValue<SglangOrder> kSglangOrders[] = {{"fcfs", SglangOrder::fcfs},
                                                            {"lpm", SglangOrder::lpm},
                                                            {"dfs-weight", SglangOrder::dfs_weight},
                                                            {"lof", SglangOrder::lof},
                                                            {"random", SglangOrder::random}};

class SglangQueue {
 public:
  SglangQueue(SglangOrder order, std::uint64_t seed);

  void enqueue(RequestId id, const Request& request);
  void remove(RequestId id);  // leaves from anywhere; not between arrange() and pop_front()
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] std::int64_t size() const { return list_.size(); }
  [[nodiscard]] bool contains(RequestId id) const { return list_.contains(id); }

  // Orders those that wait now. Then front() is the next one to try, kNoRequest when there is
  // none, and pop_front() takes it out. fcfs: O(1); lof, random: O(log n) for each request that
  // has left; lpm: O(128^2) at most; dfs-weight: O(n log n) for each level of the tree.
  void arrange(const PlanContext& context);
  [[nodiscard]] RequestId front() const;
  void pop_front();

 private:
  struct Keyed {  // of lof and random: a heap whose void entries are dropped late
    std::uint64_t key = 0;
    std::uint64_t place = 0;
    RequestId id = kNoRequest;
  };
  struct Arranged {  // of lpm and dfs-weight
    std::int64_t key = 0;
    std::int64_t place = 0;
    RequestId id = kNoRequest;
    std::int32_t depth = 0;  // dfs-weight: pieces that are cached at least in part
  };
  struct Branch {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t first_place = 0;
  };

  [[nodiscard]] static bool later(const Keyed& a, const Keyed& b);
  [[nodiscard]] bool keyed() const {
    return order_ == SglangOrder::lof || order_ == SglangOrder::random;
  }
  void drop_void_keys();
  void arrange_by_prefix(const PlanContext& context);
  void arrange_by_tree(const PlanContext& context);
  void visit_tree(const PlanContext& context, std::int64_t begin, std::int64_t end,
                  std::int32_t depth);

  SglangOrder order_;
  RandomStream stream_;
  RequestList list_;  // in order of entry
  std::uint64_t entries_ = 0;
  std::vector<Keyed> heap_;
  std::vector<std::uint64_t> place_of_;  // by RequestId, of its latest entry; 0 = none
  std::vector<Arranged> arranged_;
  std::size_t cursor_ = 0;
  bool use_arranged_ = false;
  std::vector<RequestId> firsts_;  // lpm: those that others may share with
  std::vector<Arranged> spare_;    // dfs-weight: a range while it is regrouped
  std::vector<Branch> branches_;   // dfs-weight: a stack of the branches of open nodes
};

// Tokens over which two prompts are known to be equal.
[[nodiscard]] TokenCount shared_prefix_tokens(const Request& a, const Request& b);

}  // namespace headroom
