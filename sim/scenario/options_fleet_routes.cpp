// Option rows of the routes of section `fleet`.

#include <string>

#include "scheduler/routing/routers.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

const std::string kRoutePolicies = router_choices([](const RouterRow&) { return true; });

template <auto Member>
constexpr auto of_route = +[](Scenario& s) -> auto& {
  return s.fleet.routes.front().*Member;
};

constexpr Bounds kTokensFactor{.low = 0.001, .high = 1000};

const OptionRow kRowsOfRoutes[] = {
    {.pointer = "/fleet/routes/name",
     .reach = of_route<&RouteSection::name>,
     .doc = "name of the route in results"},
    {.pointer = "/fleet/routes/groups",
     .reach = of_route<&RouteSection::groups>,
     .doc = "names of the groups that serve its requests; a group belongs to one route"},
    {.pointer = "/fleet/routes/share",
     .reach = of_route<&RouteSection::share>,
     .bounds = {.low = 0, .high = 1e6, .low_open = true},
     .doc =
         "share of the requests whose class has no route, relative to the shares of other routes",
     .absent = "none; the route serves only its classes"},
    {.pointer = "/fleet/routes/classes",
     .reach = of_route<&RouteSection::classes>,
     .doc = "names of workload classes; all their requests go to this route"},
    {.pointer = "/fleet/routes/policy",
     .reach = of_route<&RouteSection::policy>,
     .choices = kRoutePolicies,
     .doc =
         "policy that picks the replica within the route; other options are those of fleet.router",
     .absent = "fleet.router.policy"},
    {.pointer = "/fleet/routes/input_tokens_factor",
     .reach = of_route<&RouteSection::input_tokens_factor>,
     .bounds = kTokensFactor,
     .doc = "tokens of its model per prompt token of the workload (for another tokenizer)"},
    {.pointer = "/fleet/routes/output_tokens_factor",
     .reach = of_route<&RouteSection::output_tokens_factor>,
     .bounds = kTokensFactor,
     .doc = "the same for output tokens and max_tokens"},
    {.pointer = "/fleet/routes/thinking_tokens_factor",
     .reach = of_route<&RouteSection::thinking_tokens_factor>,
     .bounds = kTokensFactor,
     .doc = "the same for thinking tokens, if the trace lists them separately"},
    {.pointer = "/fleet/routes/escalates_to",
     .reach = of_route<&RouteSection::escalates_to>,
     .doc = "name of the route that answers again if an answer of this one is not good enough; "
            "clients see an answer of this route only after the verdict",
     .absent = "none; every answer is kept"},
    {.pointer = "/fleet/routes/escalates_share",
     .reach = of_route<&RouteSection::escalates_share>,
     .bounds = {.low = 0, .high = 1, .low_open = true},
     .doc = "share of answers that are not good enough",
     .absent = "required with escalates_to"},
    {.pointer = "/fleet/routes/escalates_with_answer",
     .reach = of_route<&RouteSection::escalates_with_answer>,
     .doc = "add the answer of this route to the next route's prompt"},
    {.pointer = "/fleet/routes/judge_ms",
     .reach = of_route<&RouteSection::judge_ms>,
     .unit = "ms",
     .bounds = {.low = 0, .high = 1e9},
     .doc = "time from the end of an answer to the verdict on it"},
};

}  // namespace

std::span<const OptionRow> fleet_route_element_options() { return kRowsOfRoutes; }

}  // namespace headroom
