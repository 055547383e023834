#include "hardware/catalog_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "hardware/between_fields.hpp"
#include "hardware/calibration_fields.hpp"
#include "hardware/catalog_fields.hpp"
#include "hardware/kernels/kernel_words.hpp"
#include "hardware/llm/dtype.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/time.hpp"

namespace headroom {
namespace {

using Json = nlohmann::json;

ModelRow parse_model(CatalogFields row) {
  ModelRow model;
  model.id = row.text("id");
  model.hf_repo = row.text_or_empty("hf_repo");
  model.aliases = row.texts("aliases");
  model.source = row.text("source");
  static_cast<void>(row.text_or_empty("notes"));
  model.pooling = row.flag("pooling");
  model.config = row.json_text("config", true);
  model.quantization = row.json_text("quantization", false);
  model.shown_as = row.place();
  row.finish();
  return model;
}

MemoryModel parse_memory_model(CatalogFields& row) {
  const std::string name = row.text("memory_model");
  if (name == "discrete") return MemoryModel::discrete;
  if (name == "coherent-discrete") return MemoryModel::coherent_discrete;
  if (name == "unified") return MemoryModel::unified;
  throw row.error("memory_model", "discrete, coherent-discrete, unified");
}

DevicePower parse_power(CatalogFields row) {
  DevicePower power;
  power.tdp_w = row.rate("tdp_w", 1);
  power.idle_w = row.rate("idle_w", 1);
  power.memory_bound_w = row.rate("memory_bound_w", 1);
  power.compute_bound_w = row.rate("compute_bound_w", 1);
  power.source = row.text("source");
  row.finish();
  return power;
}

std::optional<ObservedErrors::Range> parse_range(CatalogFields& row, const std::string& key) {
  const std::vector<double> ends = row.numbers(key);
  if (ends.empty()) return std::nullopt;
  if (ends.size() != 2 || !(ends[0] > -100) || !(ends[0] <= ends[1])) {
    throw row.error(key, "lowest and highest error in per cent, above -100");
  }
  return ObservedErrors::Range{ends[0] / 100, ends[1] / 100};
}

ObservedErrors parse_observed(CatalogFields row) {
  ObservedErrors errors;
  errors.models = row.texts("models");
  errors.runs = row.integer("runs", 1);
  errors.ttft = parse_range(row, "mean_ttft_ms_percent");
  errors.tpot = parse_range(row, "mean_tpot_ms_percent");
  errors.throughput = parse_range(row, "output_throughput_percent");
  row.finish();
  return errors;
}

constexpr double kLeastShare = 0.01;
constexpr double kMostShare = 100;

DeviceSpec::KernelsOf::Tuned parse_tuned(CatalogFields row) {
  using Tuned = DeviceSpec::KernelsOf::Tuned;
  Tuned tuned;
  const std::string kernels = row.text("kernels");
  if (kernels != "products" && kernels != "experts") {
    throw row.error("kernels", "products or experts");
  }
  tuned.kernels = kernels == "experts" ? Tuned::Kernels::experts : Tuned::Kernels::products;
  tuned.format = row.text("format");
  if (!kernel_format_named(tuned.format)) throw row.error("format", "a format of kernel tables");
  tuned.tokens = row.numbers("tokens");
  tuned.times = row.numbers("times");
  double last = 0;
  for (const double tokens : tuned.tokens) {
    if (!(tokens > last)) throw row.error("tokens", "numbers above 0 that grow");
    last = tokens;
  }
  const auto plausible = [](double time) { return time >= kLeastShare && time <= kMostShare; };
  if (tuned.times.empty() || tuned.times.size() != tuned.tokens.size() ||
      !std::ranges::all_of(tuned.times, plausible)) {
    throw row.error("times", "a factor of 0.01 to 100 for each number of tokens");
  }
  row.finish();
  return tuned;
}

DeviceSpec::KernelsOf parse_kernels_of(CatalogFields row) {
  DeviceSpec::KernelsOf of;
  of.device = row.text("device");
  of.bandwidth = row.number_between("bandwidth", kLeastShare, kMostShare, 1);
  of.flops_16_bit = row.number_between("flops_16_bit", kLeastShare, kMostShare, 1);
  of.flops_8_bit = row.number_between("flops_8_bit", kLeastShare, kMostShare, 1);
  if (row.find("decode_attention") != nullptr) {
    of.decode_attention = row.number_between("decode_attention", kLeastShare, kMostShare, 1);
  }
  of.link = row.number_between("link", kLeastShare, kMostShare, 1);
  of.latency = row.number_between("latency", kLeastShare, kMostShare, 1);
  for (CatalogFields& tuned : row.objects("tuned")) of.tuned.push_back(parse_tuned(tuned));
  for (CatalogFields& errors : row.objects("observed")) {
    of.observed.push_back(parse_observed(errors));
  }
  of.source = row.text("source");
  row.finish();
  return of;
}

// Beyond a wafer of silicon: a figure in another unit.
constexpr double kMostGbPerS = 100'000;
constexpr double kMostTflops = 1'000'000;

DeviceSpec parse_device(CatalogFields row) {
  DeviceSpec d;
  d.id = row.text("id");
  d.same_chip_as = row.text_or_empty("same_chip_as");
  d.name = row.text("name");
  d.aliases = row.texts("aliases");
  d.usual_for = row.texts("usual_for");
  d.vendor = row.text("vendor");
  d.architecture = row.text("architecture");
  d.memory_model = parse_memory_model(row);
  d.sm = static_cast<std::int32_t>(row.integer_or("sm", 0, 0));
  d.memory_nominal_bytes = row.integer("memory_nominal_bytes", 1);
  d.memory_reported_bytes = row.integer("memory_reported_bytes", 1);
  d.bandwidth_bytes_per_s = row.number_between("bandwidth_gb_per_s", 1e-3, kMostGbPerS, 1e9);
  d.ecc_in_band = row.flag("ecc_in_band");
  auto rates = row.object("tflops");
  if (!rates) throw row.error("tflops", "object with fp16 and the other rates of the device");
  d.fp32_flops = rates->rate("fp32", 1e12, kMostTflops);
  d.fp16_flops = rates->number_between("fp16", 1e-3, kMostTflops, 1e12);
  d.bf16_flops = rates->rate("bf16", 1e12, kMostTflops);
  d.fp8_flops = rates->rate("fp8", 1e12, kMostTflops);
  d.fp4_flops = rates->rate("fp4", 1e12, kMostTflops);
  d.int8_ops = rates->rate("int8", 1e12, kMostTflops);
  rates->finish();
  d.nvlink_bytes_per_s = row.rate("nvlink_gb_per_s_per_direction", 1e9, kMostGbPerS);
  d.link_peers = static_cast<std::int32_t>(row.integer_or("link_peers", 1, 0));
  d.pcie_bytes_per_s = row.rate("pcie_gb_per_s_per_direction", 1e9, kMostGbPerS);
  if (auto power = row.object("power")) d.power = parse_power(*power);
  if (auto kernels = row.object("kernels_of")) d.kernels_of = parse_kernels_of(*kernels);
  d.source = row.text("source");
  d.confidence = row.text_or_empty("confidence");
  d.notes = row.text_or_empty("notes");
  row.finish();
  return d;
}

EngineMode parse_mode(CatalogFields& row) {
  const std::string name = row.text("mode");
  if (name == "sync") return EngineMode::sync;
  if (name == "async") return EngineMode::async;
  throw row.error("mode", "sync, async");
}

// Both ends, or none.
void parse_releases(CatalogFields& row, Calibration& c) {
  const std::string first = row.text_or_empty("first_version");
  const std::string last = row.text_or_empty("last_version");
  if (first.empty() && last.empty()) return;
  try {
    c.first_version = parse_engine_version(first);
    c.last_version = parse_engine_version(last);
  } catch (const ConfigError&) {
    throw row.error("last_version", "two releases, first_version and last_version, e.g. 0.19");
  }
  if (*c.last_version < *c.first_version) throw row.error("last_version", "first_version or later");
}

Products parse_products(CatalogFields& row) {
  const std::string name = row.text_or_empty("products");
  if (name.empty()) return Products::as_stored;
  if (name == "int8") return Products::int8;
  if (name == "half") return Products::half;
  throw row.error("products", "int8, half");
}

// Of a device and an engine, of an engine on any device of some architectures, or of none.
void parse_fitted_on(CatalogFields& row, Calibration& c) {
  c.device = row.text_or_empty("device");
  c.engine = row.text_or_empty("engine");
  c.engine_versions = row.text_or_empty("engine_versions");
  if (c.engine.empty()) {
    if (!c.device.empty()) throw row.error("engine", "set where device is set");
    c.hopper_or_later = row.flag("hopper_or_later");
    return;
  }
  c.products = parse_products(row);
  parse_releases(row, c);
  c.only_models = row.texts("only_models");
  c.only_dense = row.flag("only_dense");
  c.prompts_by_kernels = row.flag("prompts_by_kernels");
  c.weights = row.text_or_empty("weights");
  const std::vector<std::string> dtypes = dtype_names();
  const bool is_name = std::ranges::find(dtypes, c.weights) != dtypes.end();
  if (!c.weights.empty() && c.weights != kAnyWeights &&
      !(is_name && is_quantised(parse_dtype(c.weights)))) {
    throw row.error("weights", "the name of a data type below 16 bits, e.g. fp8, or any");
  }
  if (c.device.empty()) {
    c.architectures = row.texts("architectures");
    if (c.architectures.empty()) throw row.error("architectures", "set where device is not");
    return;
  }
  c.bandwidth_bytes_per_s = row.number_between("bandwidth_gb_per_s", 1e-3, kMostGbPerS, 1e9);
  c.peak_flops = row.number_between("peak_tflops", 1e-3, kMostTflops, 1e12);
}

Calibration parse_calibration(CatalogFields row) {
  Calibration c;
  c.id = row.text("id");
  c.mode = parse_mode(row);
  parse_fitted_on(row, c);
  for (const CalibrationField& field : calibration_fields()) {
    if (field.may_be_absent && !row.has(std::string(field.key))) continue;
    c.*field.member = row.number_between(std::string(field.key), field.low, field.high, field.unit);
  }
  c.fitted_runs = row.texts("fitted_runs");
  for (CatalogFields& errors : row.objects("observed"))
    c.observed.push_back(parse_observed(errors));
  for (CatalogFields& errors : row.objects("observed_elsewhere"))
    c.observed_elsewhere.push_back(parse_observed(errors));
  c.source = row.text("source");
  row.finish();
  return c;
}

BetweenKernels parse_between(CatalogFields row) {
  BetweenKernels b;
  b.id = row.text("id");
  for (const BetweenField& field : between_fields()) {
    b.*field.member = row.number_between(std::string(field.key), 0, field.high, field.unit);
  }
  for (CatalogFields& errors : row.objects("observed"))
    b.observed.push_back(parse_observed(errors));
  b.source = row.text("source");
  row.finish();
  return b;
}

// The rows of `key` in a file {"about": text, key: [row, ...]}.
template <typename Value>
std::vector<Value> parse_file(std::string_view text, const std::string& file,
                              const std::string& key, Value (*parse)(CatalogFields)) {
  Json root;
  try {
    root = Json::parse(text, nullptr, true, /*ignore_comments=*/true);
  } catch (const Json::exception& error) {
    throw ConfigError(
        Complaint{.kind = ErrorKind::unreadable, .origin = file, .problem = error.what()});
  }
  const auto rows = root.is_object() ? root.find(key) : root.end();
  if (!root.is_object() || rows == root.end() || !rows->is_array()) {
    throw ConfigError(
        Complaint{.origin = file, .pointer = "/" + key, .problem = "must be an array of rows"});
  }
  for (const auto& [name, value] : root.items()) {
    if (name != key && name != "about") {
      throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                                  .origin = file,
                                  .pointer = "/" + name,
                                  .problem = fmt::format("unknown key (allowed: about, {})", key)});
    }
  }
  std::vector<Value> values;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const std::string pointer = fmt::format("/{}/{}", key, i);
    try {
      values.push_back(parse(CatalogFields((*rows)[i], file, pointer)));
    } catch (const Json::exception& error) {
      throw ConfigError(error.what(), ErrorKind::unreadable).at(file, pointer);
    }
  }
  return values;
}

}  // namespace

ModelRow not_quantised(ModelRow row) {
  Json config = Json::parse(row.config);
  for (const char* section : {"", "/text_config"}) {
    const Json::json_pointer at(section);
    if (!config.contains(at)) continue;
    for (const char* key : {"quantization_config", "compression_config"}) config[at].erase(key);
  }
  row.config = config.dump();
  row.quantization.clear();
  return row;
}

ModelRow parse_model_row(std::string_view row, const std::string& file, std::size_t number) {
  const std::string pointer = fmt::format("/models/{}", number);
  try {
    return parse_model(CatalogFields(Json::parse(row), file, pointer));
  } catch (const Json::exception& error) {
    throw ConfigError(error.what(), ErrorKind::unreadable).at(file, pointer);
  }
}

std::vector<ModelRow> parse_models(std::string_view text, const std::string& file) {
  return parse_file<ModelRow>(text, file, "models", parse_model);
}

std::vector<DeviceSpec> parse_devices(std::string_view text, const std::string& file) {
  return parse_file<DeviceSpec>(text, file, "devices", parse_device);
}

std::vector<BetweenKernels> parse_between_kernels(std::string_view text, const std::string& file) {
  return parse_file<BetweenKernels>(text, file, "between_kernels", parse_between);
}

std::vector<Calibration> parse_calibrations(std::string_view text, const std::string& file) {
  return parse_file<Calibration>(text, file, "calibrations", parse_calibration);
}

}  // namespace headroom
