#include "sim/app/compare_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/compare_report.hpp"
#include "sim/report/result_files.hpp"
#include "sim/study/compare/compare.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostReplications = 10'000;
constexpr std::int64_t kMostThreads = 1024;

std::int64_t number_of(std::string_view flag, const std::optional<std::int64_t>& given,
                       std::int64_t otherwise, std::int64_t most) {
  if (!given) return otherwise;
  if (*given < 1 || *given > most) {
    throw ConfigError(fmt::format("{} {}: expected 1 to {}", flag, *given, most));
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
  comparison.replications = number_of("--replications", arguments.replications,
                                      comparison.replications, kMostReplications);
  CompareOptions options;
  options.threads = static_cast<std::size_t>(number_of(
      "-j", arguments.threads, std::max(1U, std::thread::hardware_concurrency()), kMostThreads));
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
