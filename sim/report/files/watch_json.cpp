#include "sim/report/files/watch_json.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json mean_json(const std::optional<LengthHistogram>& lengths) {
  return lengths ? Json(lengths->mean()) : Json(nullptr);
}

}  // namespace

Json watch_json(const WatchView& view, const std::string& version) {
  const WatchedTraffic& t = view.traffic;
  const WatchVerdict& v = view.verdict;
  Json json = {{"headroom_version", version},
               {"verdict", name_of(v.verdict)},
               {"first", v.first},
               {"url", view.url},
               {"engine", view.engine},
               {"problem", view.problem},
               {"restarts", view.restarts},
               {"window_s", t.seconds},
               {"reads", t.reads},
               {"running", optional_json(t.running)},
               {"waiting", optional_json(t.waiting)},
               {"waiting_per_s", optional_json(t.waiting_per_s)},
               {"preemptions", optional_json(t.preemptions)},
               {"requests_per_s", optional_json(t.arrivals_per_s)},
               {"mean_prompt_tokens", mean_json(t.prompt)},
               {"mean_output_tokens", mean_json(t.output)},
               {"kv",
                {{"share", optional_json(t.kv_share)},
                 {"pool_tokens", optional_json(v.pool_tokens)},
                 {"tokens_left", optional_json(v.tokens_left)},
                 {"tokens_per_s", optional_json(v.tokens_per_s)},
                 {"seconds_until_full", optional_json(v.seconds_until_full)}}},
               {"limit", nullptr}};
  if (view.limit) {
    json["limit"] = {{"requests_per_s", optional_json(view.limit->rate)},
                     {"requests_per_s_left", optional_json(v.rate_left)},
                     {"breaks", view.limit->breaks},
                     {"mean_prompt_tokens", view.limit->mean_prompt_tokens},
                     {"mean_output_tokens", view.limit->mean_output_tokens}};
  }
  return json;
}

}  // namespace headroom
