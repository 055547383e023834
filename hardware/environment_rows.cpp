// The reader of environments.json.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "hardware/environment.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

using Json = nlohmann::json;

// One JSON object; remembers which keys were asked for, so that the others can be refused.
class Fields {
 public:
  Fields(const Json& json, std::string file, std::string pointer)
      : json_(json), file_(std::move(file)), pointer_(std::move(pointer)) {
    if (!json_.is_object()) {
      throw ConfigError(fmt::format("{}: {}: must be an object", file_, pointer_));
    }
  }

  [[nodiscard]] const Json* find(const std::string& key) {
    known_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  [[nodiscard]] ConfigError error(const std::string& key, std::string_view allowed) const {
    const auto found = json_.find(key);
    return ConfigError(fmt::format("{}: {}/{}: {} (allowed: {})", file_, pointer_, key,
                                   found == json_.end() ? "missing" : "value " + found->dump(),
                                   allowed));
  }

  [[nodiscard]] std::string text(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_string() || value->get<std::string>().empty()) {
      throw error(key, "text");
    }
    return value->get<std::string>();
  }

  [[nodiscard]] bool flag(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) throw error(key, "true or false");
    return value->get<bool>();
  }

  // A key that may be absent. 1e6 GiB keep every sum of bytes inside 64 bits.
  [[nodiscard]] std::optional<double> number(const std::string& key, double high) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !(value->get<double>() >= 0) || !(value->get<double>() <= high)) {
      throw error(key, fmt::format("number from 0 to {}", high));
    }
    return value->get<double>();
  }
  [[nodiscard]] std::optional<ByteCount> optional_gib(const std::string& key) {
    const std::optional<double> value = number(key, kLargestGib);
    if (!value) return std::nullopt;
    return bytes_from_gib(*value);
  }
  [[nodiscard]] ByteCount gib(const std::string& key) { return optional_gib(key).value_or(0); }

  [[nodiscard]] std::optional<Fields> object(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    return Fields(*value, file_, pointer_ + "/" + key);
  }

  // Texts, each in one piece or as the list of its lines.
  [[nodiscard]] std::vector<std::string> texts(const std::string& key) {
    std::vector<std::string> all;
    const Json* value = find(key);
    if (value == nullptr) return all;
    if (!value->is_array()) throw error(key, kTexts);
    for (const Json& entry : *value) {
      std::string joined;
      for (const Json& line : entry.is_array() ? entry : Json::array({entry})) {
        if (!line.is_string()) throw error(key, kTexts);
        if (!joined.empty()) joined += ' ';
        joined += line.get<std::string>();
      }
      all.push_back(joined);
    }
    return all;
  }

  // Call last: every key that was not asked for is unknown.
  void finish() const {
    for (const auto& [key, value] : json_.items()) {
      if (known_.contains(key)) continue;
      const std::vector<std::string> names(known_.begin(), known_.end());
      const std::string nearest = nearest_name(key, names);
      throw ConfigError(fmt::format("{}: {}/{}: unknown key{}", file_, pointer_, key,
                                    nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest)));
    }
  }

 private:
  static constexpr double kLargestGib = 1e6;
  static constexpr std::string_view kTexts = "list of texts, or of lists of lines";

  const Json& json_;
  std::string file_;
  std::string pointer_;
  std::set<std::string> known_;
};

std::optional<ByteRange> parse_range(Fields& row, const std::string& key) {
  std::optional<Fields> part = row.object(key);
  if (!part) return std::nullopt;
  const auto bytes = [&](const std::string& name) {
    const std::optional<ByteCount> value = part->optional_gib(name);
    if (!value) throw part->error(name, "GiB");
    return *value;
  };
  ByteRange range;
  range.low = bytes("low");
  range.typical = bytes("typical");
  range.high = bytes("high");
  if (range.low > range.typical || range.typical > range.high) {
    throw row.error(key, "low <= typical <= high");
  }
  part->finish();
  return range;
}

Environment parse_environment(Fields row) {
  Environment e;
  e.id = row.text("id");
  e.title = row.text("title");
  e.container = row.flag("container");
  e.system_bytes = row.gib("system_gib");
  e.processes_bytes = row.gib("processes_gib");
  e.tmpfs_bytes = row.gib("tmpfs_gib");
  e.shm_size_bytes = row.optional_gib("shm_size_gib");
  if (e.shm_size_bytes && e.tmpfs_bytes > *e.shm_size_bytes) {
    throw row.error("tmpfs_gib", "at most shm_size_gib");
  }
  e.page_cache_bytes = row.gib("page_cache_gib");
  e.checkpoint_cache_share = row.number("checkpoint_cache_share", 1).value_or(0);
  e.device_page_cache_bytes = row.gib("device_page_cache_gib");
  e.engine_host_bytes = row.gib("engine_host_gib");
  e.compile_bytes = row.gib("compile_gib");
  e.double_counted_share = row.number("double_counted_share", 1).value_or(0);
  e.memory_limit_bytes = row.optional_gib("memory_limit_gib");
  e.first_start_overhead = parse_range(row, "first_start_overhead_gib");
  e.steady_overhead = parse_range(row, "steady_overhead_gib");
  if (row.find("measured_model") != nullptr) e.measured_model = row.text("measured_model");
  e.scored = row.flag("scored");
  e.source = row.text("source");
  e.assumptions = row.texts("assumptions");
  row.finish();
  return e;
}

}  // namespace

std::vector<Environment> parse_environments(std::string_view text, const std::string& shown_as) {
  Json json;
  try {
    json = Json::parse(text, nullptr, true, /*ignore_comments=*/true);
  } catch (const Json::exception& error) {
    throw ConfigError(fmt::format("{}: {}", shown_as, error.what()));
  }
  Fields file(json, shown_as, "");
  if (file.find("about") != nullptr) static_cast<void>(file.text("about"));
  const Json* rows = file.find("environments");
  if (rows == nullptr || !rows->is_array()) throw file.error("environments", "list of rows");
  file.finish();
  std::vector<Environment> environments;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const std::string pointer = fmt::format("/environments/{}", i);
    environments.push_back(parse_environment(Fields((*rows)[i], shown_as, pointer)));
    if (!ids.insert(environments.back().id).second) {
      throw ConfigError(
          fmt::format("{}: {}/id: '{}' occurs twice", shown_as, pointer, environments.back().id));
    }
  }
  return environments;
}

}  // namespace headroom
