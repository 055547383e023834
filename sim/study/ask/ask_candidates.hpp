#pragma once
// Single changes of a system that may serve more traffic: values of the options that its engine
// lists (Engine::fixes), prefix caching and chunked prefill, more devices, one more replica, and
// the next faster devices. A list only proposes; whether a change helps is simulated.

#include <string>
#include <vector>

#include "sim/engines/fix_candidates.hpp"
#include "sim/resolve/run.hpp"
#include "sim/study/ask/ask_load.hpp"

namespace headroom {

struct AskCandidate {
  Setting setting;
  std::string from;  // the value so far, "not set" where there is none
  FixCost cost = FixCost::none;
  std::string cost_text;
};

// `run`: of the system as it is, started or not. `longest`: tokens of the longest request that is
// to be served, prompt and output; 0: not known.
[[nodiscard]] std::vector<AskCandidate> ask_candidates(const RunResult& run, TokenCount longest,
                                                       const Catalog& catalog);

}  // namespace headroom
