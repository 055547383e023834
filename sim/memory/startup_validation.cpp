#include "sim/memory/startup_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/engines/launch.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/size_of.hpp"
#include "sim/memory/startup_scenario.hpp"
#include "sim/memory/what_if.hpp"

namespace headroom {
namespace {

constexpr double kMibPerGib = 1024;

// --- the log ------------------------------------------------------------------------------------

// A list holds one figure per rank, target before drafter, or the estimating pass before the final
// one: README of the rows.
enum class OfList : std::uint8_t { smallest, first, last };

std::optional<double> number_in(const Json& logged, std::string_view key, OfList of) {
  const auto found = logged.find(key);
  if (found == logged.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (!found->is_array() || found->empty() || !found->front().is_number()) return std::nullopt;
  if (of == OfList::first) return found->front().get<double>();
  if (of == OfList::last) return found->back().get<double>();
  double smallest = found->front().get<double>();
  for (const Json& one : *found) smallest = std::min(smallest, one.get<double>());
  return smallest;
}

struct FigureKey {
  std::string_view key;
  OfList of = OfList::smallest;
};

std::optional<double> first_of(const Json& logged, std::span<const FigureKey> keys) {
  for (const FigureKey& key : keys) {
    if (const auto value = number_in(logged, key.key, key.of)) return value;
  }
  return std::nullopt;
}

constexpr std::array kPoolKeys{
    FigureKey{"available_kv_cache_gib"}, FigureKey{"about_available_kv_cache_gib"},
    FigureKey{"reserved_for_kv_gib"}, FigureKey{"kv_allocated_gib", OfList::last}};
constexpr std::array kTokenKeys{FigureKey{"gpu_kv_cache_tokens"},
                                FigureKey{"about_gpu_kv_cache_tokens"},
                                FigureKey{"max_total_num_tokens"}, FigureKey{"about_kv_tokens"},
                                FigureKey{"kv_tokens", OfList::last}};
constexpr std::array kWeightKeys{FigureKey{"model_loading_gib", OfList::first},
                                 FigureKey{"model_loading_gb_as_logged"},
                                 FigureKey{"about_model_loading_gib"},
                                 FigureKey{"model_weights_gib"},
                                 FigureKey{"weights_gb", OfList::first},
                                 FigureKey{"weights_inside_torch_gib", OfList::first}};

double sum_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  double sum = 0;
  if (value.is_array()) {
    for (const Json& one : value) sum += sum_of(one);
  }
  return sum;
}

// Of one device, or of several together, with the host's or without.
std::optional<double> buffers_gib(const Json& logged, std::string_view key, bool with_host,
                                  std::string_view device = {}) {
  const auto found = logged.find(key);
  if (found == logged.end() || !found->is_object()) return std::nullopt;
  double mib = 0;
  for (const auto& [name, value] : found->items()) {
    if (!device.empty() ? name == device : with_host || !is_host_buffer(name)) mib += sum_of(value);
  }
  return mib / kMibPerGib;
}

constexpr std::array<std::string_view, 3> kBuffers{"model_buffer_mib", "kv_buffer_mib",
                                                   "compute_buffer_mib"};

// The device with most in its buffers, where all of them are logged; else nothing.
std::string fullest_device(const Json& logged) {
  std::string fullest;
  double most = 0;
  for (const std::string& device : devices_with_buffers(logged)) {
    double gib = 0;
    for (const std::string_view key : kBuffers) {
      const auto one = buffers_gib(logged, key, false, device);
      if (!one) return {};
      gib += *one;
    }
    if (gib > most) fullest = device;
    most = std::max(most, gib);
  }
  return fullest;
}

// --- stages -------------------------------------------------------------------------------------

struct LoggedStage {
  std::string_view words;
  StartupStage stage;
};
constexpr std::array kStages{
    LoggedStage{"kv cache sizing", StartupStage::max_length_request},
    LoggedStage{"memory check before load", StartupStage::free_memory_check},
    LoggedStage{"profile run", StartupStage::profiling},
    LoggedStage{"weight load", StartupStage::weights},
    LoggedStage{"load of the drafter", StartupStage::weights},
    LoggedStage{"after model load", StartupStage::profiling},
    LoggedStage{"graph capture", StartupStage::graph_capture},
    LoggedStage{"kernel warm-up", StartupStage::warm_up}};
// Failures of code, and of what comes after a start-up that succeeded.
constexpr std::array<std::string_view, 5> kNotOfMemory{"ImportError", "Triton", "triton",
                                                       "OutOfResources", "AssertionError"};
constexpr std::array<std::string_view, 4> kAfterStart{"after a good start-up", "first batch",
                                                      "prompt of", "attempts"};

std::optional<StartEnd> logged_end(const LoggedStart& start) {
  const auto says = [](const std::string& text, std::string_view words) {
    return text.find(words) != std::string::npos;
  };
  if (start.failed_stage.empty()) return StartEnd{};
  for (const std::string_view words : kNotOfMemory) {
    if (says(start.failed_message, words)) return std::nullopt;
  }
  for (const std::string_view words : kAfterStart) {
    if (says(start.failed_stage, words)) return StartEnd{};
  }
  for (const LoggedStage& stage : kStages) {
    // A stage behind the sizing is named after it: "kernel warm-up after kv cache allocation".
    if (start.failed_stage.starts_with(stage.words) || says(start.failed_stage, stage.words)) {
      return StartEnd{false, stage.stage};
    }
  }
  return StartEnd{false, std::nullopt};
}

// Too few blocks for one request, and none at all, are one message of most engines.
bool is_sizing(StartupStage stage) {
  return stage == StartupStage::blocks || stage == StartupStage::max_length_request;
}

// --- the model ----------------------------------------------------------------------------------

// One device's figures are those of the tightest stage, or of the fullest device.
class Comparison {
 public:
  Comparison(const LoggedStart& start, const BudgetedSystem& system, ReplayedStart& into)
      : start_(start), b_(system.budget), into_(into) {
    unified_ = system.resolved.device.memory_model == MemoryModel::unified;
    one_stage_ = system.resolved.sharding.pipeline == 1;
  }

  void run() {
    const Json& logged = start_.logged;
    const bool sized = !b_.failure;
    if (logged.contains("model_buffer_mib") || logged.contains("kv_size_mib")) {
      buffers();
      return;
    }
    compare(LoggedFigure::kv_gib, first_of(logged, kPoolKeys),
            gib_from_bytes(b_.kv_available_bytes));
    if (sized) {
      compare(LoggedFigure::kv_tokens, first_of(logged, kTokenKeys),
              static_cast<double>(b_.kv_tokens));
    } else if (b_.layout.uniform() && b_.layout.block_bytes > 0) {
      const BlockCount blocks = b_.kv_available_bytes / b_.layout.block_bytes;
      compare(LoggedFigure::kv_tokens, number_in(logged, "max_kv_tokens", OfList::first),
              static_cast<double>(blocks * b_.layout.block_tokens));
    }
    compare(LoggedFigure::weights_gib, first_of(logged, kWeightKeys), weights());
  }

 private:
  void compare(LoggedFigure figure, std::optional<double> logged, double modelled) {
    if (logged && *logged > 0) into_.figures.push_back({figure, *logged, modelled});
  }

  [[nodiscard]] double gib(MemoryPurpose purpose) const {
    return gib_from_bytes(b_.terms[purpose]);
  }

  // Engines log the drafter's weights with the model's.
  [[nodiscard]] double weights() const {
    return gib(MemoryPurpose::weights) + gib(MemoryPurpose::drafter);
  }

  void buffers() {
    const Json& logged = start_.logged;
    if (b_.failure) return;
    // The budget is of the fullest of several devices.
    const std::string device = one_stage_ ? "" : fullest_device(logged);
    if (!one_stage_ && device.empty()) return;
    const auto of = [&](std::string_view key) {
      return buffers_gib(logged, key, unified_, device);
    };
    double states = of("rs_buffer_mib").value_or(0);
    if (one_stage_ && logged.contains("recurrent_mib")) {
      states = sum_of(logged.at("recurrent_mib")) / kMibPerGib;
    }
    std::optional<double> cache = of("kv_buffer_mib");
    if (!cache && logged.contains("kv_size_mib")) {
      cache = sum_of(logged.at("kv_size_mib")) / kMibPerGib;
    }
    if (cache) compare(LoggedFigure::kv_gib, *cache + states, gib(MemoryPurpose::kv_pool));
    const double mapped = gib_from_bytes(b_.mapped_weight_bytes);
    compare(LoggedFigure::weights_gib, of("model_buffer_mib"), weights() + mapped);
    compare(LoggedFigure::compute_gib, of("compute_buffer_mib"), gib(MemoryPurpose::activations));
  }

  const LoggedStart& start_;
  const MemoryBudget& b_;
  ReplayedStart& into_;
  bool unified_ = false;
  bool one_stage_ = true;
};

ReplayedStart replayed(const LoggedStart& start, const StartScenario& made,
                       const BudgetedSystem& system) {
  ReplayedStart row;
  row.id = start.id;
  row.engine = start.engine->launch->title;
  row.release = start.release;
  row.device = system.resolved.device.id;
  if (start.devices > 1) row.device += fmt::format(" x{}", start.devices);
  row.chooses = start.chooses;
  row.notes = made.notes;
  row.logged = logged_end(start);
  if (const auto& failure = system.budget.failure) {
    row.modelled = {false, failure->stage};
    row.failure = failure->message;
  }
  const std::vector<std::string>& warnings = system.resolved.warnings;
  row.notes.insert(row.notes.end(), warnings.begin(), warnings.end());
  Comparison(start, system, row).run();
  return row;
}

ErrorSpread spread_of(std::vector<std::pair<double, std::string>> errors) {
  ErrorSpread spread;
  spread.rows = std::ssize(errors);
  if (errors.empty()) return spread;
  std::ranges::stable_sort(errors, {}, [](const auto& error) { return size_of(error.first); });
  double sum = 0;
  for (const auto& [error, id] : errors) sum += size_of(error);
  spread.mean = sum / static_cast<double>(errors.size());
  const std::size_t half = errors.size() / 2;
  spread.median = size_of(errors[half].first);
  if (errors.size() % 2 == 0) spread.median = (spread.median + size_of(errors[half - 1].first)) / 2;
  spread.worst = errors.back().first;
  spread.worst_id = errors.back().second;
  return spread;
}

}  // namespace

std::string_view name_of(LoggedFigure figure) {
  static constexpr std::array<std::string_view, kLoggedFigures> kNames{
      "KV pool", "KV tokens", "weights", "compute buffers"};
  return kNames[static_cast<std::size_t>(figure)];
}

const ComparedFigure* ReplayedStart::pool() const {
  for (const LoggedFigure figure : {LoggedFigure::kv_gib, LoggedFigure::kv_tokens}) {
    const auto found = std::ranges::find(figures, figure, &ComparedFigure::figure);
    if (found != figures.end()) return &*found;
  }
  return nullptr;
}

bool ReplayedStart::same_end() const {
  if (!logged || logged->started != modelled.started) return false;
  if (logged->started || !logged->stage || !modelled.stage) return true;
  return *logged->stage == *modelled.stage ||
         (is_sizing(*logged->stage) && is_sizing(*modelled.stage));
}

namespace {

void replay_start(const LoggedStart& start, const Catalog& catalog, StartupValidation& validation) {
  StartScenario made = start_scenario(start, catalog);
  if (made.why.empty()) {
    try {
      const BudgetedSystem system = budget_system(made.scenario, catalog);
      validation.replayed.push_back(replayed(start, made, system));
      return;
    } catch (const ConfigError& error) {
      made.why = error.what();
    }
  }
  validation.unplayed.push_back({start.id, start.engine_name, start.chooses, made.why});
}

}  // namespace

StartupValidation validate_startups(const std::filesystem::path& directory,
                                    const Catalog& catalog) {
  StartupValidation validation;
  for (const LoggedStart& start : read_logged_starts(directory)) {
    try {
      replay_start(start, catalog, validation);
    } catch (const Json::exception& error) {  // a figure or flag of another type
      throw DataError(fmt::format("{}: {}: {}", start.file, start.id, error.what()));
    }
  }
  return validation;
}

ErrorSpread spread_of_pools(const StartupValidation& validation, const StartFilter& belongs) {
  std::vector<std::pair<double, std::string>> errors;
  for (const ReplayedStart& start : validation.replayed) {
    const ComparedFigure* pool = start.pool();
    if (pool != nullptr && belongs(start)) errors.emplace_back(pool->error(), start.id);
  }
  return spread_of(std::move(errors));
}

ErrorSpread spread_of_figure(const StartupValidation& validation, LoggedFigure figure,
                             const StartFilter& belongs) {
  std::vector<std::pair<double, std::string>> errors;
  for (const ReplayedStart& start : validation.replayed) {
    const auto found = std::ranges::find(start.figures, figure, &ComparedFigure::figure);
    if (found != start.figures.end() && belongs(start))
      errors.emplace_back(found->error(), start.id);
  }
  return spread_of(std::move(errors));
}

EndCount count_ends(const StartupValidation& validation, const StartFilter& belongs) {
  EndCount count;
  for (const ReplayedStart& start : validation.replayed) {
    if (!start.logged || !belongs(start)) continue;
    ++count.rows;
    count.same += start.same_end() ? 1 : 0;
  }
  return count;
}

}  // namespace headroom
