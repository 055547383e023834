#pragma once
// What SIGINT (Ctrl-C), SIGTERM (`timeout`, Slurm, Kubernetes) and SIGHUP (a terminal that is gone)
// do: all three the same. A SIGHUP that is ignored from the start (`nohup`) stays ignored.

#include <atomic>

namespace headroom {

// For a command with nothing to show for half its work: it ends at once, without what it has half
// written.
void end_on_signals();

// For a command that can stop early: true after the first signal. A second SIGINT ends it at once;
// SIGTERM and SIGHUP do no more the second time, for `timeout` and terminals send theirs twice.
[[nodiscard]] const std::atomic<bool>& stop_on_signals();

// 128 + the first signal, as a shell reports it.
[[nodiscard]] int interrupted_exit_code();

}  // namespace headroom
