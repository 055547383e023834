#pragma once
// What keeps the load of a run from growing.

#include <cstdint>
#include <string_view>

#include "hardware/catalog.hpp"
#include "sim/resolve/run.hpp"

namespace headroom {

enum class Binds : std::uint8_t {
  nothing,
  pool,
  batch_limit,
  prefill,
  decode,
  api_server,
  length,  // requests are longer than the engine accepts
  alone    // even one request alone is too slow
};
[[nodiscard]] std::string_view name_of(Binds binds);
// "the KV pool is full"
[[nodiscard]] std::string_view sentence_of(Binds binds);

// Mean tokens that the run's requests may need at the most: prompt and max_tokens. Engines that
// promise room start none without so many.
[[nodiscard]] TokenCount mean_promise(const RunResult& run);

// Whether a target on `metric` is about the steps of a request that runs already: TPOT, ITL.
[[nodiscard]] bool waits_for_tokens(std::string_view metric);

// Of prompts (prefill) and answers (decode) the one that delays what is `broken`: a first token
// that no full batch and no full pool holds up waits for prompts, its own among them; else the one
// that takes most of the steps' time.
[[nodiscard]] Binds slowest_work(const RunResult& run, std::string_view broken,
                                 const Catalog& catalog);

// `run`: a little beyond the largest load that holds. `broken`: the metric whose target it misses;
// empty: another rule. In this order: a full API server; where requests wait (all but targets on
// TPOT and ITL) a full batch or a full pool, unless prompts take nearly all of the steps' time;
// else the work.
[[nodiscard]] Binds what_binds(const RunResult& run, std::string_view broken,
                               const Catalog& catalog);

}  // namespace headroom
