#pragma once
// The graph that llama.cpp reserves its compute buffer for: one full micro batch through the layers
// of a device (src/llama-graph.cpp, src/models, ggml/src/ggml-backend.cpp).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engines/llamacpp/budget.hpp"

namespace headroom {

struct GraphPart {
  std::size_t first = 0;  // layers [first, last) are the device's
  std::size_t last = 0;
  bool output = true;        // the logits are computed here
  bool copies_head = false;  // with the output's matrix on the host, copied for the product
  // Layers on the host whose products run on the device, which copies their matrices and caches:
  // those before `first`.
  bool copies_layers = false;
  // By layer: the routed experts are on the host, and the device copies them for its products,
  // those of other devices' layers, too. Empty: none are copied.
  std::vector<bool> host_experts = {};
  // Copies of each input, which stay: several where devices work on micro batches at once.
  std::int64_t input_copies = 1;
};

// Bytes of the device's compute buffer. Exact for dense layers of attention, as logged for a dozen
// models; the inner tensors of recurrent layers and of latent attention are estimates.
[[nodiscard]] ByteCount llamacpp_graph_bytes(const ModelSpec& model,
                                             const LlamacppBudgetOptions& options,
                                             const GraphPart& part);

}  // namespace headroom
