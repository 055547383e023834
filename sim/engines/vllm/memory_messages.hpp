#pragma once
// What vLLM writes when memory is short, and what it says of its memory before.

#include <array>
#include <string_view>

#include "sim/engines/memory_message.hpp"

namespace headroom {

inline constexpr std::string_view kVllmShorterRequests =
    "--max-model-len {longest}: requests up to that length, with 10 % to spare|--max-model-len: a "
    "shorter longest request|--kv-cache-dtype fp8: twice the tokens in the same memory, check "
    "quality|--gpu-memory-utilization: a larger share, if other programs leave it free|"
    "--tensor-parallel-size: more devices";
inline constexpr std::string_view kVllmMoreForKv =
    "--gpu-memory-utilization: a larger share, if other programs leave it free|--enforce-eager: no "
    "CUDA graphs, slower decode steps|--max-num-seqs, --max-num-batched-tokens: a smaller "
    "profiling pass|--quantization: smaller weights, check quality|--tensor-parallel-size: more "
    "devices";

// vllm/v1/core/kv_cache_utils.py (_check_enough_kv_cache_memory), vllm/v1/worker/gpu_worker.py and
// gpu_model_runner.py, 0.9 to 0.28; vllm/worker/worker.py before V1.
inline constexpr std::array kVllmMessages{
    MemoryMessage{.pattern = "To serve at least one request with the model* max seq len (#)*# G*KV "
                             "cache is needed*larger than the available KV cache memory (# "
                             "G*estimated maximum model length is #",
                  .figures = {MemoryFigure::length, MemoryFigure::kv_wanted, MemoryFigure::kv,
                              MemoryFigure::longest},
                  .stage = StartupStage::max_length_request,
                  .meaning = "the KV pool is too small for one request of max_model_len",
                  .changes = kVllmShorterRequests},
    MemoryMessage{.pattern = "To serve at least one request with the model* max seq len (#)*# G*KV "
                             "cache is needed*larger than the available KV cache memory (# G",
                  .figures = {MemoryFigure::length, MemoryFigure::kv_wanted, MemoryFigure::kv},
                  .stage = StartupStage::max_length_request,
                  .meaning = "the KV pool is too small for one request of max_model_len",
                  .changes = kVllmShorterRequests},
    MemoryMessage{.pattern = "To serve at least one request with the model* max seq len (#",
                  .figures = {MemoryFigure::length},
                  .stage = StartupStage::max_length_request,
                  .meaning = "the KV pool is too small for one request of max_model_len",
                  .changes = kVllmShorterRequests},
    MemoryMessage{.pattern = "max seq len (#) is larger than the maximum number of tokens that can "
                             "be stored in KV cache (#",
                  .figures = {MemoryFigure::length, MemoryFigure::longest},
                  .stage = StartupStage::max_length_request,
                  .meaning = "the KV pool is too small for one request of max_model_len",
                  .changes = kVllmShorterRequests},
    MemoryMessage{.pattern = "No available memory for the cache blocks",
                  .stage = StartupStage::blocks,
                  .meaning = "weights and the profiling pass leave nothing for KV",
                  .changes = kVllmMoreForKv},
    MemoryMessage{
        .pattern = "Free memory on device*(#/# GiB) on startup is less than desired GPU memory "
                   "utilization (#, # GiB",
        .figures = {MemoryFigure::free, MemoryFigure::total, MemoryFigure::skipped,
                    MemoryFigure::wanted},
        .stage = StartupStage::free_memory_check,
        .meaning = "less memory is free than the share that the engine is told to use",
        .changes = "other programs on the device stopped, or moved to another one|"
                   "--gpu-memory-utilization: a share that is free|on unified memory: the page "
                   "cache dropped, which counts as used"},
    MemoryMessage{.pattern = "CUDA out of memory occurred when warming up sampler with # dummy",
                  .stage = StartupStage::warm_up,
                  .meaning = "the first batch does not fit beside the KV pool",
                  .changes = "--max-num-seqs: a smaller batch|--gpu-memory-utilization: a smaller "
                             "share, so that more is left"},
    MemoryMessage{.pattern = "Free memory on device*(#/# GiB) on startup. Desired",
                  .figures = {MemoryFigure::free, MemoryFigure::total}},
    MemoryMessage{.pattern = "odel loading took # G", .figures = {MemoryFigure::weights}},
    MemoryMessage{.pattern = "Available KV cache memory: # GiB", .figures = {MemoryFigure::kv}},
    MemoryMessage{.pattern = "Graph capturing finished in # secs, took # GiB",
                  .figures = {MemoryFigure::skipped, MemoryFigure::graphs}},
};

}  // namespace headroom
