#pragma once
// `headroom report`: a run, several runs beside each other, or a study, as one HTML file that needs
// nothing else: no network, no file beside it.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/embedded_file.hpp"

namespace headroom {

// sim/report/web: the page, its style and scripts, and the chart library.
[[nodiscard]] std::span<const EmbeddedFile> web_files();

struct HtmlReportQuery {
  // Folders of runs, or the one database of a study; one at least.
  std::vector<std::string> paths;
  std::string title;    // empty: the name of the scenario or study
  std::string version;  // the program's own
};

// A page of `data`, whose "kind" says which script shows it.
[[nodiscard]] std::string html_page(nlohmann::ordered_json data, const std::string& title,
                                    const std::string& version);

// The page of `headroom validate runs`: `validation` is what its --json prints; `date` as it is to
// be shown, empty: none.
[[nodiscard]] std::string accuracy_page(const std::string& validation, const std::string& date,
                                        const std::string& version);

// The whole page. ConfigError, DataError: a path is no result, or its files are damaged or of
// another version.
[[nodiscard]] std::string html_report(const HtmlReportQuery& query);

}  // namespace headroom
