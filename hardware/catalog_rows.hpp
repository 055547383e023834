#pragma once
// Reads rows of the catalog files. Strict: an unknown key, a wrong type or a number out of range is
// a ConfigError with file and JSON pointer.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/between_kernels.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"

namespace headroom {

// A model of the catalog is its config.json, reduced to what carries geometry: read when asked for.
struct ModelRow {
  std::string id;
  std::string hf_repo;
  std::vector<std::string> aliases;  // other repositories of the same geometry
  std::string source;
  std::string config;        // JSON text
  bool pooling = false;      // makes vectors of prompts, as its repository says (modules.json)
  std::string quantization;  // body of hf_quant_config.json; may be empty
  std::string shown_as;      // "file: /models/3", for errors
};

// `file` is what errors call the text.
[[nodiscard]] std::vector<ModelRow> parse_models(std::string_view text, const std::string& file);
// One row of such a file, the `number`th from 0.
[[nodiscard]] ModelRow parse_model_row(std::string_view row, const std::string& file,
                                       std::size_t number);
// The row without what it says of formats: weights in the model's own dtype.
[[nodiscard]] ModelRow not_quantised(ModelRow row);
[[nodiscard]] std::vector<DeviceSpec> parse_devices(std::string_view text, const std::string& file);
[[nodiscard]] std::vector<BetweenKernels> parse_between_kernels(std::string_view text,
                                                                const std::string& file);
[[nodiscard]] std::vector<Calibration> parse_calibrations(std::string_view text,
                                                          const std::string& file);

}  // namespace headroom
