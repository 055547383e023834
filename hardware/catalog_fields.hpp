#pragma once
// One JSON object of a catalog file, read strictly: wrong types, values out of range and unknown
// keys are ConfigErrors with file and JSON pointer.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/errors.hpp"

namespace headroom {

// Remembers which keys were asked for, so that `finish` can refuse the others.
class CatalogFields {
 public:
  using Json = nlohmann::json;

  // `json` outlives this. `pointer`: its place in `file`.
  CatalogFields(const Json& json, std::string file, std::string pointer);

  [[nodiscard]] bool has(const std::string& key) const { return json_.contains(key); }
  [[nodiscard]] std::string place() const { return file_ + ": " + pointer_; }
  // The value at `key`; null when absent.
  [[nodiscard]] const Json* find(const std::string& key);

  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t low);  // up to 1e15
  [[nodiscard]] std::int64_t integer_or(const std::string& key, std::int64_t low,
                                        std::int64_t absent);
  // `scale` turns the unit of the file into the unit of the field.
  [[nodiscard]] double number(const std::string& key, double low, double scale);  // up to 1e12
  [[nodiscard]] double number_between(const std::string& key, double low, double high,
                                      double scale);
  // Above 0, where given.
  [[nodiscard]] std::optional<double> rate(const std::string& key, double scale,
                                           double most = 1e12);
  [[nodiscard]] std::optional<double> number_up_to(const std::string& key, double high);  // from 0
  [[nodiscard]] bool flag(const std::string& key, bool absent = false);
  [[nodiscard]] std::string text(const std::string& key);  // not empty
  [[nodiscard]] std::string text_or_empty(const std::string& key);
  // Lists; empty when absent.
  [[nodiscard]] std::vector<std::string> texts(const std::string& key);
  [[nodiscard]] std::vector<std::string> paragraphs(const std::string& key);  // or lists of lines
  [[nodiscard]] std::vector<double> numbers(const std::string& key);
  [[nodiscard]] std::vector<CatalogFields> objects(const std::string& key);
  [[nodiscard]] std::optional<CatalogFields> object(const std::string& key);
  // An object as JSON text, read later by another reader; empty when absent and not required.
  [[nodiscard]] std::string json_text(const std::string& key, bool required);

  // Call last: every key that was not asked for is unknown.
  void finish() const;

  // The value at `key` is not what it has to be.
  [[nodiscard]] ConfigError error(const std::string& key, std::string_view allowed) const;

 private:
  [[nodiscard]] const Json* find_list(const std::string& key, std::string_view allowed);

  const Json& json_;
  std::string file_;
  std::string pointer_;
  std::set<std::string> known_;
};

}  // namespace headroom
