#include "sim/report/json/names.hpp"

#include <array>

#include "sim/metrics/event_log.hpp"

namespace headroom {
namespace {

constexpr std::array<std::string_view, kOutcomeCount> kOutcomes{
    "unfinished", "finished", "rejected", "cancelled", "lost_to_oom", "lost_to_fault"};
constexpr std::array<std::string_view, kEngineEventKinds> kEventKinds{
    "queued",  "admitted",    "preempted",        "rejected",          "cancelled",
    "oom",     "engine_lost", "engine_restarted", "placement_refused", "overloaded",
    "crashed", "requeued",    "escalated"};

}  // namespace

std::string_view name_of(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }
std::string_view name_of(EngineEventKind kind) {
  return kEventKinds[static_cast<std::size_t>(kind)];
}

}  // namespace headroom
