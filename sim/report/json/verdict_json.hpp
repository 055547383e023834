#pragma once
// The verdict of a run, by the same keys in every answer.

#include <nlohmann/json.hpp>

#include "sim/resolve/run_verdict.hpp"

namespace headroom {

// verdict, reason and binds.
[[nodiscard]] inline nlohmann::ordered_json verdict_json(const RunVerdict& verdict) {
  return {{"verdict", name_of(verdict.verdict)},
          {"reason", verdict.reason},
          {"binds", name_of(verdict.binds)}};
}

}  // namespace headroom
