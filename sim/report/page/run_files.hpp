#pragma once
// The result files of a run, read back and checked: what `headroom run -o DIR` writes.

#include <string>
#include <vector>

#include "sim/metrics/event_log.hpp"
#include "sim/metrics/timeline.hpp"
#include "sim/scenario/json_document.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

struct RunFiles {
  std::string directory;  // as the user wrote it
  Json summary;
  Json resolved;
  std::vector<RequestRecord> requests;
  std::vector<TimelineRow> timeline;
  std::vector<LoggedEvent> events;
};

// ConfigError, DataError: no folder of a run, a file that is missing, cut off or of another
// version; the text names file, line or JSON pointer, and what was expected.
[[nodiscard]] RunFiles read_run(const std::string& directory);

}  // namespace headroom
