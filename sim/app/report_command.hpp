#pragma once
// `headroom report DIR|DB... [-o FILE] [--title TEXT]`.

#include <string>
#include <vector>

namespace headroom {

struct ReportArguments {
  std::vector<std::string> paths;  // folders of runs, or one database of a study
  std::string output = "report.html";
  std::string title;  // empty: the scenario's or study's name
};

// Writes the page and returns what to print. ConfigError, DataError: a path is no result, or the
// page cannot be written.
[[nodiscard]] std::string report_command(const ReportArguments& arguments,
                                         const std::string& version);

}  // namespace headroom
