// What a fleet must say, and what may not stand together.

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/routing/routers.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/resolve/fleet_disaggregation.hpp"
#include "sim/resolve/fleet_factory.hpp"
#include "sim/resolve/fleet_lifecycle_factory.hpp"
#include "sim/resolve/fleet_routes.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostReplicas = kNoReplica;  // records keep a replica in 16 bits

class FleetValidator {
 public:
  explicit FleetValidator(const Scenario& scenario) : s_(scenario), fleet_(scenario.fleet) {
    replicas_ = 0;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, fleet_.groups.size()); ++i) {
      replicas_ += size_of_group(scenario, i).places;
    }
  }

  void check() const {
    check_groups();
    check_router();
    check_admission();
    check_faults();
    validate_fleet_scaling(s_);
    validate_fleet_routes(s_);
  }

 private:
  void check_groups() const {
    if (!fleet_.groups.empty() && fleet_.replicas) {
      s_.refuse("/fleet/replicas",
                "groups already give the number of replicas: set only one of the two");
    }
    if (!fleet_.groups.empty() && fleet_.cost_per_hour) {
      s_.refuse_unused("/fleet/cost_per_hour", ": each group has its own");
    }
    if (replicas_ > kMostReplicas) {
      s_.refuse("/fleet/groups",
                fmt::format("{} replicas: expected at most {}", replicas_, kMostReplicas),
                ErrorKind::value);
    }
    for (std::size_t i = 0; i < fleet_.groups.size(); ++i) {
      const std::string& name = fleet_.groups[i].name;
      const auto first = std::ranges::find(fleet_.groups, name, &GroupSection::name);
      const std::string pointer = fmt::format("/fleet/groups/{}/name", i);
      if (name.empty()) s_.refuse(pointer, "a group needs a name", ErrorKind::missing);
      if (first != fleet_.groups.begin() + static_cast<std::ptrdiff_t>(i)) {
        s_.refuse_value(pointer, fmt::format("\"{}\"", name), "another group has this name",
                        ErrorKind::conflict);
      }
    }
  }

  void check_router() const {
    bool weighted = router_row(fleet_.router.policy).uses_weights;
    if (fleet_.routes.empty() && router_row(fleet_.router.policy).keeps_promises) {
      check_promises("/fleet/router/policy", fleet_.router.policy);
    }
    for (std::size_t i = 0; i < fleet_.routes.size(); ++i) {
      const std::string& policy = fleet_.routes[i].policy.value_or(fleet_.router.policy);
      weighted |= router_row(policy).uses_weights;
      if (!router_row(policy).keeps_promises) continue;
      check_promises(fleet_.routes[i].policy ? fmt::format("/fleet/routes/{}/policy", i)
                                             : "/fleet/router/policy",
                     policy);
    }
    for (std::size_t i = 0; i < fleet_.groups.size(); ++i) {
      const std::string pointer = fmt::format("/fleet/groups/{}/weight", i);
      const bool decodes = role_of(fleet_.groups[i]) == ReplicaRole::decode;
      const std::string& policy =
          decodes ? fleet_.disaggregation.decode_router : fleet_.router.policy;
      const bool counts = decodes ? router_row(policy).uses_weights : weighted;
      if (s_.is_given(pointer) && !counts) {
        s_.refuse_unused(pointer, fmt::format(" with router {}", policy));
      }
    }
  }

  // Of a router that keeps promises, `policy`, chosen at `pointer`.
  void check_promises(const std::string& pointer, const std::string& policy) const {
    bool ttft = promised_ms(s_.slo, "ttft").has_value();
    bool tpot = promised_ms(s_.slo, "tpot").has_value();
    for (const WorkloadClass& one : s_.workload.classes) {
      ttft |= promised_ms(one.slo, "ttft").has_value();
      tpot |= promised_ms(one.slo, "tpot").has_value();
    }
    if (!ttft && !tpot) {
      s_.refuse_value(
          pointer, fmt::format("\"{}\"", policy),
          "there are no targets: expected slo.ttft_ms, slo.tpot_ms or a limit on one of "
          "them, in the scenario or in a class");
    }
    const bool counts =
        (ttft && fleet_.router.ttft_weight > 0) || (tpot && fleet_.router.tpot_weight > 0);
    if (!counts) {
      s_.refuse_value(ttft ? "/fleet/router/ttft_weight" : "/fleet/router/tpot_weight", "0",
                      "the weight of a target must be above 0");
    }
  }

  void check_admission() const {
    const AdmissionSection& a = fleet_.admission;
    if ((a.policy == "max_in_flight" || a.policy == "priority") && !a.max_in_flight) {
      s_.refuse_missing("/fleet/admission/max_in_flight", "requests at once");
    }
    if (a.policy == "priority" && !a.low_share) {
      s_.refuse_missing("/fleet/admission/low_share",
                        "the share open to requests of other priorities");
    }
    if (a.policy == "priority" && !has_priorities()) {
      s_.refuse_value("/fleet/admission/policy", "\"priority\"",
                      "all requests have the same priority (workload.classes, priority)");
    }
    if (a.policy == "token_bucket" && !a.rate) {
      s_.refuse_missing("/fleet/admission/rate", "the rate at which the bucket fills per second");
    }
    if (a.policy == "token_bucket" && !a.burst) {
      s_.refuse_missing("/fleet/admission/burst", "the size of the bucket");
    }
    if (a.policy != "deadline" || promised_ms(s_.slo, "ttft")) return;
    const auto& classes = s_.workload.classes;
    if (std::ranges::none_of(
            classes, [](const auto& one) { return promised_ms(one.slo, "ttft").has_value(); })) {
      s_.refuse_missing("/slo/ttft_ms", "the target for shedding, here or in a class");
    }
  }

  // Rows of a trace, and requests of clients, have their own.
  [[nodiscard]] bool has_priorities() const {
    if (!s_.workload.trace.file.empty()) return true;
    const auto& classes = s_.workload.classes;
    return std::ranges::any_of(classes, [&](const WorkloadClass& one) {
      return one.workload.priority != classes.front().workload.priority;
    });
  }

  void check_faults() const {
    const FaultsSection& f = fleet_.faults;
    const bool crashes = f.mtbf_s || !f.crashes.empty();
    for (const std::string name : {"/fleet/faults/resend", "/fleet/faults/down_s"}) {
      const bool at_zones = name.ends_with("resend") && !f.zone_losses.empty();
      if (s_.is_given(name) && !crashes && !at_zones) {
        s_.refuse_unused(name, " without crashes (fleet.faults.mtbf_s or crashes)");
      }
    }
    if (f.resend && replicas_ == 1) s_.refuse("/fleet/faults/resend", "there is only one replica");
    const auto in_range = [&](const char* list, std::size_t i, std::int64_t replica) {
      if (replica < replicas_) return;
      s_.refuse_value(fmt::format("{}/{}/replica", list, i), fmt::to_string(replica),
                      fmt::format("replicas are numbered 0 to {}", replicas_ - 1));
    };
    for (std::size_t i = 0; i < f.crashes.size(); ++i) {
      in_range("/fleet/faults/crashes", i, f.crashes[i].replica);
    }
    for (std::size_t i = 0; i < f.slow.size(); ++i) {
      in_range("/fleet/faults/slow", i, f.slow[i].replica);
      for (std::size_t k = 0; k < i; ++k) check_apart(k, i);
    }
  }

  void check_apart(std::size_t earlier, std::size_t later) const {
    const SlowSection& a = fleet_.faults.slow[earlier];
    const SlowSection& b = fleet_.faults.slow[later];
    const bool apart = a.at_s + a.for_s <= b.at_s || b.at_s + b.for_s <= a.at_s;
    if (a.replica != b.replica || apart) return;
    s_.refuse(
        fmt::format("/fleet/faults/slow/{}/at_s", later),
        fmt::format("replica {} is already slow at that time (slow[{}])", b.replica, earlier));
  }

  const Scenario& s_;
  const FleetSection& fleet_;
  std::int64_t replicas_ = 1;
};

}  // namespace

bool is_fleet(const Scenario& scenario) { return !scenario.given_below("/fleet").empty(); }

void validate_fleet(const Scenario& scenario) {
  FleetValidator(scenario).check();
  validate_disaggregation(scenario);
}

void check_groups(const Scenario& scenario, const std::vector<FleetGroup>& groups) {
  const auto has_server = [](const FleetGroup& group) {
    return group.resolved.scenario.engine.has_api_server();
  };
  const bool any = std::ranges::any_of(groups, has_server);
  if (any && !std::ranges::all_of(groups, has_server)) {
    scenario.refuse("/fleet/groups", "engine.api_server_count: set it in all groups or in none");
  }
  if (any && scenario.fleet.faults.resend) {
    scenario.refuse("/fleet/faults/resend", "not modelled with engine.api_server_count",
                    ErrorKind::unsupported);
  }
  if (!scenario.fleet.faults.slow.empty() &&
      std::ranges::any_of(groups, [](const FleetGroup& group) {
        return group.resolved.scenario.cost.level == "table";
      })) {
    scenario.refuse("/fleet/faults/slow",
                    "not possible with cost.level \"table\", because measured times do not scale");
  }
}

}  // namespace headroom
