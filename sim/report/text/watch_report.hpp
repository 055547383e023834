#pragma once
// What `headroom watch` says of a server, for people and for Prometheus.

#include <string>

#include "sim/observe/watch_verdict.hpp"

namespace headroom {

// Verdict first, then traffic, pool and headroom.
[[nodiscard]] std::string watch_text(const WatchView& view);
// The same on one line, for a log.
[[nodiscard]] std::string watch_line(const WatchView& view);
// Gauges in Prometheus's text format (0.0.4). What is not known is left out.
[[nodiscard]] std::string watch_gauges(const WatchView& view);

}  // namespace headroom
