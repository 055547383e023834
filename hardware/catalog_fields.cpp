#include "hardware/catalog_fields.hpp"

#include <fmt/format.h>

#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

constexpr double kSmallestRate = 1e-9;

}  // namespace

CatalogFields::CatalogFields(const Json& json, std::string file, std::string pointer)
    : json_(json), file_(std::move(file)), pointer_(std::move(pointer)) {
  if (!json_.is_object()) {
    throw ConfigError(
        Complaint{.origin = file_, .pointer = pointer_, .problem = "must be an object"});
  }
}

const CatalogFields::Json* CatalogFields::find(const std::string& key) {
  known_.insert(key);
  const auto found = json_.find(key);
  return found == json_.end() ? nullptr : &*found;
}

const CatalogFields::Json* CatalogFields::find_list(const std::string& key,
                                                    std::string_view allowed) {
  const Json* value = find(key);
  if (value != nullptr && !value->is_array()) throw error(key, allowed);
  return value;
}

std::int64_t CatalogFields::integer(const std::string& key, std::int64_t low) {
  const Json* value = find(key);
  // Products of a handful of sizes must stay inside 64 bits.
  if (value == nullptr || !value->is_number_integer() || value->get<double>() < double(low) ||
      value->get<double>() > 1e15) {
    throw error(key, fmt::format("integer from {} to 1e15", low));
  }
  return value->get<std::int64_t>();
}

std::int64_t CatalogFields::integer_or(const std::string& key, std::int64_t low,
                                       std::int64_t absent) {
  return find(key) == nullptr ? absent : integer(key, low);
}

double CatalogFields::number(const std::string& key, double low, double scale) {
  const Json* value = find(key);
  if (value == nullptr || !value->is_number() || !(value->get<double>() >= low) ||
      !(value->get<double>() <= 1e12)) {
    throw error(key, fmt::format("number from {} to 1e12", low));
  }
  return value->get<double>() * scale;
}

double CatalogFields::number_between(const std::string& key, double low, double high,
                                     double scale) {
  const double value = number(key, low, 1);
  if (value > high) throw error(key, fmt::format("number from {} to {}", low, high));
  return value * scale;
}

std::optional<double> CatalogFields::rate(const std::string& key, double scale, double most) {
  if (find(key) == nullptr) return std::nullopt;
  return number_between(key, kSmallestRate, most, scale);
}

std::optional<double> CatalogFields::number_up_to(const std::string& key, double high) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !(value->get<double>() >= 0) || !(value->get<double>() <= high)) {
    throw error(key, fmt::format("number from 0 to {}", high));
  }
  return value->get<double>();
}

bool CatalogFields::flag(const std::string& key, bool absent) {
  const Json* value = find(key);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) throw error(key, "true or false");
  return value->get<bool>();
}

std::string CatalogFields::text(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr || !value->is_string() || value->get<std::string>().empty()) {
    throw error(key, "text");
  }
  return value->get<std::string>();
}

std::string CatalogFields::text_or_empty(const std::string& key) {
  return find(key) == nullptr ? std::string() : text(key);
}

std::vector<std::string> CatalogFields::texts(const std::string& key) {
  constexpr std::string_view kAllowed = "list of texts";
  std::vector<std::string> list;
  const Json* value = find_list(key, kAllowed);
  if (value == nullptr) return list;
  for (const Json& element : *value) {
    if (!element.is_string()) throw error(key, kAllowed);
    list.push_back(element.get<std::string>());
  }
  return list;
}

std::vector<std::string> CatalogFields::paragraphs(const std::string& key) {
  constexpr std::string_view kAllowed = "list of texts, or of lists of lines";
  std::vector<std::string> list;
  const Json* value = find_list(key, kAllowed);
  if (value == nullptr) return list;
  for (const Json& entry : *value) {
    std::string joined;
    for (const Json& line : entry.is_array() ? entry : Json::array({entry})) {
      if (!line.is_string()) throw error(key, kAllowed);
      if (!joined.empty()) joined += ' ';
      joined += line.get<std::string>();
    }
    list.push_back(std::move(joined));
  }
  return list;
}

std::vector<double> CatalogFields::numbers(const std::string& key) {
  constexpr std::string_view kAllowed = "list of numbers";
  std::vector<double> list;
  const Json* value = find_list(key, kAllowed);
  if (value == nullptr) return list;
  for (const Json& element : *value) {
    if (!element.is_number()) throw error(key, kAllowed);
    list.push_back(element.get<double>());
  }
  return list;
}

std::vector<CatalogFields> CatalogFields::objects(const std::string& key) {
  std::vector<CatalogFields> list;
  const Json* value = find_list(key, "list of objects");
  if (value == nullptr) return list;
  for (const Json& element : *value) {
    list.emplace_back(element, file_, fmt::format("{}/{}/{}", pointer_, key, list.size()));
  }
  return list;
}

std::optional<CatalogFields> CatalogFields::object(const std::string& key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return CatalogFields(*value, file_, pointer_ + "/" + key);
}

std::string CatalogFields::json_text(const std::string& key, bool required) {
  const Json* value = find(key);
  if (value == nullptr && !required) return {};
  if (value == nullptr || !value->is_object()) throw error(key, "object");
  return value->dump();
}

void CatalogFields::finish() const {
  for (const auto& [key, value] : json_.items()) {
    if (known_.contains(key)) continue;
    const std::vector<std::string> names(known_.begin(), known_.end());
    throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                                .origin = file_,
                                .pointer = pointer_ + "/" + key,
                                .problem = "unknown key",
                                .nearest = nearest_name(key, names)});
  }
}

ConfigError CatalogFields::error(const std::string& key, std::string_view allowed) const {
  const auto found = json_.find(key);
  const bool missing = found == json_.end();
  return ConfigError(
      Complaint{.kind = missing ? ErrorKind::missing : ErrorKind::value,
                .origin = file_,
                .pointer = pointer_ + "/" + key,
                .problem = fmt::format("{} (allowed: {})",
                                       missing ? "missing" : "value " + found->dump(), allowed)});
}

}  // namespace headroom
