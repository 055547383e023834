// One run of vLLM with the times of each request in the engine: the bench of LLMServingSim
// (casys-kaist, MIT), bench/examples/<device>/<model>/vllm. `arrival_s` is when the engine was
// called; TTFT and E2EL begin there. Output lengths were pinned (ignore_eos), prompts share
// nothing. The first step was cold (70 to 200 ms more), so the first request is left out.

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "sim/fidelity/measured_run.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/text_file.hpp"
#include "sim/metrics/serving_metrics.hpp"

namespace headroom {
namespace {

struct Board {
  std::string_view name;  // what the run calls it begins so
  std::string_view device;
};
// The Server Edition: its runs were replayed with 1597 GB/s.
constexpr Board kBoards[] = {{"RTX4090", "rtx4090"}, {"RTXPRO6000", "rtxpro6000-server"}};

// As a scenario names them; what the run left to the engine is left to it here.
Json engine_of(const Json& config) {
  const Json& given = config.at("engine_kwargs");
  const auto version = config.at("vllm_version").get<std::string>();
  Json engine = {{"name", "vllm"}, {"version", version.substr(0, version.rfind('.'))}};
  for (const char* key :
       {"tensor_parallel_size", "max_num_seqs", "max_num_batched_tokens", "max_model_len"}) {
    if (given.contains(key) && !given[key].is_null()) engine[key] = given[key];
  }
  if (config.contains("kv_cache")) {
    engine["num_gpu_blocks_override"] = config["kv_cache"].at("num_gpu_blocks");
  }
  return engine;
}

constexpr std::string_view kMetrics[] = {"mean_ttft_ms", "median_ttft_ms", "p90_ttft_ms",
                                         "mean_tpot_ms", "median_tpot_ms", "p90_tpot_ms",
                                         "mean_e2el_ms", "median_e2el_ms", "p90_e2el_ms"};

// The run's figures are taken from its rows as a simulated run's are from its records.
void read_rows(const std::vector<FactRow>& rows, MeasuredRun& run) {
  std::vector<RequestRecord> records;
  for (const FactRow& row : rows) {
    const auto time = [&](std::string_view column) {
      return static_cast<TimeNs>(number_in(row, column, 0, kLongestMeasuredRun) * 1e9 + 0.5);
    };
    const auto tokens = [&](std::string_view column) {
      return static_cast<std::int32_t>(count_in(row, column, 1, kMostMeasuredTokens));
    };
    const RequestRecord record{.arrival_ns = time("arrival_s"),
                               .first_token_ns = time("first_token_s"),
                               .finish_ns = time("last_token_s"),
                               .prompt_tokens = tokens("input_toks"),
                               .output_tokens = tokens("output_toks"),
                               .outcome = Outcome::finished};
    if (record.first_token_ns < record.arrival_ns || record.finish_ns < record.first_token_ns) {
      throw DataError(fmt::format("{}:{}: expected arrival_s <= first_token_s <= last_token_s",
                                  row.file, row.line));
    }
    records.push_back(record);
  }
  std::ranges::stable_sort(records, {}, &RequestRecord::arrival_ns);
  for (const RequestRecord& record : records) {
    Arrival arrival;
    arrival.time_ns = record.arrival_ns;
    arrival.prompt_tokens = record.prompt_tokens;
    arrival.output_tokens = arrival.max_tokens = record.output_tokens;
    run.arrivals.push_back(arrival);
  }
  const auto warm = std::span(records).subspan(static_cast<std::size_t>(run.cold_requests));
  const ServingMetrics metrics = serving_metrics(warm, nullptr, {});
  for (const std::string_view name : kMetrics) {
    run.measured.push_back({name, metric_of(metrics, name)});
  }
  run.measured.push_back(
      {"output_throughput", serving_metrics(records, nullptr, {}).output_throughput});
}

}  // namespace

void read_request_log(const std::filesystem::path& folder, const std::string& name,
                      const Catalog& catalog, MeasuredRuns& result) {
  const std::string config_file = (folder / "config.json").string();
  MeasuredRun run;
  run.data_set = name;
  run.cold_requests = 1;
  run.at_the_engine = true;
  try {
    const Json config = read_json_file(config_file).root;
    const auto model = config.at("model").get<std::string>();
    const auto* board = std::ranges::find_if(
        kBoards, [&](const Board& known) { return name.starts_with(known.name); });
    if (board == std::end(kBoards) || !catalog.has_model(model)) {
      result.excluded.push_back({name, fmt::format("{} on this device is not known", model)});
      return;
    }
    run.scenario =
        recorded_system(config_file, catalog.model(model).id, board->device, engine_of(config));
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: {}", config_file, error.what()));
  }
  const std::string file = (folder / "requests.csv").string();
  std::istringstream in = open_text_file(file);
  const std::vector<FactRow> rows = read_facts(
      in, file, {"input_toks", "output_toks", "arrival_s", "first_token_s", "last_token_s"});
  refuse_copies(rows);
  if (static_cast<std::int64_t>(rows.size()) <= run.cold_requests) {
    throw DataError(fmt::format("{}: {} requests: expected more than {}", file, rows.size(),
                                run.cold_requests));
  }
  read_rows(rows, run);
  run.label = fmt::format("{} on {}{}, {} requests", run.scenario.model, run.scenario.device.name,
                          run.scenario.engine.tensor_parallel_size > 1
                              ? fmt::format(" TP{}", run.scenario.engine.tensor_parallel_size)
                              : "",
                          run.arrivals.size());
  result.runs.push_back(std::move(run));
}

}  // namespace headroom
