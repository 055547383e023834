#pragma once
// A study's file as JSON text: each point with its settings, verdict, metrics and runs.

#include <string>

namespace headroom {

// `path`: of the SQLite file. Verdict, reason and binds of a point are those of its worst run, by
// the keys of `headroom run --json`; metrics are means over the runs that have them. ConfigError as
// StoredStudy.
[[nodiscard]] std::string sweep_json(const std::string& path);

}  // namespace headroom
