#include "sim/app/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace headroom {
namespace {

constexpr std::chrono::milliseconds kFirst{500};  // a run that is over by then shows nothing
constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

Progress::Progress() : visible_(::isatty(STDERR_FILENO) == 1) {
  if (visible_) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!visible_) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_signal_.notify_one();
  thread_.join();
}

void Progress::show() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  bool shown = false;
  auto wait = kFirst;
  while (!stop_signal_.wait_for(lock, wait, [this] { return stop_; })) {
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
    const std::uint64_t done = done_.load(std::memory_order_relaxed);
    fmt::print(stderr, "\r{} requests served, {:.0f} per second of wall time\033[K", done,
               static_cast<double>(done) / elapsed_s);
    std::fflush(stderr);
    shown = true;
    wait = kInterval;
  }
  if (shown) {
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }
}

}  // namespace headroom
