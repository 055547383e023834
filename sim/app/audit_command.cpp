#include "sim/app/audit_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/text_file.hpp"
#include "sim/report/audit_report.hpp"

namespace headroom {
namespace {

// A scenario begins with a brace, or with a comment before it; a log with anything else.
bool is_log(const std::string& path) {
  std::error_code failed;
  if (path.ends_with(".json") || !std::filesystem::is_regular_file(path, failed)) return false;
  std::ifstream in(path);  // one that cannot be read is refused when it is read as a log
  char first = ' ';
  in >> first;
  return first != '{' && first != '/';
}

std::string scenario_audit(const AuditArguments& arguments, const Catalog& catalog) {
  AuditQuery query;
  query.scenario = load_scenario(arguments.target, arguments.flags);
  if (arguments.context) {
    if (*arguments.context < 1) {  // 0 would stand for the longest that is accepted
      throw ConfigError(fmt::format("--context {}: expected at least 1 token", *arguments.context));
    }
    query.need.context = *arguments.context;
  }
  query.need.concurrency = arguments.concurrency.value_or(1);
  query.mitigate = arguments.mitigate;
  const AuditReport report = audit(query, catalog);
  return arguments.json ? audit_json(report) : audit_text(report);
}

std::string log_audit(const AuditArguments& arguments, const Catalog& catalog) {
  std::istringstream in = open_text_file(arguments.target);
  LogAuditQuery query;
  query.model = arguments.model;
  query.device = arguments.device;
  if (!arguments.environment.empty()) query.environment = arguments.environment;
  const LogAudit found = audit_log(read_startup_log(in, arguments.target), query, catalog);
  return arguments.json ? log_audit_json(found) : log_audit_text(found);
}

std::string series_audit(const AuditArguments& arguments) {
  std::istringstream in = open_text_file(arguments.series);
  SeriesOptions options;
  options.capacity_gib = arguments.capacity_gib;
  options.max_concurrency = arguments.max_concurrency;
  const SeriesReport report =
      report_memory_series(read_memory_series(in, arguments.series, {arguments.gpu}), options);
  return arguments.json ? series_json(arguments.series, report)
                        : series_text(arguments.series, report);
}

}  // namespace

std::string audit_command(const AuditArguments& arguments) {
  if (arguments.target.empty() == arguments.series.empty()) {
    throw ConfigError("audit: expected a scenario, a log, or --series with a CSV file");
  }
  if (!arguments.series.empty()) return series_audit(arguments);
  const Catalog catalog = load_catalog(arguments.catalog);
  return is_log(arguments.target) ? log_audit(arguments, catalog)
                                  : scenario_audit(arguments, catalog);
}

}  // namespace headroom
