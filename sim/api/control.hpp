#pragma once
// How work is stopped, and how it reports.

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "sim/api/headroom.hpp"

namespace headroom::api {

// A stop token as the flag that runs look at.
class StopFlag {
 public:
  explicit StopFlag(const std::stop_token& token)
      : callback_(token, [this] { flag_.store(true, std::memory_order_relaxed); }) {}

  [[nodiscard]] const std::atomic<bool>& flag() const { return flag_; }
  [[nodiscard]] bool is_set() const { return flag_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> flag_{false};
  std::stop_callback<std::function<void()>> callback_;
};

// Does `work` on a thread of its own while this one reports what `done` has reached.
void with_reports(const Control& control, const std::atomic<std::uint64_t>& done, std::uint64_t all,
                  const std::function<void()>& work);

}  // namespace headroom::api
