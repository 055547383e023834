#include "sim/app/compare_command.hpp"

#include <fmt/format.h>

#include <optional>

#include "sim/app/list.hpp"
#include "sim/app/threads.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/compare_report.hpp"
#include "sim/report/result_files.hpp"
#include "sim/study/compare/compare.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostReplications = 10'000;

std::int64_t replications_of(const std::optional<std::int64_t>& given, std::int64_t otherwise) {
  if (!given) return otherwise;
  if (*given < 1 || *given > kMostReplications) {
    throw ConfigError(
        fmt::format("--replications {}: expected 1 to {}", *given, kMostReplications));
  }
  return *given;
}

Comparison pair_of(const CompareArguments& arguments) {
  if (!arguments.b.empty()) {
    return load_pair(arguments.a, arguments.b, arguments.set, arguments.set_a, arguments.set_b);
  }
  if (arguments.set_a.empty() && arguments.set_b.empty()) {
    return load_pair(arguments.a, arguments.set);
  }
  // One scenario against itself with other settings.
  return load_pair(arguments.a, arguments.a, arguments.set, arguments.set_a, arguments.set_b);
}

}  // namespace

std::string compare_command(const CompareArguments& arguments, const std::string& version,
                            const std::atomic<bool>& interrupted) {
  Comparison comparison = pair_of(arguments);
  comparison.replications = replications_of(arguments.replications, comparison.replications);
  CompareOptions options;
  options.threads = threads_of(arguments.threads);
  options.interrupted = &interrupted;
  std::optional<ResultDirectory> a;
  std::optional<ResultDirectory> b;
  if (!arguments.output.empty()) {
    a.emplace(arguments.output + "/a");
    b.emplace(arguments.output + "/b");
  }
  const ComparisonResult result = compare(comparison, load_catalog(arguments.catalog), options);
  if (interrupted.load(std::memory_order_relaxed)) return {};
  if (a && b) {
    write_results(result.a.first, version, *a);
    write_results(result.b.first, version, *b);
    a->publish();
    b->publish();
  }
  if (arguments.json) return compare_json(comparison, result, version);
  std::string text = compare_text(comparison, result);
  if (a) {
    text += fmt::format(
        "\nfirst replication in {0}/a and {0}/b; as a page: headroom report {0}/a {0}/b\n",
        arguments.output);
  }
  return text;
}

}  // namespace headroom
