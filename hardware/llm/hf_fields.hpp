#pragma once
// Typed, strict access to the fields of a config.json: wrong types and values are errors with file
// and JSON pointer, missing fields are collected so that one error names them all.

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/errors.hpp"

namespace headroom {

using HfJson = nlohmann::json;
using HfKeys = std::initializer_list<std::string_view>;  // spellings of one field, best first

// Larger than any field of a model, small enough that products of a few stay below 2^63.
inline constexpr std::int64_t kHfLargest = std::int64_t{1} << 24;

// What the objects of one config share while it is read.
struct HfLog {
  std::string file;
  std::string architecture;
  std::string hint;                  // beside `architecture` where something is missing
  std::vector<std::string> missing;  // JSON pointers
  std::vector<std::string> notes;
  std::set<std::string, std::less<>> read;  // names of the fields that were looked at

  void note(std::string text);  // once each
  // ConfigError that names every missing field and shows an override file; nothing when none is.
  void check_complete() const;
};

class HfFields {
 public:
  // `object` and `log` outlive this. `pointer` is where the object is: "" or "/text_config".
  HfFields(const HfJson& object, std::string pointer, HfLog& log);

  [[nodiscard]] bool has(std::string_view key) const;                         // there and not null
  [[nodiscard]] std::optional<std::int64_t> find_integer(HfKeys keys) const;  // 0 or more
  // At least 1. If missing, that is noted and 1 is returned, so that reading continues and finds
  // everything missing.
  [[nodiscard]] std::int64_t integer(HfKeys keys) const;
  [[nodiscard]] std::int64_t integer_or(HfKeys keys, std::int64_t fallback) const;
  // 0 to `most`.
  [[nodiscard]] std::int64_t bounded(std::string_view key, std::int64_t fallback,
                                     std::int64_t most) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  [[nodiscard]] std::string text(std::string_view key) const;                    // empty: not there
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;  // booleans: 0, 1
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  [[nodiscard]] std::optional<HfFields> object(std::string_view key) const;
  [[nodiscard]] bool is_list(std::string_view key) const;
  [[nodiscard]] bool is_text(std::string_view key) const;

  void missing(std::string_view key) const;
  // The value at `key` is not what it has to be. Missing fields, if any, are the better message.
  [[nodiscard]] ConfigError error(std::string_view key, std::string_view allowed) const;
  [[nodiscard]] HfLog& log() const { return *log_; }
  [[nodiscard]] const HfJson& json() const { return *object_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }

 private:
  [[nodiscard]] const HfJson* find(std::string_view key) const;
  [[nodiscard]] std::int64_t checked(std::string_view key, const HfJson& value,
                                     std::int64_t least) const;

  const HfJson* object_;
  std::string pointer_;
  HfLog* log_;
};

// Python's json writes Infinity and NaN, which JSON does not have: read as null. Comments are not
// allowed. ConfigError with the file when the text is not a JSON object.
[[nodiscard]] HfJson parse_hf_json(std::string_view text, std::string_view file);

}  // namespace headroom
