#pragma once
// Threads that make runs, and hand what comes of them to one caller, who stores it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace headroom {

// `Job` says what to run, `Made` is what comes of it, some 10 KB.
template <typename Job, typename Made>
class RunPool {
 public:
  // Empty: cut short by `stop`. Called by several threads at once; must not throw.
  using Work = std::function<std::optional<Made>(const Job& job, const std::atomic<bool>* stop)>;

  RunPool(std::size_t threads, Work work) : work_(std::move(work)) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work_on(); });
  }
  ~RunPool() {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  // Jobs begin in the order of the requests for them.
  void ask(Job job) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped()) return;
      jobs_.push_back(std::move(job));
    }
    wakes_workers_.notify_one();
  }

  // Runs in progress end as soon as they can, and are forgotten; none is begun any more.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_.store(true, std::memory_order_relaxed);
      jobs_.clear();
    }
    wakes_workers_.notify_all();
  }

  // Whatever is made next; empty when that took longer than `patience`, or when all is done.
  [[nodiscard]] std::optional<Made> take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    wakes_taker_.wait_for(lock, patience, [this] { return !made_.empty() || is_idle(); });
    if (made_.empty()) return std::nullopt;
    Made made = std::move(made_.front());
    made_.pop_front();
    lock.unlock();
    wakes_workers_.notify_one();
    return made;
  }

  // Every requested job is done and taken, or was stopped.
  [[nodiscard]] bool is_over() {
    const std::lock_guard lock(mutex_);
    return made_.empty() && is_idle();
  }

 private:
  static constexpr std::size_t kMostWaiting = 256;  // that are made and not taken

  void work_on() {
    std::unique_lock lock(mutex_);
    while (true) {
      wakes_workers_.wait(lock, [this] {
        return is_stopped() || (!jobs_.empty() && made_.size() + working_ < kMostWaiting);
      });
      if (is_stopped()) return;
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      ++working_;
      lock.unlock();
      std::optional<Made> made = work_(job, &stop_);
      lock.lock();
      --working_;
      if (made && !is_stopped()) made_.push_back(std::move(*made));
      wakes_taker_.notify_one();
    }
  }

  [[nodiscard]] bool is_stopped() const { return stop_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_idle() const { return jobs_.empty() && working_ == 0; }

  Work work_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wakes_workers_;
  std::condition_variable wakes_taker_;
  std::deque<Job> jobs_;
  std::deque<Made> made_;
  std::size_t working_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace headroom
