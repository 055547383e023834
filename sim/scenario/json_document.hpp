#pragma once
// Strict reading of a user's JSON: comments are allowed, duplicate keys are errors, and every error
// is one line `file: /json/pointer: value X: what is allowed (nearest: Y)` as a ConfigError.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/options/json.hpp"

namespace headroom {

struct JsonDocument {
  std::string name;  // as errors call it: the path the user gave
  Json root;
  std::map<std::string, std::string> overrides;  // JSON pointer -> the flag that set it
};

inline constexpr std::size_t kMaxJsonDepth = 64;

[[nodiscard]] JsonDocument parse_json(std::string_view text, std::string name);
[[nodiscard]] JsonDocument read_json_file(const std::string& path);

// Sets `a.b.c=value` in the document, creating objects on the way. The value is read as JSON, and
// as a string when it is not JSON. Errors and provenance call it `given_as`, or
// `--set a.b.c=value`.
void set_value(JsonDocument& document, std::string_view assignment,
               const std::string& given_as = {});

// The keys of a path: `engine.max_num_seqs`, or a JSON pointer `/engine/max_num_seqs`. Elements of
// lists are numbers. ConfigError on an empty name, about `pointer` in `origin`, where the path is.
[[nodiscard]] std::vector<std::string> path_keys(std::string_view path, const std::string& origin,
                                                 const std::string& pointer = {});
[[nodiscard]] std::string pointer_of(std::span<const std::string> keys);
// Sets the value at that place, creating objects on the way. `origin` is who set it: errors and
// provenance name it.
void set_at(JsonDocument& document, std::span<const std::string> keys, Json value,
            const std::string& origin);

// The key of a section that is written as one value: {"device": "h100-sxm"} names a device,
// {"prompt": 3000} gives its tokens. `pointer`: of the section.
[[nodiscard]] std::string_view main_key(std::string_view pointer);

// Who set the value at `pointer`: a flag, else the file.
[[nodiscard]] std::string origin_of(const JsonDocument& document, const std::string& pointer);

// `nearest` may be empty. `value` is shown shortened, on one line.
[[nodiscard]] ConfigError value_error(const JsonDocument& document, const std::string& pointer,
                                      const Json& value, std::string_view allowed,
                                      std::string_view nearest = {},
                                      ErrorKind kind = ErrorKind::value);
// About a key, or about what no value can be shown of.
[[nodiscard]] ConfigError key_error(const JsonDocument& document, const std::string& pointer,
                                    std::string_view problem, ErrorKind kind,
                                    std::string_view nearest = {});

// One key of a JSON pointer, on one line.
[[nodiscard]] std::string pointer_token(std::string_view key);

}  // namespace headroom
