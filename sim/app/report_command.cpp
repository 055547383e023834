#include "sim/app/report_command.hpp"

#include <fmt/format.h>

#include "sim/report/html_report.hpp"
#include "sim/report/replaced_file.hpp"

namespace headroom {

std::string report_command(const ReportArguments& arguments, const std::string& version) {
  ReplacedFile file(arguments.output);
  const std::string page = html_report({arguments.paths, arguments.title, version});
  file.write(page);
  file.publish();
  return fmt::format("{}  {:.1f} MB, open it in a browser\n", arguments.output,
                     static_cast<double>(page.size()) / 1e6);
}

}  // namespace headroom
