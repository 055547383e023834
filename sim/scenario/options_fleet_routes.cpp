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
     .doc = "as results call it"},
    {.pointer = "/fleet/routes/groups",
     .reach = of_route<&RouteSection::groups>,
     .doc = "names of the groups that serve its requests; each group is in one route"},
    {.pointer = "/fleet/routes/share",
     .reach = of_route<&RouteSection::share>,
     .bounds = {.low = 0, .high = 1e6, .low_open = true},
     .doc = "of the requests whose class has no route, against the shares of other routes",
     .absent = "only requests of its classes"},
    {.pointer = "/fleet/routes/classes",
     .reach = of_route<&RouteSection::classes>,
     .doc = "names of the workload's classes all requests of which go here"},
    {.pointer = "/fleet/routes/policy",
     .reach = of_route<&RouteSection::policy>,
     .choices = kRoutePolicies,
     .doc = "which of its replicas gets a request; other options are those of fleet.router",
     .absent = "fleet.router.policy"},
    {.pointer = "/fleet/routes/input_tokens_factor",
     .reach = of_route<&RouteSection::input_tokens_factor>,
     .bounds = kTokensFactor,
     .doc = "tokens of its model that a token of the workload's prompts is (another tokenizer)"},
    {.pointer = "/fleet/routes/output_tokens_factor",
     .reach = of_route<&RouteSection::output_tokens_factor>,
     .bounds = kTokensFactor,
     .doc = "the same for answers, and for the room that max_tokens leaves"},
    {.pointer = "/fleet/routes/thinking_tokens_factor",
     .reach = of_route<&RouteSection::thinking_tokens_factor>,
     .bounds = kTokensFactor,
     .doc = "the same for the thinking part of outputs, where a trace tells it apart"},
    {.pointer = "/fleet/routes/escalates_to",
     .reach = of_route<&RouteSection::escalates_to>,
     .doc = "name of the route that answers again when an answer of this one was not good enough; "
            "clients see answers of this one when they have been judged",
     .absent = "every answer is kept"},
    {.pointer = "/fleet/routes/escalates_share",
     .reach = of_route<&RouteSection::escalates_share>,
     .bounds = {.low = 0, .high = 1, .low_open = true},
     .doc = "share of the answers that are not good enough",
     .absent = "without escalates_to; with it required"},
    {.pointer = "/fleet/routes/escalates_with_answer",
     .reach = of_route<&RouteSection::escalates_with_answer>,
     .doc = "the answer of this route is a part of the next one's prompt"},
    {.pointer = "/fleet/routes/judge_ms",
     .reach = of_route<&RouteSection::judge_ms>,
     .unit = "ms",
     .bounds = {.low = 0, .high = 1e9},
     .doc = "from the end of an answer to the verdict on it"},
};

}  // namespace

std::span<const OptionRow> fleet_route_element_options() { return kRowsOfRoutes; }

}  // namespace headroom
