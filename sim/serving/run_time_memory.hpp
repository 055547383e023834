#pragma once
// Memory that an engine takes while it runs, beside its KV pool: what grows with the hours it is up
// (a leak, an allocator that fragments), and what a single step needs beyond the profiled
// activations. Decides when that no longer fits, and how the engine dies of it.
//
// Growth is by rate since the engine started: floor(bytes per hour * time / hour), a function of
// time alone, so that the moment at which it no longer fits does not depend on how often it is
// checked. What an engine that starts again has taken begins at zero.

#include <optional>

#include "sim/kernel/time.hpp"
#include "sim/serving/host_ledger.hpp"
#include "sim/serving/memory_ledger.hpp"
#include "sim/serving/oom.hpp"

namespace headroom {

struct RunTimeMemoryOptions {
  DeviceLedger device{0};               // as start-up left it: what is free can be taken
  std::optional<HostLedger> host = {};  // as start-up left it, where a limit of it is known
  // Device allocations are the host's memory: `host` decides about them, and `device` says nothing.
  bool shared = false;
  ByteCount device_bytes_per_hour = 0;  // >= 0
  ByteCount host_bytes_per_hour = 0;    // >= 0; needs `host`
  // Log-probabilities of prompt tokens: bytes for each token of a chunk while its step ends.
  // Requests are handled one after the other (vLLM: _get_prompt_logprobs_dict), so the longest
  // chunk decides.
  ByteCount logprob_bytes_per_token = 0;
  // Set aside for the activations of a forward pass, which are over by then.
  ByteCount reusable_bytes = 0;
};

class RunTimeMemory {
 public:
  // Nothing grows and nothing is needed.
  RunTimeMemory() = default;
  explicit RunTimeMemory(RunTimeMemoryOptions options);

  // The engine starts, or starts again.
  void start(TimeNs now_ns);
  // The first nanosecond at which growth no longer fits; kNever.
  [[nodiscard]] TimeNs fails_ns() const { return fails_ns_; }
  // What was refused, at now_ns >= fails_ns().
  [[nodiscard]] MemoryShortage growth_shortage(TimeNs now_ns) const;

  [[nodiscard]] bool grows() const {
    return options_.device_bytes_per_hour > 0 || options_.host_bytes_per_hour > 0;
  }
  [[nodiscard]] bool counts_logprobs() const { return options_.logprob_bytes_per_token > 0; }
  // Of a step whose longest chunk with log-probabilities has so many tokens; empty when it fits.
  [[nodiscard]] std::optional<MemoryShortage> logprob_shortage(TokenCount tokens,
                                                               TimeNs now_ns) const;

 private:
  // Empty if the growth after `elapsed_ns` fits. If both grow, the device is checked first.
  [[nodiscard]] std::optional<MemoryShortage> refused(TimeNs elapsed_ns) const;
  [[nodiscard]] std::optional<MemoryShortage> take_device(DeviceLedger& device,
                                                          std::optional<HostLedger>& host,
                                                          ByteCount bytes) const;

  RunTimeMemoryOptions options_;
  TimeNs started_ns_ = 0;
  TimeNs fails_ns_ = kNever;
};

}  // namespace headroom
