#include "sim/app/audit_command.hpp"

#include <fmt/format.h>

#include <sstream>

#include "sim/app/input_text.hpp"
#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/audit_report.hpp"

namespace headroom {
namespace {

// A scenario begins with a brace, or with a comment before it; a log with anything else.
bool is_log(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos || (text[first] != '{' && text[first] != '/');
}

// `text`: what was read of standard input, which cannot be read again.
Scenario audited_scenario(const AuditArguments& arguments, const std::string& text) {
  const std::string& name = arguments.target;
  if (name != kStandardInput) return load_scenario(name, arguments.flags);
  return load_scenario({parse_json(text, name), ""}, name, arguments.flags);
}

std::string scenario_audit(const AuditArguments& arguments, const std::string& text,
                           const Catalog& catalog) {
  AuditQuery query;
  query.scenario = audited_scenario(arguments, text);
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

std::string log_audit(const AuditArguments& arguments, const std::string& text,
                      const Catalog& catalog) {
  std::istringstream in(text);
  LogAuditQuery query;
  query.model = arguments.model;
  query.device = arguments.device;
  if (!arguments.environment.empty()) query.environment = arguments.environment;
  const LogAudit found = audit_log(read_startup_log(in, arguments.target), query, catalog);
  return arguments.json ? log_audit_json(found) : log_audit_text(found);
}

std::string series_audit(const AuditArguments& arguments) {
  std::istringstream in(input_text(arguments.series));
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
  const bool may_be_log = is_input(arguments.target) && !arguments.target.ends_with(".json");
  const std::string text = may_be_log ? input_text(arguments.target) : "";
  return may_be_log && is_log(text) ? log_audit(arguments, text, catalog)
                                    : scenario_audit(arguments, text, catalog);
}

}  // namespace headroom
