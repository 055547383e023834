#include "sim/report/text/transfer_report.hpp"

#include <fmt/format.h>

#include "sim/report/json/fleet_figures.hpp"
#include "sim/report/text/terminal.hpp"

namespace headroom {
std::string transfers_line(const RunResult& result) {
  const TransferCounts& counts = *result.totals.transfers;
  std::string text = fmt::format(
      "{} of KV, {:.1f} GB; waits for room {:.1f} ms, for the network {:.1f} ms; ports busy "
      "{:.1f} % (prefill), {:.1f} % (decode)",
      human_count(counts.transfers), static_cast<double>(counts.bytes) / 1e9,
      mean_ms(counts.room_wait_ns, counts.transfers),
      mean_ms(counts.port_wait_ns, counts.transfers),
      100 * port_share(result, ReplicaRole::prefill),
      100 * port_share(result, ReplicaRole::decode));
  const std::int64_t local = counts.local_short + counts.local_queued;
  if (local > 0) {
    text += fmt::format("; {} prompts computed by their decode replica", human_count(local));
  }
  if (counts.lost > 0) text += fmt::format("; {} lost with their replica", counts.lost);
  return text;
}

}  // namespace headroom
