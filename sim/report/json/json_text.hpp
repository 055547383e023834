#pragma once
// JSON as the program prints it.

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

// Indented by two, with a newline at the end. Names of files and classes may be no UTF-8: what is
// not is replaced.
[[nodiscard]] inline std::string json_text(const nlohmann::ordered_json& json) {
  using Handler = nlohmann::ordered_json::error_handler_t;
  return json.dump(2, ' ', false, Handler::replace) + "\n";
}

// null for an absent one.
[[nodiscard]] nlohmann::ordered_json optional_json(const auto& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace headroom
