#pragma once
// A line on stderr that says how far a run is, while this object lives. Only for people: nothing is
// printed when stderr is not a terminal.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

namespace headroom {

// Which of many steps deserve a line of their own where lines are not written over: the first,
// every tenth part of all, and the last.
[[nodiscard]] constexpr bool is_told(std::size_t done, std::size_t all) {
  constexpr std::size_t kParts = 10;
  return done == 1 || done * kParts / all != (done - 1) * kParts / all;
}

class Progress {
 public:
  Progress();
  ~Progress();  // wipes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The run counts up in it; null if progress is not shown.
  [[nodiscard]] std::atomic<std::uint64_t>* done() { return visible_ ? &done_ : nullptr; }

 private:
  void show();

  bool visible_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headroom
