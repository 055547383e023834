#pragma once
// What `headroom audit` prints of a start-up that went well: the log's figures as bars of the
// device's memory, beside those of the modelled start.

#include <string>

#include "sim/report/json/started_json.hpp"

namespace headroom {

[[nodiscard]] std::string started_text(const StartedAnswer& answer);

// The bars alone, for a report that says the rest itself.
[[nodiscard]] std::string started_bars(const StartedAnswer& answer);

}  // namespace headroom
