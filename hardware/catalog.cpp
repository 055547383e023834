#include "hardware/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "hardware/catalog_rows.hpp"
#include "hardware/llm/hf_config.hpp"
#include "sim/kernel/embedded_file.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/lower_case.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/kernel/text_file.hpp"

namespace headroom {

[[nodiscard]] std::span<const EmbeddedFile> catalog_files();  // generated, cmake/EmbedFiles.cmake

namespace {

constexpr std::array<std::string_view, 5> kFiles{"models.json", "devices.json", "environments.json",
                                                 "calibrations.json", "between_kernels.json"};
constexpr std::string_view kFileNames =
    "models.json, devices.json, environments.json, calibrations.json, between_kernels.json";

template <typename Value>
std::vector<std::string> ids_of(const std::map<std::string, Value, std::less<>>& rows) {
  std::vector<std::string> ids;
  ids.reserve(rows.size());
  for (const auto& [id, row] : rows) ids.push_back(id);
  return ids;
}

// The known names that go on from `name`.
std::vector<std::string> longer_names(std::string_view name,
                                      const std::vector<std::string>& known) {
  const std::string plain = plain_letters(name.substr(name.find_last_of('/') + 1));
  std::vector<std::string> found;
  for (const std::string& one : known) {
    if (plain.size() > 2 && plain_letters(one).starts_with(plain)) found.push_back(one);
  }
  return found;
}

// The known name that stands in `name`, as that of the base model does in a fine-tune's; of several
// the one that ends last. A number of `name` is never cut.
std::string name_within(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kShortest = 5;  // letters
  const std::string text = plain_letters(name.substr(name.find_last_of('/') + 1));
  const auto is_digit = [&text](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  std::string found;
  std::size_t found_end = 0;
  for (const std::string& one : known) {
    const std::string part = plain_letters(one);
    const std::size_t at = text.rfind(part);
    if (part.size() < kShortest || at == std::string::npos) continue;
    const std::size_t end = at + part.size();
    if (is_digit(end) || (at > 0 && is_digit(at) && is_digit(at - 1))) continue;
    if (end < found_end || (end == found_end && one.size() < found.size())) continue;
    found = one;
    found_end = end;
  }
  return found;
}

void check_kernels_of(const DeviceSpec& device, const std::string& shown_as) {
  if (!device.kernels_of) return;
  const std::vector<std::string> measured = KernelLibrary::systems();
  const auto has_times = [&](const std::string& id) {
    return std::ranges::count(measured, id) > 0;
  };
  const std::string& named = device.kernels_of->device;
  if (has_times(device.id)) {
    throw ConfigError(
        Complaint{.origin = shown_as,
                  .problem = fmt::format(
                      "device {}: kernels_of: the device has kernel times of its own", device.id)});
  }
  if (has_times(named)) return;
  throw ConfigError(Complaint{
      .origin = shown_as,
      .problem =
          fmt::format("device {}: kernels_of/device: value {}: expected a device with kernel "
                      "times ({})",
                      device.id, named, comma_list(measured)),
      .nearest = nearest_name(named, measured)});
}

// One slip away from one of `near` is what was meant; else the name of `known` that goes on from
// it, or all that do.
ConfigError unknown_name(std::string_view name, std::string_view kind,
                         const std::vector<std::string>& near,
                         const std::vector<std::string>& known) {
  constexpr std::size_t kMostShown = 12;
  std::string nearest = nearest_name(name, near);
  std::string list;
  std::vector<std::string> longer = longer_names(name, known);
  // "gemma-2" may be gemma-2b, one letter away, or gemma-2-9b.
  const bool goes_on = std::ranges::find(longer, nearest) != longer.end() &&
                       std::ranges::any_of(longer, [&](const std::string& one) {
                         return !plain_letters(one).starts_with(plain_letters(nearest));
                       });
  if (nearest.empty() || goes_on || edit_distance(name, nearest) > 1) {
    const bool cut = longer.size() > kMostShown;
    if (cut) longer.resize(kMostShown);
    if (longer.size() == 1) nearest = longer.front();
    if (longer.size() > 1) {
      nearest.clear();
      list = fmt::format("it may be each of {}{}", comma_list(longer), cut ? ", ..." : "");
    }
  }
  if (list.empty() && nearest.empty()) nearest = name_within(name, known);
  if (list.empty() && nearest.empty()) list = fmt::format("see: headroom list {}s", kind);
  return ConfigError(Complaint{.kind = ErrorKind::unknown,
                               .problem = fmt::format("unknown {} '{}'", kind, name),
                               .nearest = nearest,
                               .context = list});
}

template <typename Value>
const Value& find_row(const std::map<std::string, Value, std::less<>>& rows, std::string_view id,
                      std::string_view kind) {
  const auto found = rows.find(id);
  if (found != rows.end()) return found->second;
  const std::vector<std::string> ids = ids_of(rows);
  throw unknown_name(id, kind, ids, ids);
}

ModelSpec read_row(const ModelRow& row, const HfText& overrides) {
  const std::string quantization =
      row.quantization.empty() ? "" : fmt::format("{{\"quantization\": {}}}", row.quantization);
  ModelSpec model = read_hf_config({row.config, row.shown_as + "/config"},
                                   {quantization, row.shown_as}, overrides);
  model.id = row.id;
  model.hf_repo = row.hf_repo;
  model.pooling = model.pooling || row.pooling;
  model.source = row.source;
  return model;
}

template <typename Value>
void put_rows(std::map<std::string, Value, std::less<>>& rows, std::vector<Value> values,
              const std::string& shown_as) {
  std::map<std::string, bool> seen;
  for (Value& value : values) {
    if (!seen.emplace(value.id, true).second) {
      throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                                  .origin = shown_as,
                                  .problem = fmt::format("id '{}' occurs twice", value.id)});
    }
    const std::string id = value.id;
    rows.insert_or_assign(id, std::move(value));
  }
}

}  // namespace

Catalog Catalog::embedded() {
  Catalog catalog;
  for (const EmbeddedFile& file : catalog_files()) {
    const std::string shown_as = fmt::format("(built in) {}", file.name);
    if (file.name == "models.json") {
      catalog.models_.set_built_in(file.content, shown_as);
    } else {
      catalog.overlay_text(file.name, file.content, shown_as);
    }
  }
  return catalog;
}

void Catalog::overlay(const std::filesystem::path& directory) {
  bool found = false;
  for (const std::string_view name : kFiles) {
    const std::filesystem::path path = directory / name;
    if (!is_there(path)) continue;
    const std::string text = read_text_file(path);
    overlay_text(name, text, path.string());
    // The user's rows are read at once: a bad one is known before any work.
    if (name == "models.json") {
      for (const ModelRow& row : parse_models(text, path.string())) {
        static_cast<void>(read_row(row, {}));
      }
    }
    found = true;
  }
  if (!found) {
    throw ConfigError(
        fmt::format("catalog directory {}: contains none of {}", directory.string(), kFileNames));
  }
}

void Catalog::overlay_text(std::string_view name, std::string_view text,
                           const std::string& shown_as) {
  if (name == "models.json") {
    std::map<std::string, ModelRow, std::less<>> rows;
    put_rows(rows, parse_models(text, shown_as), shown_as);
    for (auto& [id, row] : rows) models_.put(std::move(row));
  } else if (name == "environments.json") {
    put_rows(environments_, parse_environments(text, shown_as), shown_as);
  } else if (name == "devices.json") {
    put_rows(devices_, parse_devices(text, shown_as), shown_as);
    libraries_ = std::make_shared<KernelLibraries>();  // those of the devices before
    for (auto& [id, device] : devices_) {
      if (!device.same_chip_as.empty()) {
        const auto chip = devices_.find(device.same_chip_as);
        if (chip == devices_.end()) {
          throw ConfigError(Complaint{
              .origin = shown_as,
              .problem = fmt::format("device {}: same_chip_as: value {}: expected the id of a "
                                     "device",
                                     id, device.same_chip_as)});
        }
        if (!device.kernels_of) device.kernels_of = chip->second.kernels_of;
      }
      check_kernels_of(device, shown_as);
    }
  } else if (name == "calibrations.json") {
    put_rows(calibrations_, parse_calibrations(text, shown_as), shown_as);
  } else if (name == "between_kernels.json") {
    put_rows(between_kernels_, parse_between_kernels(text, shown_as), shown_as);
  } else {
    throw ConfigError(Complaint{.origin = std::string(name),
                                .problem = fmt::format("not a catalog file ({})", kFileNames)});
  }
}

bool Catalog::has_model(std::string_view id) const { return models_.find(id).has_value(); }

std::string Catalog::model_called(std::string_view name) const { return models_.called(name); }

std::string Catalog::repository_called(std::string_view name) const {
  const std::optional<ModelRow> row = models_.find(model_called(name));
  if (!row) return "";
  std::vector<std::string> repositories = row->aliases;
  repositories.push_back(row->hf_repo);
  const auto found = std::ranges::find_if(repositories, [&](const std::string& repository) {
    return lower_case(repository.substr(repository.find('/') + 1)) == lower_case(std::string(name));
  });
  return found == repositories.end() ? "" : *found;
}

ModelSpec Catalog::model(std::string_view id, const std::filesystem::path& overrides) const {
  const std::optional<ModelRow> row = models_.find(id);
  if (!row) {
    const std::vector<std::string> ids = models_.ids();
    throw unknown_name(id, "model", ids, ids);
  }
  if (overrides.empty()) return read_row(*row, {});
  const std::string text = read_text_file(overrides);
  return read_row(*row, {text, overrides.string()});
}

ModelSpec Catalog::model_in_16_bits(std::string_view id) const {
  const std::optional<ModelRow> row = models_.find(id);
  return row ? read_row(not_quantised(*row), {}) : model(id);
}

const DeviceSpec& Catalog::device(std::string_view name) const {
  const auto exact = devices_.find(name);
  if (exact != devices_.end()) return exact->second;
  std::string id(name);  // "M4-Max" is m4-max, where "M4 Max" may be any of them
  id = lower_case(std::move(id));
  const auto written = devices_.find(id);
  if (written != devices_.end()) return written->second;
  const std::vector<std::string> called = devices_called(name, devices_);
  if (called.size() == 1) return devices_.find(called.front())->second;
  const auto usual = devices_.find(usual_of(name, called, devices_));
  if (usual != devices_.end()) return usual->second;
  if (called.empty()) {
    const std::vector<std::string> ids = ids_of(devices_);
    ConfigError error = unknown_name(name, "device", ids_of_same_number(name, ids), ids);
    Complaint complaint = error.complaint();
    const std::string other = other_memory_of(name, devices_);
    const std::vector<std::string> like = ids_like(name, ids);
    if (!other.empty()) {
      complaint.nearest.clear();
      complaint.context = other;
    } else if (complaint.nearest.empty() && !like.empty()) {
      complaint.context += fmt::format("; similar: {}", comma_list(like));
    }
    throw ConfigError(complaint);
  }
  throw ConfigError(Complaint{
      .kind = ErrorKind::unknown,
      .problem = fmt::format("device '{}' may be each of {}: name one", name, comma_list(called))});
}

std::vector<std::string> Catalog::devices_also_called(std::string_view name) const {
  const std::string& meant = device(name).id;
  if (meant == lower_case(std::string(name))) return {};
  std::vector<std::string> ids = devices_called(name, devices_);
  std::erase(ids, meant);
  return ids;
}

const Environment& Catalog::environment(std::string_view id) const {
  return find_row(environments_, id, "environment");
}

const Calibration& Catalog::calibration(std::string_view id) const {
  return find_row(calibrations_, id, "calibration");
}

// By the device's name: kernel times are of the chip as it is sold. A device of another clock or
// bandwidth share has a library of its own.
KernelLibrary Catalog::kernel_library(const DeviceSpec& device, KernelEngine engine) const {
  const auto own = devices_.find(device.id);
  const bool as_sold = own != devices_.end() &&
                       own->second.bandwidth_bytes_per_s == device.bandwidth_bytes_per_s &&
                       own->second.fp16_flops == device.fp16_flops;
  if (!as_sold) return KernelLibrary(device, engine);
  const std::lock_guard lock(libraries_->mutex);
  const auto key = std::pair(device.id, engine);
  const auto found = libraries_->parsed.find(key);
  if (found != libraries_->parsed.end()) return found->second;
  return libraries_->parsed.emplace(key, KernelLibrary(device, engine)).first->second;
}

const BetweenKernels* Catalog::between_kernels(std::string_view engine) const {
  const auto found = between_kernels_.find(engine);
  return found == between_kernels_.end() ? nullptr : &found->second;
}

std::vector<std::string> Catalog::model_ids() const { return models_.ids(); }
std::vector<std::string> Catalog::device_ids() const { return ids_of(devices_); }
std::vector<std::string> Catalog::environment_ids() const { return ids_of(environments_); }
std::vector<std::string> Catalog::calibration_ids() const { return ids_of(calibrations_); }
std::vector<std::string> Catalog::between_kernels_ids() const { return ids_of(between_kernels_); }

}  // namespace headroom
