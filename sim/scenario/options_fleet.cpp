// Option rows of the fleet: replicas, router, admission, faults.

#include <array>
#include <string>

#include "scheduler/routing/routers.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

using F = FleetSection;
using Routing = RouterSection;
using Door = AdmissionSection;
using Apart = DisaggregationSection;

template <auto... M>
constexpr auto at = field<&Scenario::fleet, M...>;

constexpr std::string_view kFleet = "/fleet/";
constexpr std::string_view kFaults = "/fleet/faults/";
constexpr std::string_view kApart = "/fleet/disaggregation/";

const std::string kRouters = router_choices([](const RouterRow&) { return true; });
const std::string kWithOldPicture =
    "/fleet/router/policy=" +
    router_choices([](const RouterRow& row) { return row.sees_replicas; });
// Targets cannot be split into the part of a decode replica alone.
const std::string kDecodeRouters =
    router_choices([](const RouterRow& row) { return !row.keeps_promises; });

constexpr std::string_view kRing = "/fleet/router/policy=session_affinity";
constexpr std::string_view kTree = "/fleet/router/policy=prefix_affinity|weighted";
constexpr std::string_view kCacheAware = "/fleet/router/policy=prefix_affinity";
constexpr std::string_view kWeighted = "/fleet/router/policy=weighted";
constexpr std::string_view kSloAware = "/fleet/router/policy=slo_aware";
constexpr std::string_view kBucket = "/fleet/admission/policy=token_bucket";
constexpr Bounds kReplicas{.low = 1, .high = 65535};
constexpr Bounds kWeight{.low = 0, .high = 1e6};
constexpr Bounds kFleetSeconds{.low = 0, .high = 9e9, .low_open = true};
constexpr Bounds kInstant{.low = 0, .high = 9e9};
constexpr Bounds kDollars{.low = 0, .high = 1e6};

const OptionRow kRows[] = {
    {.pointer = "/fleet/replicas",
     .reach = at<&F::replicas>,
     .bounds = kReplicas,
     .doc =
         "number of equal replicas, each as the scenario describes; for unequal ones list groups",
     .absent = "1",
     .group = kFleet},
    {.pointer = "/fleet/cost_per_hour",
     .reach = at<&F::cost_per_hour>,
     .unit = "$/h",
     .bounds = kDollars,
     .doc = "price of one replica",
     .absent = "not counted",
     .group = kFleet},
    {.pointer = "/fleet/zones",
     .reach = at<&F::zones>,
     .bounds = kReplicas,
     .doc = "number of zones; the replicas of each group are spread over them round robin, "
            "numbered from 0",
     .absent = "one",
     .group = kFleet},
    {.pointer = "/fleet/router/policy",
     .reach = at<&F::router, &Routing::policy>,
     .choices = kRouters,
     .doc = "policy that picks the replica for a request",
     .group = kFleet},
    {.pointer = "/fleet/router/update_delay_ms",
     .reach = at<&F::router, &Routing::update_delay_ms>,
     .unit = "ms",
     .bounds = {.low = 0, .high = 1e9},
     .doc = "age of the loads and cache contents that the router sees",
     .only_with = kWithOldPicture,
     .group = kFleet},
    {.pointer = "/fleet/router/ring_points",
     .reach = at<&F::router, &Routing::ring_points>,
     .bounds = {.low = 1, .high = 10000},
     .doc = "places on the hash ring for a replica of weight 1",
     .only_with = kRing,
     .group = kFleet},
    {.pointer = "/fleet/router/tree_tokens",
     .reach = at<&F::router, &Routing::tree_tokens>,
     .unit = "tokens",
     .bounds = {.low = 1, .high = 1e12},
     .doc =
         "prompt tokens that the router remembers per replica; it forgets the least recent first",
     .only_with = kTree,
     .group = kFleet},
    {.pointer = "/fleet/router/cache_threshold",
     .reach = at<&F::router, &Routing::cache_threshold>,
     .bounds = {.low = 0, .high = 1},
     .doc = "share of the prompt that a replica must have cached; if none has, the least loaded "
            "gets the request",
     .only_with = kCacheAware,
     .group = kFleet},
    {.pointer = "/fleet/router/balance_abs_threshold",
     .reach = at<&F::router, &Routing::balance_abs_threshold>,
     .unit = "requests",
     .bounds = {.low = 0, .high = 1e12},
     .doc = "the least loaded replica gets the request if the largest load exceeds the smallest by "
            "more than this and also by balance_rel_threshold",
     .only_with = kCacheAware,
     .group = kFleet},
    {.pointer = "/fleet/router/balance_rel_threshold",
     .reach = at<&F::router, &Routing::balance_rel_threshold>,
     .bounds = {.low = 0, .high = 1e6},
     .doc = "second condition, with balance_abs_threshold: the largest load exceeds this times the "
            "smallest",
     .only_with = kCacheAware,
     .group = kFleet},
    {.pointer = "/fleet/router/prefix_weight",
     .reach = at<&F::router, &Routing::prefix_weight>,
     .bounds = kWeight,
     .doc = "weight of the tokens to compute first: those waiting, and the part of the prompt not "
            "cached there",
     .only_with = kWeighted,
     .group = kFleet},
    {.pointer = "/fleet/router/kv_weight",
     .reach = at<&F::router, &Routing::kv_weight>,
     .bounds = kWeight,
     .doc = "weight of the tokens in the KV pool",
     .only_with = kWeighted,
     .group = kFleet},
    {.pointer = "/fleet/router/request_weight",
     .reach = at<&F::router, &Routing::request_weight>,
     .unit = "tokens",
     .bounds = kWeight,
     .doc = "tokens that each running or waiting request counts as",
     .only_with = kWeighted,
     .group = kFleet},
    {.pointer = "/fleet/router/headroom_selection_strategy",
     .reach = at<&F::router, &Routing::headroom_selection_strategy>,
     .choices = "least|most",
     .doc = "which one to choose of the replicas predicted to meet the targets (slo, or that of "
            "the request's class): least headroom packs, most spreads",
     .only_with = kSloAware,
     .group = kFleet},
    {.pointer = "/fleet/router/ttft_weight",
     .reach = at<&F::router, &Routing::ttft_weight>,
     .bounds = kWeight,
     .doc = "weight in the headroom of predicted TTFT / target",
     .only_with = kSloAware,
     .group = kFleet},
    {.pointer = "/fleet/router/tpot_weight",
     .reach = at<&F::router, &Routing::tpot_weight>,
     .bounds = kWeight,
     .doc = "weight in the headroom of predicted TPOT / target",
     .only_with = kSloAware,
     .group = kFleet},
    {.pointer = "/fleet/router/slo_buffer_factor",
     .reach = at<&F::router, &Routing::slo_buffer_factor>,
     .bounds = {.low = 0, .high = 1e6, .low_open = true},
     .doc = "multiplies the targets: below 1 the router aims for stricter ones than clients were "
            "promised",
     .only_with = kSloAware,
     .group = kFleet},

    {.pointer = "/fleet/admission/policy",
     .reach = at<&F::admission, &Door::policy>,
     .choices = "unlimited|max_in_flight|priority|token_bucket|deadline",
     .doc = "which requests the fleet admits; the others are rejected before any replica",
     .group = kFleet},
    {.pointer = "/fleet/admission/max_in_flight",
     .reach = at<&F::admission, &Door::max_in_flight>,
     .unit = "requests",
     .bounds = {.low = 1, .high = 1e12},
     .doc = "most requests in the fleet at once",
     .only_with = "/fleet/admission/policy=max_in_flight|priority",
     .group = kFleet},
    {.pointer = "/fleet/admission/low_share",
     .reach = at<&F::admission, &Door::low_share>,
     .bounds = {.low = 0, .high = 1, .high_open = true},
     .doc = "share of max_in_flight open to requests below the first priority",
     .absent = "required",
     .only_with = "/fleet/admission/policy=priority",
     .group = kFleet},
    {.pointer = "/fleet/admission/unit",
     .reach = at<&F::admission, &Door::unit>,
     .choices = "requests|prompt_tokens",
     .doc = "what the bucket counts",
     .only_with = kBucket,
     .group = kFleet},
    {.pointer = "/fleet/admission/rate",
     .reach = at<&F::admission, &Door::rate>,
     .unit = "units/s",
     .bounds = {.low = 0, .high = 1e12, .low_open = true},
     .doc = "rate at which the bucket fills",
     .only_with = kBucket,
     .group = kFleet},
    {.pointer = "/fleet/admission/burst",
     .reach = at<&F::admission, &Door::burst>,
     .unit = "units",
     .bounds = {.low = 1, .high = 1e12},
     .doc = "size of the bucket, which is full at the start",
     .only_with = kBucket,
     .group = kFleet},
    {.pointer = "/fleet/admission/window_s",
     .reach = at<&F::admission, &Door::window_s>,
     .unit = "s",
     .bounds = kFleetSeconds,
     .doc = "window over which the router measures how fast queues empty",
     .only_with = "/fleet/admission/policy=deadline",
     .group = kFleet},

    {.pointer = "/fleet/faults/mtbf_s",
     .reach = at<&F::faults, &FaultsSection::mtbf_s>,
     .unit = "s",
     .bounds = kFleetSeconds,
     .doc = "mean up time of a replica between crashes, exponentially distributed",
     .absent = "no random crashes",
     .group = kFaults},
    {.pointer = "/fleet/faults/down_s",
     .reach = at<&F::faults, &FaultsSection::down_s>,
     .unit = "s",
     .bounds = kFleetSeconds,
     .doc = "time from a crash until the replica is back",
     .absent = "start_s of its group's autoscaling, else engine.restart_s",
     .group = kFaults},
    {.pointer = "/fleet/faults/resend",
     .reach = at<&F::faults, &FaultsSection::resend>,
     .doc =
         "restart the requests of a crashed replica at another one, without their clients noticing",
     .group = kFaults},

    {.pointer = "/fleet/disaggregation/link_gb_per_s",
     .reach = at<&F::disaggregation, &Apart::link_gb_per_s>,
     .unit = "GB/s",
     .bounds = {.low = 1e-3, .high = 1e6},
     .doc = "network rate of each replica's port, per direction",
     .group = kApart},
    {.pointer = "/fleet/disaggregation/link_latency_ms",
     .reach = at<&F::disaggregation, &Apart::link_latency_ms>,
     .unit = "ms",
     .bounds = {.low = 0, .high = 1e6},
     .doc = "fixed latency of each transfer",
     .group = kApart},
    {.pointer = "/fleet/disaggregation/first_token",
     .reach = at<&F::disaggregation, &Apart::first_token>,
     .choices = "decode|prefill",
     .doc = "source of the client's first token: the decode replica computes it again (vLLM behind "
            "its proxies), or the prefill replica sends it before the KV moves",
     .group = kApart},
    {.pointer = "/fleet/disaggregation/decode_router",
     .reach = at<&F::disaggregation, &Apart::decode_router>,
     .choices = kDecodeRouters,
     .doc = "policy that picks the decode replica, with that router's defaults; fleet.router picks "
            "the prefill replica",
     .group = kApart},
    {.pointer = "/fleet/disaggregation/max_local_prefill_tokens",
     .reach = at<&F::disaggregation, &Apart::max_local_prefill_tokens>,
     .unit = "tokens",
     .bounds = {.low = 1, .high = 1e9},
     .doc =
         "a decode replica computes the prompt itself if its cache lacks at most this many tokens",
     .absent = "none",
     .group = kApart},
    {.pointer = "/fleet/disaggregation/max_prefill_queue",
     .reach = at<&F::disaggregation, &Apart::max_prefill_queue>,
     .unit = "requests",
     .bounds = {.low = 1, .high = 1e9},
     .doc = "a decode replica also computes any prompt that arrives while this many wait for a "
            "prefill replica",
     .absent = "no limit",
     .group = kApart},
};

template <auto Member>
constexpr auto of_group = +[](Scenario& s) -> auto& {
  return s.fleet.groups.front().*Member;
};
template <auto Member>
constexpr auto of_crash = +[](Scenario& s) -> auto& {
  return s.fleet.faults.crashes.front().*Member;
};
template <auto Member>
constexpr auto of_slow = +[](Scenario& s) -> auto& {
  return s.fleet.faults.slow.front().*Member;
};

constexpr Bounds kNumber{.low = 0, .high = 65534};

const OptionRow kElementRows[] = {
    {.pointer = "/fleet/groups/name",
     .reach = of_group<&GroupSection::name>,
     .doc = "name of the group in results"},
    {.pointer = "/fleet/groups/count",
     .reach = of_group<&GroupSection::count>,
     .bounds = kReplicas,
     .doc = "replicas of the group"},
    {.pointer = "/fleet/groups/weight",
     .reach = of_group<&GroupSection::weight>,
     .bounds = {.low = 0, .high = 1e6, .low_open = true},
     .doc = "share of the traffic that each of its replicas gets, relative to other groups"},
    {.pointer = "/fleet/groups/role",
     .reach = of_group<&GroupSection::role>,
     .choices = "both|prefill|decode",
     .doc = "role of its replicas; if one group prefills or decodes, each group must do one of the "
            "two"},
    {.pointer = "/fleet/groups/cost_per_hour",
     .reach = of_group<&GroupSection::cost_per_hour>,
     .unit = "$/h",
     .bounds = kDollars,
     .doc = "price of one of its replicas",
     .absent = "not counted"},
    {.pointer = "/fleet/groups/zones",
     .reach = of_group<&GroupSection::zones>,
     .bounds = kNumber,
     .doc = "numbers of the zones over which its replicas are spread round robin; default: all"},
    {.pointer = "/fleet/faults/crashes/replica",
     .reach = of_crash<&CrashSection::replica>,
     .bounds = kNumber,
     .doc = "number of the replica that crashes, counted from 0 in the order of the groups"},
    {.pointer = "/fleet/faults/crashes/at_s",
     .reach = of_crash<&CrashSection::at_s>,
     .unit = "s",
     .bounds = kInstant,
     .doc = "simulated time of the crash"},
    {.pointer = "/fleet/faults/crashes/down_s",
     .reach = of_crash<&CrashSection::down_s>,
     .unit = "s",
     .bounds = kFleetSeconds,
     .doc = "time until the replica is back",
     .absent = "fleet.faults.down_s"},
    {.pointer = "/fleet/faults/slow/replica",
     .reach = of_slow<&SlowSection::replica>,
     .bounds = kNumber,
     .doc = "number of the replica whose device is slow for a while"},
    {.pointer = "/fleet/faults/slow/at_s",
     .reach = of_slow<&SlowSection::at_s>,
     .unit = "s",
     .bounds = kInstant,
     .doc = "simulated time at which the slow period begins"},
    {.pointer = "/fleet/faults/slow/for_s",
     .reach = of_slow<&SlowSection::for_s>,
     .unit = "s",
     .bounds = kFleetSeconds,
     .doc = "length of the slow period"},
    {.pointer = "/fleet/faults/slow/factor",
     .reach = of_slow<&SlowSection::factor>,
     .bounds = {.low = 1, .high = 1000, .low_open = true},
     .doc = "factor on the time of its arithmetic and memory accesses (cost level affine: on the "
            "whole step)"},
};

}  // namespace

std::span<const OptionRow> fleet_options() { return kRows; }
std::span<const OptionRow> fleet_element_options() {
  static const std::vector<OptionRow> rows = [] {
    std::vector<OptionRow> all(std::begin(kElementRows), std::end(kElementRows));
    for (const auto& part : {fleet_scaling_element_options(), fleet_route_element_options()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace headroom
