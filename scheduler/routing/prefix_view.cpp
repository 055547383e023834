#include "scheduler/routing/prefix_view.hpp"

#include <algorithm>
#include <utility>

namespace headroom {

PrefixView::PrefixView(const RouterOptions& options)
    : delay_ns_(options.update_delay_ns), index_(options.replicas, options.prefix.tree_tokens) {}

void PrefixView::on_load(std::uint32_t replica, const ReplicaLoad& load) {
  if (load.up) return;
  index_.forget(replica);
  std::erase_if(news_, [replica](const News& news) { return news.replica == replica; });
}

// A request that is sent again keeps its time of arrival; the clock does not go back for it.
const PrefixIndex& PrefixView::look(const Arrival& arrival) {
  now_ns_ = std::max(now_ns_, arrival.time_ns);
  for (; !news_.empty() && news_.front().due_ns <= now_ns_; news_.pop_front()) {
    index_.insert(news_.front().replica, news_.front().steps);
  }
  steps_ = prefix_steps(arrival.prefix);
  return index_;
}

void PrefixView::routed(std::uint32_t replica) {
  if (steps_.empty()) return;
  if (delay_ns_ == 0) return index_.insert(replica, steps_);
  news_.push_back({now_ns_ + delay_ns_, replica, std::move(steps_)});
}

}  // namespace headroom
