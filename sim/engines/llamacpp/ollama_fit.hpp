#pragma once
// How many layers Ollama before 0.30 puts on the device, where the user does not say: it sizes
// weights, caches and the graph itself before it starts its runner. From 0.30 on it starts
// llama-server, which fits them (llm/llama_server.go).

#include "sim/engines/llamacpp/budget.hpp"

namespace headroom {

// Sets the devices that take part, as few as have room for all layers, and n_gpu_layers, or for
// models of Ollama's own runner, which measures its graph, the memory that stays free.
// llm/server.go of 0.12 to 0.24 (llamaServer.Load, assignLayers), llm/memory.go before; sizes of
// graphs: fs/ggml/ggml.go, GraphSize.
void ollama_fit(const BudgetInputs& inputs, LlamacppBudgetOptions& options);

// From 0.30 on: one device where a model is predicted to take at most 80 % of it, else all
// (server/sched.go, selectLlamaServerPlacement).
void ollama_choose_devices(const BudgetInputs& inputs, LlamacppBudgetOptions& options);

}  // namespace headroom
