// `headroom report DIR|DB... [-o FILE] [--title TEXT]`.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "sim/app/command.hpp"
#include "sim/report/files/replaced_file.hpp"
#include "sim/report/page/html_report.hpp"

namespace headroom {
namespace {

struct ReportArguments {
  std::vector<std::string> paths;  // folders of runs, or one database of a study
  std::string output = "report.html";
  std::string title;  // empty: the scenario's or study's name
};

std::string report_command(const ReportArguments& arguments, const std::string& version) {
  ReplacedFile file(arguments.output);
  const std::string page = html_report({arguments.paths, arguments.title, version});
  file.publish(page);
  return fmt::format("{}  {:.1f} MB, open it in a browser\n", arguments.output,
                     static_cast<double>(page.size()) / 1e6);
}

std::function<int()> add_report(CLI::App& command) {
  const auto a = std::make_shared<ReportArguments>();
  command
      .add_option("results", a->paths,
                  "a run's folder, several folders to compare, or a study's database")
      ->required();
  command.add_option("-o,--output", a->output, "HTML file (report.html)");
  command.add_option("--title", a->title, "title of the page (the scenario's or study's name)");
  return [a] { return print(report_command(*a, kVersion)); };
}

}  // namespace

const Command kReportCommand{"report", "write results as one HTML file", add_report};

}  // namespace headroom
