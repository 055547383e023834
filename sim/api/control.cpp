#include "sim/api/control.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace headroom::api {
namespace {

constexpr std::chrono::milliseconds kBetweenReports{100};

}  // namespace

std::string_view version() { return HEADROOM_VERSION; }

void with_reports(const Control& control, const std::atomic<std::uint64_t>& done, std::uint64_t all,
                  const std::function<void()>& work) {
  if (!control.progress) return work();
  std::mutex mutex;
  std::condition_variable ended;
  bool is_over = false;
  std::exception_ptr error;
  std::jthread worker([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    is_over = true;
    ended.notify_one();
  });
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, kBetweenReports, [&] { return is_over; })) {
    lock.unlock();
    control.progress(done.load(std::memory_order_relaxed), all);
    lock.lock();
  }
  lock.unlock();
  worker.join();
  if (error) std::rethrow_exception(error);
  control.progress(done.load(std::memory_order_relaxed), all);
}

}  // namespace headroom::api
