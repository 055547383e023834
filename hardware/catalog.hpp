#pragma once
// The data of the project: models, devices and calibrations. Embedded in the binary; a directory
// with files of the same names (models.json, devices.json, calibrations.json) adds rows or replaces
// them.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "hardware/llm.hpp"

namespace headroom {

class Catalog {
 public:
  [[nodiscard]] static Catalog embedded();

  // ConfigError with file and JSON pointer on bad content, or when the directory holds none of the
  // files.
  void overlay(const std::filesystem::path& directory);
  // The rows of one file: `name` is one of the three file names, `shown_as` what errors call it.
  void overlay_text(std::string_view name, std::string_view text, const std::string& shown_as);

  // ConfigError naming the nearest known id. A model is also found by its Hugging Face name.
  [[nodiscard]] const ModelSpec& model(std::string_view id) const;
  [[nodiscard]] const DeviceSpec& device(std::string_view id) const;
  [[nodiscard]] const Calibration& calibration(std::string_view id) const;

  // In the order of their ids.
  [[nodiscard]] std::vector<std::string> model_ids() const;
  [[nodiscard]] std::vector<std::string> device_ids() const;
  [[nodiscard]] std::vector<std::string> calibration_ids() const;
  [[nodiscard]] const std::map<std::string, Calibration, std::less<>>& calibrations() const {
    return calibrations_;
  }

 private:
  std::map<std::string, ModelSpec, std::less<>> models_;
  std::map<std::string, DeviceSpec, std::less<>> devices_;
  std::map<std::string, Calibration, std::less<>> calibrations_;
};

}  // namespace headroom
