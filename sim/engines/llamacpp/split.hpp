#pragma once
// Where the layers of a model lie under llama.cpp, and what that puts on each device and on the
// host. Rules: llama.cpp llama-model.cpp, llama-kv-cache-iswa.cpp at b10481.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hardware/host_reads.hpp"
#include "hardware/llm/model_part.hpp"
#include "sim/engines/llamacpp/budget.hpp"

namespace headroom {

// Devices in the order of their layers; the layers before the first device's are the host's.
struct LlamacppPlacement {
  struct Device {
    std::size_t first = 0;  // layers [first, last)
    std::size_t last = 0;
    bool output = false;
    [[nodiscard]] bool is_used() const { return last > first || output; }
  };
  std::vector<Device> devices;
  // By layer: its routed experts lie on the host, whatever holds the rest of it. Empty: none do.
  std::vector<bool> host_experts;

  [[nodiscard]] std::size_t host_layers() const { return devices.front().first; }
  [[nodiscard]] bool has_output() const;
  [[nodiscard]] std::int64_t gpu_layers() const;  // the output counts as one
  [[nodiscard]] std::int64_t used_devices() const;
};

// How n_gpu_layers are dealt out to devices with the same free memory. Experts stay where
// n_cpu_moe says.
[[nodiscard]] LlamacppPlacement llamacpp_even_placement(const BudgetInputs& inputs,
                                                        const LlamacppBudgetOptions& options,
                                                        std::int64_t gpu_layers);

// Whether the output goes on a device only behind all layers.
[[nodiscard]] bool llamacpp_output_last(const LlamacppBudgetOptions& options);

// Devices that hold layers: those of the system, or fewer.
[[nodiscard]] std::int64_t llamacpp_devices(const BudgetInputs& inputs,
                                            const LlamacppBudgetOptions& options);

// What sits where, of one device. Host bytes are of the whole model.
struct LlamacppSplit {
  bool is_used = false;  // the device holds something
  ByteCount device_weights = 0;
  ByteCount host_weights = 0;
  ByteCount device_kv = 0;  // states included
  ByteCount host_kv = 0;
  ByteCount device_compute = 0;
  ByteCount host_compute = 0;
  HostReads host_reads;
  [[nodiscard]] ByteCount device() const { return device_weights + device_kv + device_compute; }
  [[nodiscard]] ByteCount host() const { return host_weights + host_kv + host_compute; }
};
[[nodiscard]] LlamacppSplit llamacpp_split(const BudgetInputs& inputs,
                                           const LlamacppBudgetOptions& options,
                                           const LlamacppPlacement& placement,
                                           std::int64_t device = 0);
// Of the even placement.
[[nodiscard]] LlamacppSplit llamacpp_split(const BudgetInputs& inputs,
                                           const LlamacppBudgetOptions& options,
                                           std::int64_t gpu_layers, std::int64_t device = 0);

// All attention layers, K and V in their own types; states of recurrent layers apart, in fp32, one
// per slot.
[[nodiscard]] ByteCount llamacpp_kv_bytes(const ModelSpec& model,
                                          const LlamacppBudgetOptions& options);
[[nodiscard]] ByteCount llamacpp_state_bytes(const ModelSpec& model,
                                             const LlamacppBudgetOptions& options);

// Bytes of the parts of one layer, as stored or by its formats.
[[nodiscard]] PartBytes llamacpp_layer_parts(const ModelSpec& model, std::size_t layer);

// Layers [first, last) of full length: the pool that requests grow in.
[[nodiscard]] KvLayout llamacpp_pool_layout(const ModelSpec& model,
                                            const LlamacppBudgetOptions& options, std::size_t first,
                                            std::size_t last);

}  // namespace headroom
