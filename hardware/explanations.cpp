#include "hardware/explanations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <istream>
#include <map>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

constexpr std::string_view kHeader =
    "model_id,environment,iteration,timestamp,peak_memory_gib,kv_cache_gib,output_tokens_per_s,"
    "start_temp_c,end_temp_c";
constexpr std::size_t kColumns = 9;

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

// One row of the file, for messages.
struct RowPlace {
  const std::string& name;
  std::int64_t line;
  std::size_t rows_read;

  [[nodiscard]] DataError error(std::string_view what, std::string_view value,
                                std::string_view expected) const {
    return DataError(fmt::format("{}:{}: {} is '{}', expected {} ({} rows read)", name, line, what,
                                 value, expected, rows_read));
  }
};

double number(const RowPlace& place, std::string_view what, std::string_view text, double high) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end || !(value >= 0) || !(value <= high)) {
    throw place.error(what, text, fmt::format("a number from 0 to {}", high));
  }
  return value;
}

bool is_timestamp(std::string_view text) {
  if (text.size() != 15 || text[8] != '_') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i != 8 && (text[i] < '0' || text[i] > '9')) return false;
  }
  return true;
}

SparkRun parse_run(const RowPlace& place, std::string_view line) {
  const std::vector<std::string_view> fields = split(line);
  if (fields.size() != kColumns) {
    throw place.error("row", line, fmt::format("{} comma-separated fields", kColumns));
  }
  if (fields[0].empty()) throw place.error("model_id", fields[0], "a model");
  if (fields[1] != "native" && fields[1] != "container") {
    throw place.error("environment", fields[1], "native or container");
  }
  if (!is_timestamp(fields[3])) throw place.error("timestamp", fields[3], "yyyymmdd_hhmmss");
  SparkRun run;
  run.model = fields[0];
  run.container = fields[1] == "container";
  const double iteration = number(place, "iteration", fields[2], 1e6);
  run.iteration = static_cast<std::int64_t>(iteration);
  if (iteration < 1 || static_cast<double>(run.iteration) != iteration) {
    throw place.error("iteration", fields[2], "a whole number from 1");
  }
  run.timestamp = fields[3];
  run.peak_gib = number(place, "peak_memory_gib", fields[4], 1e6);
  run.kv_gib = number(place, "kv_cache_gib", fields[5], 1e6);
  run.output_tokens_per_s = number(place, "output_tokens_per_s", fields[6], 1e9);
  static_cast<void>(number(place, "start_temp_c", fields[7], 1e3));
  static_cast<void>(number(place, "end_temp_c", fields[8], 1e3));
  return run;
}

}  // namespace

std::vector<SparkRun> read_spark_runs(std::istream& in, const std::string& name) {
  std::vector<SparkRun> runs;
  std::string line;
  std::int64_t number_of_line = 0;
  while (std::getline(in, line)) {
    ++number_of_line;
    if (line.ends_with('\r')) line.pop_back();
    const RowPlace place{name, number_of_line, runs.size()};
    if (number_of_line == 1) {
      if (line != kHeader) throw place.error("header", line, kHeader);
    } else if (!line.empty()) {
      runs.push_back(parse_run(place, line));
    }
  }
  if (in.bad()) throw DataError(fmt::format("{}: cannot be read", name));
  if (runs.empty()) throw DataError(fmt::format("{}:{}: no runs", name, number_of_line));
  return runs;
}

double kv_of_peak_gib(double peak_gib) { return kSparkKvFraction * (kSparkDeviceGib - peak_gib); }

double kv_residual_gib(const SparkRun& run) { return run.kv_gib - kv_of_peak_gib(run.peak_gib); }

Spread spread_of(std::span<const double> values) {
  Spread spread;
  spread.runs = static_cast<std::int64_t>(values.size());
  if (values.empty()) return spread;
  double sum = 0;
  for (const double value : values) sum += value;
  spread.mean = sum / static_cast<double>(values.size());
  spread.min = *std::ranges::min_element(values);
  spread.max = *std::ranges::max_element(values);
  return spread;
}

std::string to_string(const Spread& spread) {
  if (spread.runs == 0) return "not measured";
  if (spread.runs == 1) return fmt::format("{:.2f} (1 run)", spread.mean);
  return fmt::format("{:.2f} ({:.2f} to {:.2f}, {} runs)", spread.mean, spread.min, spread.max,
                     spread.runs);
}

std::string_view name_of(RunSet set) {
  static constexpr std::string_view kNames[] = {"first", "steady", "all"};
  return kNames[static_cast<std::size_t>(set)];
}

const ContainerRuns& ModelRuns::of(RunSet set) const {
  if (set == RunSet::first) return first;
  return set == RunSet::steady ? steady : all;
}

namespace {

struct RunsOfModel {
  std::vector<const SparkRun*> native;
  std::vector<const SparkRun*> container;
};

Spread field_spread(std::span<const SparkRun* const> runs, double SparkRun::*field, double less) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const SparkRun* run : runs) values.push_back(run->*field - less);
  return spread_of(values);
}

ContainerRuns container_runs(std::span<const SparkRun* const> runs, double native_peak_gib) {
  return {field_spread(runs, &SparkRun::peak_gib, 0), field_spread(runs, &SparkRun::kv_gib, 0),
          field_spread(runs, &SparkRun::peak_gib, native_peak_gib)};
}

// Index of the first run after the last fall; the number of runs when only the first one is left.
std::size_t steady_index(std::span<const SparkRun* const> runs) {
  std::size_t index = 1;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i - 1]->peak_gib - runs[i]->peak_gib > kSettledFallGib) index = i;
  }
  return std::min(index, runs.size());
}

ModelRuns summarise_model(const std::string& model, RunsOfModel& of_model) {
  const auto in_time = [](const SparkRun* a, const SparkRun* b) {
    return a->timestamp < b->timestamp;
  };
  std::ranges::stable_sort(of_model.container, in_time);
  ModelRuns row;
  row.model = model;
  row.native_peak_gib = field_spread(of_model.native, &SparkRun::peak_gib, 0);
  row.native_kv_gib = field_spread(of_model.native, &SparkRun::kv_gib, 0);
  const double native = row.native_peak_gib.mean;
  const std::span<const SparkRun* const> runs = of_model.container;
  const std::size_t steady = steady_index(runs);
  row.all = container_runs(runs, native);
  row.first = container_runs(runs.first(std::min<std::size_t>(1, runs.size())), native);
  row.steady = container_runs(runs.subspan(steady), native);
  if (row.steady.overhead_gib.runs > 0) row.steady_from = static_cast<std::int64_t>(steady) + 1;
  for (const SparkRun* run : runs) row.overheads_gib.push_back(run->peak_gib - native);
  return row;
}

}  // namespace

std::vector<ModelRuns> summarise_runs(std::span<const SparkRun> runs) {
  std::map<std::string, RunsOfModel> models;
  for (const SparkRun& run : runs) {
    RunsOfModel& of_model = models[run.model];
    (run.container ? of_model.container : of_model.native).push_back(&run);
  }
  std::vector<ModelRuns> rows;
  for (auto& [model, of_model] : models) {
    if (!of_model.native.empty()) rows.push_back(summarise_model(model, of_model));
  }
  return rows;
}

namespace {

// What `all` has beyond `common`: the native peak holds the common part already.
ByteCount beyond(ByteCount all, ByteCount common) { return std::max<ByteCount>(all - common, 0); }

Environment beyond_native(Environment environment, const Environment& native) {
  environment.system_bytes = beyond(environment.system_bytes, native.system_bytes);
  environment.processes_bytes = beyond(environment.processes_bytes, native.processes_bytes);
  environment.tmpfs_bytes = beyond(environment.tmpfs_bytes, native.tmpfs_bytes);
  environment.engine_host_bytes = beyond(environment.engine_host_bytes, native.engine_host_bytes);
  return environment;
}

double predicted_gib(const Environment& container, const Environment& native,
                     const HostRequest& request) {
  const Environment of_container = beyond_native(container, native);
  const Environment of_native = beyond_native(native, native);
  return gib_from_bytes(machine_memory(of_container, request).not_free_bytes() -
                        machine_memory(of_native, request).not_free_bytes());
}

std::string cache_need(double measured_gib, double checkpoint_gib) {
  return fmt::format(
      "page cache would need {:.2f} GiB of cached files, but the checkpoint has {:.2f}{}",
      measured_gib, checkpoint_gib,
      measured_gib > checkpoint_gib
          ? ": too little"
          : fmt::format(" (a share of {:.2f})", measured_gib / checkpoint_gib));
}

std::string heap_need(const ModelRuns& runs, double assumed_gib) {
  std::string each;
  for (const double overhead : runs.overheads_gib) {
    each += fmt::format("{}{:.2f}", each.empty() ? "" : ", ", overhead);
  }
  std::string settled;
  if (runs.steady.overhead_gib.runs > 0) {
    settled = fmt::format(" and still {:.2f} GiB in settled runs", runs.steady.overhead_gib.mean);
  }
  return fmt::format(
      "the compiler's heap would need {:.2f} GiB at the first start ({:.2f} are assumed){}, and to "
      "vary from run to run like {}",
      runs.first.overhead_gib.mean, assumed_gib, settled, each);
}

std::string needed_text(const Environment& container, const ModelRuns& runs, RunSet set,
                        const ServedModel* model) {
  if (runs.of(set).overhead_gib.runs == 0) return "";
  const double measured = runs.of(set).overhead_gib.mean;
  std::vector<std::string> needs;
  if (container.double_counted_share > 0) {
    needs.push_back(fmt::format(
        "double counting would need a share of {:.2f} of the native peak; {:.2f} is assumed",
        needed_share(runs, set).value_or(0), container.double_counted_share));
  }
  if (container.checkpoint_cache_share > 0 && model != nullptr) {
    needs.push_back(cache_need(measured, gib_from_bytes(model->checkpoint_bytes)));
  }
  if (container.compile_bytes > 0) {
    needs.push_back(heap_need(runs, gib_from_bytes(container.compile_bytes)));
  }
  if (container.first_start_overhead || container.steady_overhead) {
    needs.emplace_back("the run must be one of the measured ones");
  }
  if (needs.empty()) {
    needs.push_back(fmt::format(
        "{:.2f} GiB would have to be in use by something that this environment does not have",
        measured));
    if (container.shm_size_bytes) {
      needs.push_back(fmt::format("files in /dev/shm could take {:.2f}",
                                  gib_from_bytes(*container.shm_size_bytes)));
    }
  }
  std::string text;
  for (const std::string& need : needs) text += (text.empty() ? "" : "; ") + need;
  return text;
}

const ServedModel* find_model(std::span<const ServedModel> models, const std::string& name) {
  for (const ServedModel& model : models) {
    if (model.model == name) return &model;
  }
  return nullptr;
}

bool lacks_checkpoint(const Environment& container, const ServedModel* model) {
  return container.checkpoint_cache_share > 0 && model == nullptr;
}

std::string label_of(const Environment& container, const ModelRuns& runs, RunSet set,
                     const ServedModel* model) {
  if (runs.of(set).overhead_gib.runs == 0) return "unscored: no container run of this set";
  if (lacks_checkpoint(container, model)) return "unscored: size of the checkpoint not given";
  if (set == RunSet::first && container.compile_bytes > 0) {
    return "unscored: the heap was not recorded";
  }
  if (!container.first_start_overhead && !container.steady_overhead) return "scored";
  return container.measured_model == runs.model
             ? "fitted on these runs"
             : fmt::format("scored: measured with {}", container.measured_model);
}

}  // namespace

std::vector<ExplanationScore> score_explanation(const Environment& container,
                                                const Environment& native, const DeviceSpec& device,
                                                std::span<const ModelRuns> runs,
                                                std::span<const ServedModel> models) {
  HostRequest request;
  request.device = device;
  request.device.memory_reported_bytes = bytes_from_gib(kSparkDeviceGib);
  request.metric = FreeMetric::mem_free;  // TensorRT-LLM, ENGINES.md 1.3
  std::vector<ExplanationScore> scores;
  for (const ModelRuns& row : runs) {
    const ServedModel* const model = find_model(models, row.model);
    request.checkpoint_bytes = model == nullptr ? 0 : model->checkpoint_bytes;
    request.device_bytes = bytes_from_gib(row.native_peak_gib.mean);
    for (const RunSet set : {RunSet::first, RunSet::steady}) {
      request.first_start = set == RunSet::first;
      ExplanationScore score;
      score.explanation = container.id;
      score.model = row.model;
      score.set = set;
      score.predicted_gib = predicted_gib(container, native, request);
      score.needed = needed_text(container, row, set, model);
      score.label = label_of(container, row, set, model);
      const Spread& overhead = row.of(set).overhead_gib;
      if (overhead.runs > 0) score.measured_gib = overhead.mean;
      if (overhead.runs > 0 && !lacks_checkpoint(container, model)) {
        score.error_gib = score.predicted_gib - overhead.mean;
      }
      scores.push_back(std::move(score));
    }
  }
  return scores;
}

std::optional<double> needed_share(const ModelRuns& runs, RunSet set) {
  const Spread& overhead = runs.of(set).overhead_gib;
  if (overhead.runs == 0 || runs.native_peak_gib.mean <= 0) return std::nullopt;
  return overhead.mean / runs.native_peak_gib.mean;
}

std::string double_counting_verdict(std::span<const ModelRuns> runs, RunSet set) {
  std::vector<std::string> shares;
  double overhead_by_peak = 0;
  double peak_squares = 0;
  double low = 0;  // shares within the spread of every model
  double high = 1;
  for (const ModelRuns& row : runs) {
    const std::optional<double> share = needed_share(row, set);
    if (!share) continue;
    const Spread& overhead = row.of(set).overhead_gib;
    const double peak = row.native_peak_gib.mean;
    shares.push_back(fmt::format("{:.2f} ({})", *share, row.model));
    overhead_by_peak += overhead.mean * peak;
    peak_squares += peak * peak;
    low = std::max(low, overhead.min / peak);
    high = std::min(high, overhead.max / peak);
  }
  if (shares.empty()) return "double counting: no container runs to score it";
  const double best = overhead_by_peak / peak_squares;
  double worst_gib = 0;
  for (const ModelRuns& row : runs) {
    if (!needed_share(row, set)) continue;
    const double miss = best * row.native_peak_gib.mean - row.of(set).overhead_gib.mean;
    worst_gib = std::max(worst_gib, miss < 0 ? -miss : miss);
  }
  return fmt::format(
      "double counting would need a share of {} of the native peak; {} (the best one, {:.2f}, "
      "misses by up to {:.2f} GiB)",
      comma_list(shares),
      low <= high ? "one share lies within the spread of all models"
                  : "no single share explains all models",
      best, worst_gib);
}

std::optional<std::string> weights_note(const std::string& model, ByteCount weight_bytes,
                                        double device_gib, double peak_gib) {
  const double weights_gib = gib_from_bytes(weight_bytes);
  if (weights_gib <= device_gib && weights_gib <= peak_gib) return std::nullopt;
  return fmt::format(
      "{}: {:.2f} GB of weights ({:.2f} GiB) {}; with a peak of {:.2f} GiB they must have been "
      "quantised or not loaded",
      model, static_cast<double>(weight_bytes) / 1e9, weights_gib,
      weights_gib > device_gib ? fmt::format("do not fit in {:.2f} GiB", device_gib)
                               : std::string("exceed the peak"),
      peak_gib);
}

std::optional<std::string> bandwidth_note(const ServedModel& model, double bandwidth_bytes_per_s,
                                          double output_tokens_per_s) {
  HEADROOM_CHECK(model.token_read_bytes > 0 && bandwidth_bytes_per_s > 0,
                 fmt::format("{}: {} bytes per token", model.model, model.token_read_bytes));
  const auto bytes = static_cast<double>(model.token_read_bytes);
  const double one_sequence = bandwidth_bytes_per_s / bytes;
  if (output_tokens_per_s <= one_sequence) return std::nullopt;
  const double sequences = output_tokens_per_s / one_sequence;
  const auto whole = static_cast<std::int64_t>(sequences);
  const std::int64_t least = static_cast<double>(whole) < sequences ? whole + 1 : whole;
  return fmt::format(
      "{}: {:.1f} tokens/s x {:.2f} GB of weights is {:.0f} GB/s from a memory with {:.0f}: one "
      "sequence gets at most {:.1f} tokens/s, so at least {} sequences shared each step, or the "
      "device did not read these weights",
      model.model, output_tokens_per_s, bytes / 1e9, output_tokens_per_s * bytes / 1e9,
      bandwidth_bytes_per_s / 1e9, one_sequence, least);
}

std::optional<std::string> equal_rates_note(std::span<const ServedModel> models,
                                            std::span<const double> tokens_per_s) {
  HEADROOM_CHECK(models.size() == tokens_per_s.size(),
                 fmt::format("{} models, {} rates", models.size(), tokens_per_s.size()));
  if (models.size() < 2) return std::nullopt;
  const Spread rates = spread_of(tokens_per_s);
  const auto [least, most] =
      std::ranges::minmax_element(models, {}, &ServedModel::token_read_bytes);
  const double factor =
      static_cast<double>(most->token_read_bytes) / static_cast<double>(least->token_read_bytes);
  if (rates.max > 1.05 * rates.min || !(factor > 2)) return std::nullopt;
  return fmt::format(
      "{:.1f} to {:.1f} tokens/s for all models, although {} reads {:.1f} times the weights of {} "
      "per token: with equal batches, bandwidth predicts rates that differ by as much, so these "
      "rates do not belong to the models in their labels",
      rates.min, rates.max, most->model, factor, least->model);
}

}  // namespace headroom
