#include "sim/report/page/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/report/page/run_data.hpp"
#include "sim/report/page/run_files.hpp"
#include "sim/report/page/study_data.hpp"
#include "sim/report/text/escaped_text.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// Beyond this the colours of lines are no longer distinguishable.
constexpr std::size_t kMostRuns = 8;

// In this order: later ones use earlier ones.
constexpr std::array<std::string_view, 14> kScripts{
    "format.js",    "theme.js",         "table.js",        "figure.js",         "run_charts.js",
    "run_page.js",  "comparison.js",    "study_charts.js", "study_searches.js", "study_page.js",
    "plan_page.js", "accuracy_page.js", "twin_page.js",    "report.js"};

std::string_view web_file(std::string_view name) {
  const std::span<const EmbeddedFile> files = web_files();
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  HEADROOM_CHECK(found != files.end(), fmt::format("{} is not embedded", name));
  return found->content;
}

// JSON that is safe inside a <script>: ASCII without '<', so that no text in it ends the block,
// opens a comment, or is a line break to JavaScript alone.
std::string script_json(const Json& json) {
  std::string escaped;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string scripts() {
  std::string all;
  for (const std::string_view name : kScripts) {
    all += fmt::format("<script>\n{}</script>\n", web_file(name));
  }
  return all;
}

// `text` with each {{name}} replaced by its value.
std::string filled(std::string_view text,
                   std::span<const std::pair<std::string_view, std::string>> values) {
  std::string page;
  while (true) {
    const std::size_t open = text.find("{{");
    page += text.substr(0, open);
    if (open == std::string_view::npos) return page;
    const std::size_t close = text.find("}}", open);
    const std::string_view name = text.substr(open + 2, close - open - 2);
    const auto found = std::ranges::find(values, name, [](const auto& one) { return one.first; });
    HEADROOM_CHECK(found != values.end(), fmt::format("no value for {}", name));
    page += found->second;
    text.remove_prefix(close + 2);
  }
}

Json runs_data(const std::vector<std::string>& paths) {
  Json runs = Json::array();
  for (const std::string& path : paths) runs.push_back(run_data(read_run(path)));
  return runs;
}

Json page_data(const HtmlReportQuery& query) {
  std::error_code failed;
  const auto files = std::ranges::count_if(
      query.paths, [&](const std::string& path) { return fs::is_regular_file(path, failed); });
  if (files == 0) {
    if (query.paths.size() > kMostRuns) {
      throw ConfigError(fmt::format("report: {} runs: expected at most {} side by side",
                                    query.paths.size(), kMostRuns));
    }
    const char* kind = query.paths.size() == 1 ? "run" : "comparison";
    return {{"kind", kind}, {"runs", runs_data(query.paths)}};
  }
  if (query.paths.size() > 1) {
    throw ConfigError("report: expected folders of runs, or a single study database");
  }
  return {{"kind", "study"}, {"study", study_data(query.paths.front())}};
}

std::string title_of(const HtmlReportQuery& query, const Json& data) {
  if (!query.title.empty()) return query.title;
  if (data["kind"] == "study") return data["study"]["name"].get<std::string>();
  std::string title;
  for (const Json& run : data["runs"]) {
    const auto& name = run["name"].get_ref<const std::string&>();
    if (title.empty()) {
      title = name;
    } else if (title.find(name) == std::string::npos) {
      title += " and " + name;
    }
  }
  return title;
}

}  // namespace

std::string html_page(Json data, const std::string& title, const std::string& version) {
  data["title"] = title;
  data["headroom_version"] = version;
  const std::array<std::pair<std::string_view, std::string>, 5> values{
      {{"title", escaped_markup(title)},
       {"style", std::string(web_file("report.css"))},
       {"library", std::string(web_file("vendor/echarts.min.js"))},
       {"data", script_json(data)},
       {"scripts", scripts()}}};
  return filled(web_file("report.html"), values);
}

std::string accuracy_page(const std::string& validation, const std::string& date,
                          const std::string& version) {
  return html_page({{"kind", "accuracy"}, {"validation", Json::parse(validation)}, {"date", date}},
                   "Simulated against measured", version);
}

std::string html_report(const HtmlReportQuery& query) {
  HEADROOM_CHECK(!query.paths.empty(), "a report of nothing");
  Json data = page_data(query);
  const std::string title = title_of(query, data);
  return html_page(std::move(data), title, query.version);
}

}  // namespace headroom
