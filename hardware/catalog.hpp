#pragma once
// The data of the project: models, devices, environments, calibrations and what lies
// between kernels. Embedded in the binary;
// a directory with files of the same names (models.json, devices.json, environments.json,
// calibrations.json, between_kernels.json) adds rows or replaces them.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/between_kernels.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "hardware/device_names.hpp"
#include "hardware/environment.hpp"
#include "hardware/kernels/kernel_library.hpp"
#include "hardware/llm/model_spec.hpp"
#include "hardware/model_rows.hpp"

namespace headroom {

class Catalog {
 public:
  [[nodiscard]] static Catalog embedded();

  // ConfigError with file and JSON pointer on bad content, or when the directory holds none of the
  // files.
  void overlay(const std::filesystem::path& directory);
  // The rows of one file: `name` is one of the file names, `shown_as` what errors call it.
  void overlay_text(std::string_view name, std::string_view text, const std::string& shown_as);

  // Takes the place of the row with its id.
  void put(const Calibration& calibration) { calibrations_[calibration.id] = calibration; }
  void put(const BetweenKernels& between) { between_kernels_[between.id] = between; }

  // ConfigError naming the nearest known id. A model is also found by its Hugging Face name;
  // `overrides` is a file merged over its config.json (may be empty).
  [[nodiscard]] ModelSpec model(std::string_view id,
                                const std::filesystem::path& overrides = {}) const;
  // The same before it was quantised.
  [[nodiscard]] ModelSpec model_in_16_bits(std::string_view id) const;
  [[nodiscard]] bool has_model(std::string_view id) const;
  // The id of the model whose repository has this name (in any case, with or without dashes,
  // without the organisation), else empty.
  [[nodiscard]] std::string model_called(std::string_view name) const;
  // "ORG/NAME" of a repository's name without its organisation, in any case, else empty.
  [[nodiscard]] std::string repository_called(std::string_view name) const;
  // By id, else by its name or an alias, in any spelling ("RTX 4090", "nvidia-a40"). ConfigError:
  // none is called so, or several are and it is the usual name of none, which it lists.
  [[nodiscard]] const DeviceSpec& device(std::string_view name) const;
  [[nodiscard]] const Environment& environment(std::string_view id) const;
  [[nodiscard]] const Calibration& calibration(std::string_view id) const;

  // The kernel times of a device (KernelLibrary's constructor), parsed once for all copies of this
  // catalog. From any thread.
  [[nodiscard]] KernelLibrary kernel_library(const DeviceSpec& device, KernelEngine engine) const;
  // Of a cost family; null: none are known.
  [[nodiscard]] const BetweenKernels* between_kernels(std::string_view engine) const;

  [[nodiscard]] bool has_device(std::string_view id) const { return devices_.contains(id); }

  // In the order of their ids.
  [[nodiscard]] std::vector<std::string> model_ids() const;
  [[nodiscard]] std::vector<std::string> device_ids() const;
  // The ids that `name` calls beside the one of device(name).
  [[nodiscard]] std::vector<std::string> devices_also_called(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> environment_ids() const;
  [[nodiscard]] std::vector<std::string> calibration_ids() const;
  [[nodiscard]] std::vector<std::string> between_kernels_ids() const;
  [[nodiscard]] const std::map<std::string, Calibration, std::less<>>& calibrations() const {
    return calibrations_;
  }

 private:
  ModelRows models_;
  DeviceRows devices_;
  std::map<std::string, Environment, std::less<>> environments_;
  std::map<std::string, Calibration, std::less<>> calibrations_;
  std::map<std::string, BetweenKernels, std::less<>> between_kernels_;
  struct KernelLibraries {
    std::mutex mutex;
    std::map<std::pair<std::string, KernelEngine>, KernelLibrary> parsed;
  };
  std::shared_ptr<KernelLibraries> libraries_ = std::make_shared<KernelLibraries>();
};

}  // namespace headroom
