#include "sim/observe/published_load.hpp"

#include <algorithm>
#include <string>

#include "sim/engines/engine_metrics.hpp"
#include "sim/engines/engines.hpp"
#include "sim/intake/values.hpp"

namespace headroom {
namespace {

// Several engines behind one server each have a pool.
std::optional<double> mean_of(const MetricsDump& dump, std::string_view names) {
  for (const std::string_view name : split(names, '|')) {
    const auto found = dump.samples.find(std::string(name));
    if (found == dump.samples.end()) continue;
    return *dump.total(name) / static_cast<double>(found->second.size());
  }
  return std::nullopt;
}

}  // namespace

const Engine* engine_with_load(const MetricsDump& dump) {
  const auto all = engines();
  const auto found = std::ranges::find_if(all, [&](const Engine* engine) {
    return engine->load_metrics != nullptr && published(dump, engine->load_metrics->running);
  });
  return found == all.end() ? nullptr : *found;
}

LoadSample published_load(const MetricsDump& dump, const Engine& engine, TimeNs now_ns) {
  const LoadMetrics& names = *engine.load_metrics;
  return {.time_ns = now_ns,
          .running = published(dump, names.running),
          .waiting = published(dump, names.waiting),
          .kv_share = mean_of(dump, names.kv_share),
          .preemptions = published(dump, names.preemptions),
          .prefix_hits = published(dump, names.prefix_hits),
          .prefix_queries = published(dump, names.prefix_queries)};
}

}  // namespace headroom
