#pragma once
// What `headroom watch` says of a server, as JSON.

#include <string>

#include "sim/observe/watch_verdict.hpp"
#include "sim/report/json/json_text.hpp"

namespace headroom {

[[nodiscard]] nlohmann::ordered_json watch_json(const WatchView& view, const std::string& version);

}  // namespace headroom
