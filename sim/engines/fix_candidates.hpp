#pragma once
// Which single options may be changed to make a system fit, and what that costs. Each engine lists
// its own (Engine::fixes), with the rows below for options that several have. A list only proposes:
// whether a value helps is decided by the engine's budget rule.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/options/json.hpp"

namespace headroom {

// What a change costs, from nothing to most.
enum class FixCost : std::uint8_t {
  none,     // memory that was set aside or taken by something else
  limits,   // some requests are refused or wait
  speed,    // slower steps
  quality,  // results may differ: to be checked
  hardware  // more devices
};
[[nodiscard]] std::string_view name_of(FixCost cost);

enum class FixSearch : std::uint8_t {
  share_up,  // the next hundredths
  share_down,
  count_down,  // the largest that works
  count_up,    // the smallest that works
  ladder       // the first of `values`
};

// What an integer option counts, which bounds the search by the need.
enum class FixCounts : std::uint8_t { other, tokens, requests, cells, layers };

struct FixCandidate {
  std::string_view pointer;
  FixSearch search = FixSearch::ladder;
  FixCost cost = FixCost::none;
  std::string_view text;  // {} is the new value, {old} the present one
  std::string_view values = {};
  FixCounts counts = FixCounts::other;
  std::int64_t low = 1;  // of counts, in `unit`; 0 of layers
  std::int64_t unit = 1;
};

namespace fixes {

using Try = FixSearch;
using Cost = FixCost;
using Of = FixCounts;

inline constexpr std::string_view kLonger = "requests longer than {} tokens are rejected";
inline constexpr std::string_view kFewer = "at most {} requests at a time; more wait";
inline constexpr std::string_view kLength =
    "accepts requests of {} tokens; fewer of them fit at once";
inline constexpr std::string_view kMore =
    "up to {} requests at a time, so each gets a smaller share of the step";
inline constexpr std::string_view kSteps = "steps of {} tokens: long prompts take more steps";
inline constexpr std::string_view kKv8 = "KV in 8 bit: check quality";
inline constexpr std::string_view kGraphs = "no CUDA graphs: slower decode steps";
inline constexpr std::string_view kWeights = "weights in {}: check quality";
inline constexpr std::string_view kDevices = "{} devices instead of {old}";
inline constexpr std::string_view kMachines =
    "{} pipeline stages instead of {old}: more devices, but a single request is no faster";
inline constexpr std::string_view kSpare = "leaves less spare memory";
inline constexpr std::string_view kAsks = "requests less, because other processes use the rest";
inline constexpr std::string_view kHostLayers =
    "{} layers on the device, the others on the host: much slower";
inline constexpr std::string_view kCells = "{} cells of KV are allocated at start instead of {old}";

inline constexpr FixCandidate kMoreOfTotal{"/engine/gpu_memory_utilization", Try::share_up,
                                           Cost::none, kSpare};
inline constexpr FixCandidate kLessOfTotal{"/engine/gpu_memory_utilization", Try::share_down,
                                           Cost::none, kAsks};
inline constexpr FixCandidate kFewerPoolBytes{"/engine/kv_cache_memory_bytes",
                                              Try::count_down,
                                              Cost::none,
                                              "a smaller pool: {} bytes",
                                              {},
                                              Of::other,
                                              1,
                                              std::int64_t{64} << 20};
inline constexpr FixCandidate kMorePoolBytes{"/engine/kv_cache_memory_bytes",
                                             Try::count_up,
                                             Cost::none,
                                             "a larger pool: {} bytes",
                                             {},
                                             Of::other,
                                             1,
                                             std::int64_t{64} << 20};
inline constexpr FixCandidate kFewerPoolBlocks{"/engine/num_gpu_blocks_override",
                                               Try::count_down,
                                               Cost::none,
                                               "a smaller pool: {} blocks",
                                               {},
                                               Of::other,
                                               2};
inline constexpr FixCandidate kMorePoolBlocks{"/engine/num_gpu_blocks_override", Try::count_up,
                                              Cost::none, "a larger pool: {} blocks"};
inline constexpr FixCandidate kShorterModelLen{
    "/engine/max_model_len", Try::count_down, Cost::limits, kLonger, {}, Of::tokens};
inline constexpr FixCandidate kLongerModelLen{
    "/engine/max_model_len", Try::count_up, Cost::none, kLength, {}, Of::tokens};
inline constexpr FixCandidate kFewerSeqs{
    "/engine/max_num_seqs", Try::count_down, Cost::limits, kFewer, {}, Of::requests};
inline constexpr FixCandidate kMoreSeqs{
    "/engine/max_num_seqs", Try::count_up, Cost::none, kMore, {}, Of::requests};
inline constexpr FixCandidate kSmallerBatch{
    "/engine/max_batch_size", Try::count_down, Cost::limits, kFewer, {}, Of::requests};
inline constexpr FixCandidate kLargerBatch{
    "/engine/max_batch_size", Try::count_up, Cost::none, kMore, {}, Of::requests};
inline constexpr FixCandidate kShorterInput{"/engine/max_input_tokens", Try::count_down,
                                            Cost::limits,
                                            "prompts longer than {} tokens are rejected"};
inline constexpr FixCandidate kLongerInput{"/engine/max_input_tokens",
                                           Try::count_up,
                                           Cost::none,
                                           "prompts of up to {} tokens",
                                           {},
                                           Of::tokens};
inline constexpr FixCandidate kShorterOutput{"/engine/max_new_tokens", Try::count_down,
                                             Cost::limits, "outputs end after {} tokens"};
inline constexpr FixCandidate kKvIn8Bit{"/engine/kv_cache_dtype", Try::ladder, Cost::quality, kKv8,
                                        "fp8"};
inline constexpr FixCandidate kWeightsIn8Or4Bit{"/engine/quantization", Try::ladder, Cost::quality,
                                                kWeights, "fp8|int4"};
inline constexpr FixCandidate kMoreDevices{"/engine/tensor_parallel_size", Try::ladder,
                                           Cost::hardware, kDevices, "2|3|4|5|6|7|8|16|32|64"};
inline constexpr FixCandidate kMoreStages{"/engine/pipeline_parallel_size", Try::ladder,
                                          Cost::hardware, kMachines, "2|3|4|6|8|16"};

}  // namespace fixes

// What the host or the container took, whatever the engine.
[[nodiscard]] std::span<const FixCandidate> environment_fixes();

// The values of a ladder in order: numbers and switches as such, anything else as text.
[[nodiscard]] std::vector<Json> ladder_of(const FixCandidate& candidate);

// `text` with {} and {old} replaced.
[[nodiscard]] std::string filled(std::string_view text, std::string_view value,
                                 std::string_view old);

}  // namespace headroom
