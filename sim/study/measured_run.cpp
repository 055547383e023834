#include "sim/study/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/setup/options.hpp"
#include "sim/setup/resolve.hpp"
#include "sim/setup/startup_budget.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr int kDepth = 2;  // folders below the given one

// `directory` and the folders below it, in the order of their names.
std::vector<fs::path> folders_of(const fs::path& directory) {
  std::vector<fs::path> folders{directory};
  constexpr auto kReadable = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(directory, kReadable);
       entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry.depth() >= kDepth) entry.disable_recursion_pending();
    if (entry->is_directory()) folders.push_back(entry->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace

Scenario recorded_system(const std::string& place, const std::string& model,
                         std::string_view device, const Json& engine) {
  JsonDocument document;
  document.name = place;
  // The trace stands for the recorded arrivals; it is not opened.
  document.root = {{"model", model},
                   {"device", device},
                   {"engine", engine},
                   {"workload", {{"trace", {{"file", place}}}}}};
  return parse_scenario(document);
}

std::vector<Arrival> batch_of(std::int64_t requests, std::int32_t prompt_tokens,
                              std::int32_t output_tokens) {
  Arrival arrival;
  arrival.prompt_tokens = prompt_tokens;
  arrival.output_tokens = arrival.max_tokens = output_tokens;
  return std::vector<Arrival>(static_cast<std::size_t>(requests), arrival);
}

bool holds_at_once(const Scenario& scenario, const std::vector<Arrival>& arrivals,
                   const Catalog& catalog) {
  Resolved resolved = resolve(scenario, catalog);
  const MemoryBudget budget = startup_budget(resolved);
  if (budget.failure) return false;
  const TokenCount block = budget.layout.block_tokens;
  TokenCount tokens = 0;
  for (const Arrival& arrival : arrivals) {
    const TokenCount own = TokenCount{arrival.prompt_tokens} + arrival.output_tokens;
    tokens += (own + block - 1) / block * block;
  }
  return tokens <= pool_tokens(resolved, budget);
}

double median_of(std::vector<double> values) {
  HEADROOM_CHECK(!values.empty(), "the median of nothing");
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

MeasuredRuns read_measured_runs(const fs::path& directory, const Catalog& catalog) {
  if (!fs::is_directory(directory)) {
    throw ConfigError(fmt::format("{}: no such folder", directory.string()));
  }
  MeasuredRuns result;
  // Data sets are called by their folders, also where one is given as "." or with a slash behind.
  for (const fs::path& folder : folders_of(fs::canonical(directory))) {
    const std::string name = folder.filename().string();
    if (fs::exists(folder / "requests.csv") && fs::exists(folder / "config.json")) {
      read_request_log(folder, name, catalog, result);
    }
    const auto read = [&](const char* file, auto reader) {
      std::ifstream in(folder / file);
      if (in) reader(in, name, catalog, result);
    };
    read("stages.csv", read_load_stages);
    read("max_throughput.csv", read_max_throughput);
    read("all_results.csv", read_static_batches);
    read("silicon_sample.csv", read_closed_loops);
    read("perf_model.csv", read_token_times);
    read("decode_rates.csv", read_decode_rates);
  }
  if (result.runs.empty() && result.excluded.empty()) {
    throw ConfigError(fmt::format(
        "{}: no measured run (requests.csv with config.json, stages.csv, max_throughput.csv, "
        "all_results.csv, silicon_sample.csv, perf_model.csv, decode_rates.csv) is there or up to "
        "{} folders below",
        directory.string(), kDepth));
  }
  return result;
}

}  // namespace headroom
