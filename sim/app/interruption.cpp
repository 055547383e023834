#include "sim/app/interruption.hpp"

#include <csignal>
#include <initializer_list>

#include "sim/kernel/partial_path.hpp"

namespace headroom {
namespace {

constexpr int kSignalExit = 128;

std::atomic<bool> stop_wanted{false};
std::atomic<int> first_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "set by a signal handler");

extern "C" void on_last_signal(int number) {
  remove_partial_paths();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

extern "C" void on_first_signal(int number) {
  int none = 0;
  first_signal.compare_exchange_strong(none, number);
  stop_wanted.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, on_last_signal);
}

void handle_unless_ignored(int number, void (*handler)(int)) {
  if (std::signal(number, handler) == SIG_IGN) std::signal(number, SIG_IGN);
}

}  // namespace

void end_on_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) handle_unless_ignored(number, on_last_signal);
}

const std::atomic<bool>& stop_on_signals() {
  // Shells start programs in the background with SIGINT ignored, but `kill -INT` means it.
  std::signal(SIGINT, on_first_signal);
  for (const int number : {SIGTERM, SIGHUP}) handle_unless_ignored(number, on_first_signal);
  return stop_wanted;
}

int interrupted_exit_code() { return kSignalExit + first_signal; }

}  // namespace headroom
