// What programs may know of the engines.

#include "sim/engines/engines.hpp"

#include <algorithm>

#include "sim/api/headroom.hpp"
#include "sim/scenario/option_value.hpp"

namespace headroom::api {
namespace {

// The option of the first change that an engine proposes of this sort.
template <typename Sort>
std::string option_of(const Engine& engine, Sort is_wanted) {
  const auto fixes = engine.fixes();
  const auto found = std::ranges::find_if(fixes, is_wanted);
  return found == fixes.end() ? std::string() : option_path(found->pointer);
}

}  // namespace

std::vector<EngineAnswer> engines() {
  std::vector<EngineAnswer> answers;
  for (const Engine* engine : headroom::engines()) {
    answers.push_back(
        {.name = std::string(engine->name),
         .version = std::string(engine->version),
         .share_option = option_of(
             *engine, [](const FixCandidate& fix) { return fix.search == FixSearch::share_up; }),
         .batch_option = option_of(
             *engine, [](const FixCandidate& fix) { return fix.counts == FixCounts::requests; }),
         .length_option = option_of(*engine, [&](const FixCandidate& fix) {
           return fix.counts == FixCounts::tokens && fix.pointer != engine->step_option;
         })});
  }
  return answers;
}

}  // namespace headroom::api
