#include "workloads/transforms/thinning.hpp"

#include <cstddef>

#include "sim/kernel/random.hpp"
#include "workloads/session_rows.hpp"

namespace headroom {

std::vector<bool> thinned_rows(const Trace& trace, double share, std::uint64_t seed,
                               ThinningReport& report) {
  RandomStream stream(seed, "trace/thinning");
  const std::vector<std::uint32_t> previous = previous_in_session(trace);
  std::vector<bool> kept(previous.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const bool is_first = previous[i] == kNoRow;
    kept[i] = is_first ? stream.uniform() < share : kept[previous[i]];
    if (kept[i]) continue;
    ++report.rows_dropped;
    const bool has_session = !trace.details.empty() && trace.details[i].session != kNoSession;
    if (is_first && has_session) ++report.sessions_dropped;
  }
  return kept;
}

}  // namespace headroom
