#include "hardware/catalog.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <span>
#include <sstream>

#include "hardware/catalog_rows.hpp"
#include "sim/kernel/embedded_file.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {

[[nodiscard]] std::span<const EmbeddedFile> catalog_files();  // generated, cmake/EmbedFiles.cmake

namespace {

constexpr std::array<std::string_view, 3> kFiles{"models.json", "devices.json",
                                                 "calibrations.json"};
constexpr std::string_view kFileNames = "models.json, devices.json, calibrations.json";

template <typename Value>
std::vector<std::string> ids_of(const std::map<std::string, Value, std::less<>>& rows) {
  std::vector<std::string> ids;
  ids.reserve(rows.size());
  for (const auto& [id, row] : rows) ids.push_back(id);
  return ids;
}

template <typename Value>
const Value& find_row(const std::map<std::string, Value, std::less<>>& rows, std::string_view id,
                      std::string_view kind) {
  const auto found = rows.find(id);
  if (found != rows.end()) return found->second;
  const std::string nearest = nearest_name(id, ids_of(rows));
  throw ConfigError(fmt::format("unknown {} '{}'{}", kind, id,
                                nearest.empty() ? fmt::format(" (see: headroom list {}s)", kind)
                                                : fmt::format(" (nearest: {})", nearest)));
}

template <typename Value>
void put_rows(std::map<std::string, Value, std::less<>>& rows, std::vector<Value> values,
              const std::string& shown_as) {
  std::map<std::string, bool> seen;
  for (Value& value : values) {
    if (!seen.emplace(value.id, true).second) {
      throw ConfigError(fmt::format("{}: id '{}' occurs twice", shown_as, value.id));
    }
    const std::string id = value.id;
    rows.insert_or_assign(id, std::move(value));
  }
}

}  // namespace

Catalog Catalog::embedded() {
  Catalog catalog;
  for (const EmbeddedFile& file : catalog_files()) {
    catalog.overlay_text(file.name, file.content, fmt::format("(built in) {}", file.name));
  }
  return catalog;
}

void Catalog::overlay(const std::filesystem::path& directory) {
  bool found = false;
  for (const std::string_view name : kFiles) {
    const std::filesystem::path path = directory / name;
    if (!std::filesystem::exists(path)) continue;
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream) throw ConfigError(fmt::format("{}: cannot be read", path.string()));
    overlay_text(name, text.str(), path.string());
    found = true;
  }
  if (!found) {
    throw ConfigError(
        fmt::format("catalog directory {}: holds none of {}", directory.string(), kFileNames));
  }
}

void Catalog::overlay_text(std::string_view name, std::string_view text,
                           const std::string& shown_as) {
  if (name == "models.json") {
    put_rows(models_, parse_models(text, shown_as), shown_as);
  } else if (name == "devices.json") {
    put_rows(devices_, parse_devices(text, shown_as), shown_as);
  } else if (name == "calibrations.json") {
    put_rows(calibrations_, parse_calibrations(text, shown_as), shown_as);
  } else {
    throw ConfigError(fmt::format("{}: not a catalog file ({})", name, kFileNames));
  }
}

const ModelSpec& Catalog::model(std::string_view id) const {
  for (const auto& [known, model] : models_) {
    if (!model.hf_repo.empty() && model.hf_repo == id) return model;
  }
  return find_row(models_, id, "model");
}

const DeviceSpec& Catalog::device(std::string_view id) const {
  return find_row(devices_, id, "device");
}

const Calibration& Catalog::calibration(std::string_view id) const {
  return find_row(calibrations_, id, "calibration");
}

std::vector<std::string> Catalog::model_ids() const { return ids_of(models_); }
std::vector<std::string> Catalog::device_ids() const { return ids_of(devices_); }
std::vector<std::string> Catalog::calibration_ids() const { return ids_of(calibrations_); }

}  // namespace headroom
