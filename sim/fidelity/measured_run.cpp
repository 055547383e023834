#include "sim/fidelity/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/text_file.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/startup_budget.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr int kLevels = 3;  // of folders below the given one

}  // namespace

Scenario recorded_system(const std::string& place, const std::string& model,
                         std::string_view device, const Json& engine) {
  return recorded_scenario(place, {{"model", model}, {"device", device}, {"engine", engine}});
}

Scenario recorded_scenario(const std::string& place, Json root) {
  JsonDocument document;
  document.name = place;
  document.root = std::move(root);
  // The trace represents the recorded arrivals; it is not opened.
  document.root["workload"] = {{"trace", {{"file", place}}}};
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
  const auto [resolved, budget] = budgeted(resolve(scenario, catalog));
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
  if (!is_folder(directory)) {
    throw ConfigError(Complaint{
        .kind = ErrorKind::unreadable, .origin = directory.string(), .problem = "no such folder"});
  }
  MeasuredRuns result;
  // Data sets are named after their folders, also if one is given as "." or with a trailing slash.
  for (const fs::path& folder : folders_below(fs::canonical(directory), kLevels)) {
    const std::string name = folder.filename().string();
    if (is_there(folder / "requests.csv") && is_there(folder / "config.json")) {
      read_request_log(folder, name, catalog, result);
    }
    const auto read = [&](const char* file, auto reader) {
      if (!is_there(folder / file)) return;
      std::istringstream in = open_text_file(folder / file);
      reader(in, name, catalog, result);
    };
    read("stages.csv", read_load_stages);
    read("max_throughput.csv", read_max_throughput);
    read("all_results.csv", read_static_batches);
    if (is_there(folder / "silicon_sample.csv") && is_there(folder / "recipes.csv")) {
      std::istringstream sample = open_text_file(folder / "silicon_sample.csv");
      std::istringstream recipes = open_text_file(folder / "recipes.csv");
      read_closed_loops(sample, recipes, name, catalog, result);
    }
    read("perf_model.csv", read_token_times);
    read("decode_rates.csv", read_decode_rates);
    if (is_there(folder / "observed.json") && is_there(folder / "trace.csv")) {
      read_observation(folder, name, result);
    }
  }
  if (result.runs.empty() && result.excluded.empty()) {
    throw ConfigError(Complaint{
        .origin = directory.string(),
        .problem =
            fmt::format("no measured run (requests.csv with config.json, stages.csv, "
                        "max_throughput.csv, all_results.csv, silicon_sample.csv with recipes.csv, "
                        "perf_model.csv, decode_rates.csv, observed.json with trace.csv) in this "
                        "folder or up to {} levels below",
                        kLevels)});
  }
  return result;
}

}  // namespace headroom
