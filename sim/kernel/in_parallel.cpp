#include "sim/kernel/in_parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace headroom {

void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::size_t lowest = count;
  std::exception_ptr error;
  const auto take_all = [&] {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
      if (number >= count) return;
      try {
        work(number);
      } catch (...) {
        failed.store(true, std::memory_order_relaxed);
        const std::lock_guard lock(mutex);
        if (number < lowest) {
          lowest = number;
          error = std::current_exception();
        }
      }
    }
  };
  std::vector<std::thread> others;
  const std::size_t wanted = std::min(threads, count);
  for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(take_all);
  take_all();
  for (std::thread& thread : others) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace headroom
