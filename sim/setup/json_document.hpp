#pragma once
// Strict reading of a user's JSON: comments are allowed, duplicate keys are errors, and every error
// is one line `file: /json/pointer: value X: what is allowed (nearest: Y)` as a ConfigError.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/kernel/errors.hpp"

namespace headroom {

using Json = nlohmann::ordered_json;

struct JsonDocument {
  std::string name;  // as errors call it: the path the user gave
  Json root;
  std::map<std::string, std::string> overrides;  // JSON pointer -> the flag that set it
};

// Text larger than this is not a scenario.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxJsonDepth = 64;

[[nodiscard]] JsonDocument parse_json(std::string_view text, std::string name);
[[nodiscard]] JsonDocument read_json_file(const std::string& path);

// Sets `a.b.c=value` in the document, creating objects on the way. The value is read as JSON, and
// as a string when it is not JSON. `flag` is how errors and provenance name its origin.
void set_value(JsonDocument& document, std::string_view assignment);

// Who set the value at `pointer`: a flag, else the file.
[[nodiscard]] std::string origin_of(const JsonDocument& document, const std::string& pointer);

// `nearest` may be empty. `value` is shown shortened, on one line.
[[nodiscard]] ConfigError value_error(const JsonDocument& document, const std::string& pointer,
                                      const Json& value, std::string_view allowed,
                                      std::string_view nearest = {});
[[nodiscard]] ConfigError key_error(const JsonDocument& document, const std::string& pointer,
                                    std::string_view problem, std::string_view nearest = {});

// One key of a JSON pointer, on one line.
[[nodiscard]] std::string pointer_token(std::string_view key);

}  // namespace headroom
