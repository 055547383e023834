#pragma once
// Reads rows of the catalog files. Strict: an unknown key, a wrong type or a number out of range is
// a ConfigError with file and JSON pointer.

#include <string>
#include <string_view>
#include <vector>

#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "hardware/llm.hpp"

namespace headroom {

// `file` is what errors call the text.
[[nodiscard]] std::vector<ModelSpec> parse_models(std::string_view text, const std::string& file);
[[nodiscard]] std::vector<DeviceSpec> parse_devices(std::string_view text, const std::string& file);
[[nodiscard]] std::vector<Calibration> parse_calibrations(std::string_view text,
                                                          const std::string& file);

}  // namespace headroom
