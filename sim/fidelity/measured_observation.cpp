// One run of a server that `headroom observe` measured (sim/report/files/observation_files.hpp).
// Its figures are taken from trace.csv as a simulated run's are from its records. A request that
// was cut off when the measurement ended counts for nothing.
//
// Left out, with the reason: folders that do not say which system was measured, and runs of which
// more than 2 % of the requests failed: what load they were is not known.

#include <fmt/format.h>

#include <algorithm>

#include "sim/fidelity/measured_run.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "sim/scenario/json_document.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom {
namespace {

constexpr int kObservationFormat = 1;
constexpr double kMostFailed = 0.02;
constexpr std::string_view kObservedMetrics[] = {
    "mean_ttft_ms", "median_ttft_ms", "p90_ttft_ms",    "mean_tpot_ms", "median_tpot_ms",
    "p90_tpot_ms",  "mean_e2el_ms",   "median_e2el_ms", "p90_e2el_ms",  "output_throughput"};

// Why it is not replayed; empty: it is.
std::string why_not(const Json& observed) {
  const Json& scenario = observed.at("scenario");
  if (!scenario.contains("model") || !scenario.contains("device")) {
    return "it does not say which system was measured: add \"model\", \"device\" and \"engine\" to "
           "\"scenario\" in observed.json";
  }
  const Json& requests = observed.at("requests");
  const auto count = [&](const char* key) { return requests.at(key).get<std::int64_t>(); };
  const std::int64_t failed = count("refused") + count("timed_out") + count("broken_off");
  if (static_cast<double>(failed) > kMostFailed * static_cast<double>(count("sent"))) {
    return fmt::format("{} of {} requests failed", failed, count("sent"));
  }
  return "";
}

struct ObservedRows {
  std::vector<Arrival> arrivals;
  std::vector<RequestRecord> records;
  std::shared_ptr<const std::vector<PrefixSegment>> pieces;
};

std::int32_t tokens_in(const std::string& file, std::int32_t tokens) {
  if (tokens >= 1 && tokens <= kMostMeasuredTokens) return tokens;
  throw DataError(
      fmt::format("{}: {} tokens: expected 1 to {}", file, tokens, kMostMeasuredTokens));
}

ObservedRows read_rows(const std::string& file) {
  TraceFile trace(file);
  ObservedRows rows;
  std::vector<PrefixSegment> pieces;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of each arrival's pieces
  TraceRecord record;
  while (trace.next(record)) {
    if (record.measured_ttft_ns < 0 || record.measured_e2el_ns < record.measured_ttft_ns) continue;
    Arrival& arrival = rows.arrivals.emplace_back();
    arrival.time_ns = record.time_ns;
    arrival.prompt_tokens = tokens_in(file, record.prompt_tokens);
    arrival.output_tokens = tokens_in(file, record.output_tokens);
    arrival.max_tokens = std::max(record.max_tokens, arrival.output_tokens);
    arrival.priority = record.priority;
    places.emplace_back(pieces.size(), record.prefix.size());
    pieces.insert(pieces.end(), record.prefix.begin(), record.prefix.end());
    rows.records.push_back({.arrival_ns = record.time_ns,
                            .first_token_ns = record.time_ns + record.measured_ttft_ns,
                            .finish_ns = record.time_ns + record.measured_e2el_ns,
                            .prompt_tokens = arrival.prompt_tokens,
                            .output_tokens = arrival.output_tokens,
                            .outcome = Outcome::finished});
  }
  if (rows.arrivals.empty()) throw DataError(file + ": no request with what was measured of it");
  if (pieces.empty()) return rows;
  rows.pieces = std::make_shared<const std::vector<PrefixSegment>>(std::move(pieces));
  for (std::size_t i = 0; i < rows.arrivals.size(); ++i) {
    rows.arrivals[i].prefix = std::span(*rows.pieces).subspan(places[i].first, places[i].second);
  }
  return rows;
}

std::string label_of(const MeasuredRun& run, const Json& observed) {
  const std::string load =
      run.concurrency > 0
          ? fmt::format("{} users", run.concurrency)
          : fmt::format("{:.3g} requests/s",
                        observed.at("metrics").at("request_throughput").get<double>());
  return fmt::format("{} on {}, {} requests, {}", observed.at("served_model").get<std::string>(),
                     run.scenario.device.name, run.arrivals.size(), load);
}

MeasuredRun run_in(const std::filesystem::path& folder, const std::string& name,
                   const std::string& place, const Json& observed) {
  MeasuredRun run;
  run.data_set = name;
  Json system = observed.at("scenario");
  run.scenario = recorded_scenario(place, std::move(system));
  run.scenario.directory = folder.string();
  if (const Json& users = observed.at("concurrency"); !users.is_null()) {
    run.concurrency = std::clamp<std::int64_t>(users.get<std::int64_t>(), 1, kMostMeasuredBatch);
  }
  ObservedRows rows = read_rows((folder / "trace.csv").string());
  const ServingMetrics metrics = serving_metrics(rows.records, nullptr, {});
  for (const std::string_view metric : kObservedMetrics) {
    const double value = metric_of(metrics, metric);
    if (value > 0) run.measured.push_back({metric, value});
  }
  run.arrivals = std::move(rows.arrivals);
  run.pieces = std::move(rows.pieces);
  run.label = label_of(run, observed);
  return run;
}

}  // namespace

void read_observation(const std::filesystem::path& folder, const std::string& name,
                      MeasuredRuns& result) {
  const std::string place = (folder / "observed.json").string();
  const Json observed = read_json_file(place).root;
  try {
    if (observed.at("headroom_observation") != kObservationFormat ||
        !observed.at("scenario").is_object()) {
      throw DataError(fmt::format("{}: expected \"headroom_observation\": {} and a \"scenario\"",
                                  place, kObservationFormat));
    }
    if (std::string why = why_not(observed); !why.empty()) {
      result.excluded.push_back({name, std::move(why)});
      return;
    }
    result.runs.push_back(run_in(folder, name, place, observed));
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: {}", place, error.what()));
  }
}

}  // namespace headroom
