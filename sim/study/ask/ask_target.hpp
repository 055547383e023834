#pragma once
// Latency targets as people write them: "p99_ttft=2s,p95_tpot=50ms".

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/json_document.hpp"
#include "sim/scenario/slo_section.hpp"
#include "sim/study/search/search.hpp"

namespace headroom {

// Limits in ms on the latencies of `vllm bench serve`; the suffix _ms may be left out, "ttft p99"
// is p99_ttft, and a value without a unit (s, ms, us) is in ms. ConfigError naming `origin`: no
// such latency, one that says no percentile, one that stands twice, no positive time, or a text
// without any.
[[nodiscard]] std::vector<Limit> parse_targets(const std::vector<std::string>& texts,
                                               const std::string& origin = "--slo");

// One sentence for each target, or condition on a latency ("p99_ttft <= 2"), whose time has no
// unit: it may have been meant in seconds.
[[nodiscard]] std::vector<std::string> unit_notes(const std::vector<std::string>& texts);

// `targets`, and of `slo` the limits on latencies of all requests that they do not replace.
[[nodiscard]] std::vector<Limit> with_limits_of(const SloSection& slo, std::vector<Limit> targets);

// Writes `targets` into the section slo of a scenario. ConfigError naming `origin`: a latency that
// the section has no limit for.
void keep_targets(const std::vector<Limit>& targets, JsonDocument& document,
                  const std::string& origin);

}  // namespace headroom
