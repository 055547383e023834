#include "hardware/cost/factory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "hardware/cost/kernel_table.hpp"
#include "hardware/cost/parallel.hpp"
#include "hardware/cost/prompt_kernels.hpp"
#include "hardware/cost/ticks.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// Whether the row was made for the device, or, of rows of no device, for its architecture.
bool is_of(const Calibration& row, const DeviceSpec& device, bool of_any_device) {
  if (!of_any_device) return device.has_chip_of(row.device);
  const auto names = [&](const std::string& name) {
    return std::ranges::count(row.architectures, name) > 0;
  };
  return row.device.empty() &&
         (names(device.architecture) || (device.sm > 0 && names(fmt::format("sm_{}", device.sm))));
}

// Rows of the engine for this device, or with `of_any_device` those of no device in particular.
const Calibration* find_calibration(const Catalog& catalog, const ModelSpec& model,
                                    const DeviceSpec& device, const CostRequest& request,
                                    bool of_any_device = false) {
  // Kernels of other weights reach other shares.
  const Dtype dtype = main_dtype(model);
  const std::string_view weights = is_quantised(dtype) ? name_of(dtype) : std::string_view();
  // The closest: of these weights before any, of certain releases before all, in the catalog's
  // order.
  const Calibration* found = nullptr;
  int closest = 0;
  for (const auto& [id, row] : catalog.calibrations()) {
    if (!is_of(row, device, of_any_device) || row.engine != request.engine ||
        row.mode != request.mode || (row.weights != weights && row.weights != kAnyWeights)) {
      continue;
    }
    if (row.first_version && !(request.version && *row.first_version <= *request.version &&
                               *request.version <= *row.last_version)) {
      continue;
    }
    const int closeness = 1 + (row.first_version ? 1 : 0) + (row.weights == weights ? 2 : 0);
    if (closeness > closest) {
      closest = closeness;
      found = &row;
    }
  }
  return found;
}

}  // namespace

const Calibration& choose_calibration(const Catalog& catalog, const ModelSpec& model,
                                      const DeviceSpec& device, const CostRequest& request) {
  if (!request.calibration.empty()) {
    const Calibration& named = catalog.calibration(request.calibration);
    if (named.mode == request.mode) return named;
    throw ConfigError(fmt::format("calibration {} is for {} scheduling, but the engine runs {}",
                                  named.id, name_of(named.mode), name_of(request.mode)));
  }
  for (const bool of_any_device : {false, true}) {
    const Calibration* found = find_calibration(catalog, model, device, request, of_any_device);
    if (found != nullptr) return *found;
  }
  for (const auto& [id, row] : catalog.calibrations()) {
    if (row.device.empty() && row.engine.empty() && row.mode == request.mode &&
        row.hopper_or_later == device.hopper_or_later()) {
      return row;
    }
  }
  throw ConfigError(fmt::format("catalog: no calibration for {} with {} ({}) and no generic one",
                                device.id, request.engine, name_of(request.mode)));
}

void take_part(double clock_share, double bandwidth_share, DeviceSpec& device, Calibration& row) {
  device.fp16_flops *= clock_share;
  for (std::optional<double>* rate : {&device.fp32_flops, &device.bf16_flops, &device.fp8_flops,
                                      &device.fp4_flops, &device.int8_ops}) {
    if (*rate) **rate *= clock_share;
  }
  device.bandwidth_bytes_per_s *= bandwidth_share;
  row.peak_flops *= clock_share;
  row.bandwidth_bytes_per_s *= bandwidth_share;
}

namespace {

// The profile names its model and device; another model of the same shape (a fine-tune) is as good.
// What the catalog does not know cannot be checked: those names are returned, "" if there is none.
std::string check_profiled_system(const Catalog& catalog, const ModelSpec& model,
                                  const DeviceSpec& device, const std::filesystem::path& folder,
                                  const KernelTimesMeta& meta) {
  const auto refuse = [&](const std::string& profiled, const std::string& wanted) {
    throw ConfigError(Complaint{
        .origin = folder.string(),
        .problem = fmt::format("the kernel times are for {}, but the scenario's system is {}",
                               profiled, wanted)});
  };
  if (catalog.has_model(meta.model)) {
    const ModelSpec other = catalog.model(meta.model);
    if (other.hidden != model.hidden || other.layers() != model.layers() ||
        other.vocab != model.vocab) {
      refuse(meta.model, model.id);
    }
  }
  std::string unknown = catalog.has_model(meta.model) ? "" : meta.model;
  if (meta.gpu.ends_with(device.name)) return unknown;
  for (const std::string& id : catalog.device_ids()) {
    if (meta.gpu.ends_with(catalog.device(id).name)) refuse(meta.gpu, device.id);
  }
  return unknown.empty() ? meta.gpu : unknown + " and " + meta.gpu;
}

}  // namespace

namespace {

// A rank's or a chain's cost as that of all stages and data ranks, whichever `options` have.
std::unique_ptr<StepCost> with_ranks(std::unique_ptr<StepCost> chain, const ModelSpec& model,
                                     const DeviceSpec& device, const Calibration& row,
                                     const RooflineOptions& options) {
  const Sharding& s = options.parallel.sharding;
  if (s.pipeline > 1) {
    PipelineOptions pipeline;
    for (std::int64_t stage = 0; stage < s.pipeline; ++stage) {
      const StageLayers range = stage_layers(model, s, stage);
      pipeline.layers.push_back(static_cast<std::int64_t>(range.last - range.first));
    }
    pipeline.hand_over = hand_over_ticks(model, device, row, options.parallel);
    pipeline.host_step = ticks_from_ns(row.host_step_ns);
    pipeline.host_row = ticks_from_ns(row.host_row_ns);
    return std::make_unique<PipelineCost>(std::move(chain), pipeline);
  }
  if (s.data > 1) return std::make_unique<DataParallelCost>(std::move(chain), s.data);
  return chain;
}

// Small kernels of a layer take as long as they need to start.
BetweenKernels between_kernels_on(const DeviceSpec& device, BetweenKernels between) {
  if (!device.kernels_of) return between;
  for (double* time : {&between.layer_ns, &between.sparse_ns, &between.recurrent_ns,
                       &between.quantise_ns, &between.reduce_ns}) {
    *time *= device.kernels_of->latency;
  }
  return between;
}

// A row of an architecture was fitted on other devices of it. This one attains another share of its
// arithmetic than the one whose kernels it takes. (Its memory gives all that such a row asks for.)
void take_attained_shares(const Catalog& catalog, const ModelSpec& model, const DeviceSpec& device,
                          Calibration& row) {
  if (!row.device.empty() || !device.kernels_of) return;
  const DeviceSpec::KernelsOf& of = *device.kernels_of;
  if (!is_of(row, catalog.device(of.device), true)) return;
  const bool narrow = row.products != Products::half && is_quantised(main_dtype(model));
  row.compute_share *= narrow ? of.flops_8_bit : of.flops_16_bit;
  row.prefill_compute_share *= of.flops_16_bit;
}

std::string how_scaled(const DeviceSpec& device) {
  if (!device.kernels_of) return ", scaled";
  const DeviceSpec::KernelsOf& of = *device.kernels_of;
  return fmt::format(
      ", an assumption for {}: scaled by data-sheet rates and attained shares of them "
      "(bandwidth x{}, attention of decodes x{} more, 16 bit x{}, 8 bit x{}, link x{}), starts "
      "take {} times as long",
      device.id, of.bandwidth, of.decode_attention, of.flops_16_bit, of.flops_8_bit, of.link,
      of.latency);
}

// The library's times and the engine's constants.
void choose_kernels(const Catalog& catalog, const ModelSpec& model, const DeviceSpec& device,
                    const CostRequest& request, const Calibration& row, CostChoice& choice) {
  if (const std::string why =
          why_no_kernels(catalog, model, device, request.engine, request.kernels);
      !why.empty()) {
    throw ConfigError(Complaint{.kind = ErrorKind::unsupported,
                                .pointer = "/cost/level",
                                .value = "kernels",
                                .problem = why});
  }
  KernelChoices choices{.backends = request.backends, .fp8_prefill = request.prefills_in_fp8};
  // Activations that the other matrices take in 8 bit go so into experts in mxfp4 as well, where
  // the device has products for it (DeepSeek-V4).
  const auto is_8_bit = [](const LayerKind& kind) {
    return kind.moe && kind.attention && kind.attention->format.dtype == Dtype::fp8;
  };
  if (device.fp4_flops && std::ranges::any_of(model.kinds, is_8_bit)) choices.backends.mxfp8 = true;
  const BetweenKernels between =
      between_kernels_on(device, *catalog.between_kernels(request.engine));
  KernelLibrary library = catalog.kernel_library(device, *request.kernels);
  choice.calibration = fmt::format("kernels of {}", library.system());
  choice.source = "kernel times of " + library.system();
  if (library.is_relative()) choice.source += how_scaled(device);
  const std::string recurrent = has_states(model) ? library.recurrent_system() : library.system();
  if (recurrent != library.system()) {
    choice.source += fmt::format(", recurrent layers over prompts of {}, scaled", recurrent);
  }
  choice.source += fmt::format("; between them: {}", between.source);
  choice.uncalibrated = library.is_relative() || recurrent != library.system();
  choice.client_latency_ns = static_cast<TimeNs>(between.request_ns + 0.5);
  choice.prompt_token_ns = between.prompt_token_ns;
  choice.entry_ns = between.entry_ns;
  choice.entry_token_ns = between.entry_token_ns;
  LayerKernels layers(model, request.roofline.parallel, request.roofline.kv, choices,
                      std::move(library));
  HostTime host;
  if (request.mode == EngineMode::sync) {
    host = {.step = ticks_from_ns(row.host_step_ns), .row = ticks_from_ns(row.host_row_ns)};
    choice.source += fmt::format("; host: {}", row.id);
  }
  auto cost = std::make_unique<KernelCost>(std::move(layers), between, request.captured, host,
                                           model.hidden, request.roofline.limits);
  choice.cost = with_ranks(std::move(cost), model, device, row, request.roofline);
}

// Steps with prompts by measured kernels, where the row wants that and there are any.
void price_prompts_by_kernels(const Catalog& catalog, const ModelSpec& model,
                              const DeviceSpec& device, const CostRequest& request,
                              const Calibration& row, CostChoice& choice) {
  if (!row.prompts_by_kernels || request.roofline.parallel.sharding.devices() > 1 ||
      !why_no_kernels(catalog, model, device, request.engine, request.kernels).empty()) {
    return;
  }
  CostChoice kernels;
  choose_kernels(catalog, model, device, request, row, kernels);
  choice.cost =
      std::make_unique<PromptKernelsCost>(std::move(choice.cost), std::move(kernels.cost));
  choice.source += "; steps with prompts: " + kernels.source;
}

}  // namespace

std::string why_no_kernels(const Catalog& catalog, const ModelSpec& model, const DeviceSpec& device,
                           std::string_view engine, std::optional<KernelEngine> kernels) {
  if (!kernels || catalog.between_kernels(engine) == nullptr) {
    return "no kernels of this engine were measured";
  }
  if (!KernelLibrary::has_any_for(device)) {
    return fmt::format("no kernel times of {} or of a relative", device.id);
  }
  if (const std::string missing = kernels_missing(model); !missing.empty()) {
    return fmt::format("no kernel times of {}", missing);
  }
  const auto has = [&](auto is_such) { return std::ranges::any_of(model.kinds, is_such); };
  const bool sparse = has([](const LayerKind& kind) {
    return kind.attention && (kind.attention->indexer || !kind.attention->keeps_values);
  });
  const bool recurrent = has_states(model);
  if (!sparse && !recurrent) return "";
  const KernelLibrary library = catalog.kernel_library(device, *kernels);
  const char* lacks = sparse && !library.has_sparse()                   ? "sparse attention"
                      : recurrent && library.recurrent_system().empty() ? "recurrent layers"
                                                                        : nullptr;
  return lacks == nullptr ? ""
                          : fmt::format("no kernel times of {} on {}", lacks, library.system());
}

bool prefers_kernels(const Catalog& catalog, const ModelSpec& model, const DeviceSpec& device,
                     const CostRequest& request) {
  if (!KernelLibrary::is_near(device) || !request.calibration.empty()) return false;
  const Calibration* row = find_calibration(catalog, model, device, request);
  const bool fits =
      row != nullptr && !(row->only_dense && has_experts(model)) &&
      (row->only_models.empty() || std::ranges::count(row->only_models, model.id) > 0);
  return !fits && why_no_kernels(catalog, model, device, request.engine, request.kernels).empty();
}

std::unique_ptr<StepCost> make_roofline_cost(const ModelSpec& model, const DeviceSpec& device,
                                             const Calibration& row,
                                             const RooflineOptions& options) {
  return with_ranks(std::make_unique<RooflineCost>(model, device, row, options), model, device, row,
                    options);
}

CostChoice make_step_cost(const Catalog& catalog, const ModelSpec& model, const DeviceSpec& device,
                          const CostRequest& request) {
  Calibration calibration = request.level == CostLevel::spec
                                ? spec_calibration(request.mode)
                                : choose_calibration(catalog, model, device, request);
  CostChoice choice;
  choice.calibration = calibration.id;
  choice.source = calibration.source;
  choice.engine_versions = calibration.engine_versions;
  choice.uncalibrated = request.level != CostLevel::spec && calibration.device.empty();
  choice.client_latency_ns = static_cast<TimeNs>(calibration.client_latency_ns + 0.5);
  if (request.backends.most(has_experts(model)) == ProductKernel::marlin &&
      is_quantised(main_dtype(model))) {
    calibration.products = Products::half;
  }
  DeviceSpec part = device;
  if (request.level != CostLevel::table) {
    check_fits(calibration, device);
    take_attained_shares(catalog, model, device, calibration);
    take_part(request.clock_share, request.bandwidth_share, part, calibration);
  }
  choice.weight_bytes_per_s = part.bandwidth_bytes_per_s * calibration.weight_bandwidth_share;
  choice.matrix_flops_per_s =
      matrix_flops(part, model.dtype, calibration.products) * calibration.compute_share;
  if (request.level == CostLevel::kernels) {
    choose_kernels(catalog, model, part, request, calibration, choice);
    return choice;
  }
  if (request.level != CostLevel::table) {
    choice.cost = make_roofline_cost(model, part, calibration, request.roofline);
    price_prompts_by_kernels(catalog, model, part, request, calibration, choice);
    return choice;
  }
  const std::filesystem::path folder =
      kernel_times_folder(request.tables, request.roofline.parallel.sharding.tensor);
  const KernelTimesMeta meta = read_kernel_times_meta(folder);
  const std::string unknown = check_profiled_system(catalog, model, device, folder, meta);
  choice.cost = std::make_unique<KernelTableCost>(model, device, calibration,
                                                  read_kernel_times(folder), request.roofline);
  choice.source = fmt::format(
      "kernel times of {} ({}{}); links and host: {}", folder.string(), meta.gpu,
      unknown.empty() ? "" : fmt::format("; not in the catalog, so not checked: {}", unknown),
      calibration.source);
  return choice;
}

}  // namespace headroom
