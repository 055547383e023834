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

// Tokens of the longest request, prompt and output; of a run that did not start from its lengths'
// laws, 0 where they do not say it.
[[nodiscard]] TokenCount longest_asked(const RunResult& run);

// A value as people read it: a text without quotes, "not set" for none.
[[nodiscard]] std::string shown_setting(const Json& value);

// `run`: of the system as it is, started or not. `longest`: tokens of the longest request that is
// to be served, prompt and output; 0: not known. `largest_share`: as in AskQuery.
[[nodiscard]] std::vector<AskCandidate> ask_candidates(const RunResult& run, TokenCount longest,
                                                       const Catalog& catalog,
                                                       double largest_share = 1);

}  // namespace headroom
