#include "sim/report/transfer_report.hpp"

#include <fmt/format.h>

#include "sim/report/output_file.hpp"
#include "sim/report/terminal.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

// Share of the run in which the ports of the replicas with this role were busy, on average.
double port_share(const RunResult& result, ReplicaRole role) {
  const TransferCounts& counts = *result.totals.transfers;
  double busy = 0;
  double all = 0;
  std::size_t number = 0;
  for (const FleetGroup& group : result.groups) {
    for (std::int64_t i = 0; i < group.count; ++i, ++number) {
      if (group.role != role) continue;
      busy += static_cast<double>(counts.port_busy_ns[number]);
      all += static_cast<double>(result.totals.end_ns);
    }
  }
  return all > 0 ? busy / all : 0;
}

double mean_ms(Int128 sum_ns, std::int64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum_ns) / 1e6 / static_cast<double>(count);
}

std::string instant_text(TimeNs ns) { return ns < 0 ? "" : fmt::format("{}", ns); }

}  // namespace

Json transfers_json(const RunResult& result) {
  const TransferCounts& counts = *result.totals.transfers;
  return {{"count", counts.transfers},
          {"bytes", counts.bytes},
          {"mean_room_wait_ms", mean_ms(counts.room_wait_ns, counts.transfers)},
          {"mean_port_wait_ms", mean_ms(counts.port_wait_ns, counts.transfers)},
          {"prefill_port_busy_share", port_share(result, ReplicaRole::prefill)},
          {"decode_port_busy_share", port_share(result, ReplicaRole::decode)},
          {"kv_lost", counts.lost},
          {"abandoned", counts.abandoned},
          {"local_short", counts.local_short},
          {"local_queued", counts.local_queued}};
}

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

void write_transfers_csv(const RunResult& result, const std::string& path) {
  OutputFile file(path);
  file.write("index,prefill_replica,decode_replica,prefilled_ns,asked_ns,begin_ns,end_ns,blocks\n");
  for (const TransferRecord& t : result.totals.transfer_records) {
    const std::string to =
        t.decode_replica == kNoReplica ? "" : fmt::format("{}", t.decode_replica);
    file.write(fmt::format("{},{},{},{},{},{},{},{}\n", t.index, t.prefill_replica, to,
                           t.prefilled_ns, instant_text(t.asked_ns), instant_text(t.begin_ns),
                           instant_text(t.end_ns), t.blocks));
  }
  file.close();
}

}  // namespace headroom
