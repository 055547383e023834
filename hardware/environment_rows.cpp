// The reader of environments.json.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "hardware/catalog_fields.hpp"
#include "hardware/environment.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

using Json = nlohmann::json;

constexpr double kLargestGib = 1e6;  // keeps every sum of bytes inside 64 bits

std::optional<ByteCount> optional_gib(CatalogFields& row, const std::string& key) {
  const std::optional<double> value = row.number_up_to(key, kLargestGib);
  if (!value) return std::nullopt;
  return bytes_from_gib(*value);
}

ByteCount gib(CatalogFields& row, const std::string& key) {
  return optional_gib(row, key).value_or(0);
}

std::optional<ByteRange> parse_range(CatalogFields& row, const std::string& key) {
  std::optional<CatalogFields> part = row.object(key);
  if (!part) return std::nullopt;
  const auto bytes = [&](const std::string& name) {
    const std::optional<ByteCount> value = optional_gib(*part, name);
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

Environment parse_environment(CatalogFields row) {
  Environment e;
  e.id = row.text("id");
  e.title = row.text("title");
  e.container = row.flag("container");
  e.system_bytes = gib(row, "system_gib");
  e.processes_bytes = gib(row, "processes_gib");
  e.tmpfs_bytes = gib(row, "tmpfs_gib");
  e.shm_size_bytes = optional_gib(row, "shm_size_gib");
  if (e.shm_size_bytes && e.tmpfs_bytes > *e.shm_size_bytes) {
    throw row.error("tmpfs_gib", "at most shm_size_gib");
  }
  e.page_cache_bytes = gib(row, "page_cache_gib");
  e.checkpoint_cache_share = row.number_up_to("checkpoint_cache_share", 1).value_or(0);
  e.device_page_cache_bytes = gib(row, "device_page_cache_gib");
  e.engine_host_bytes = gib(row, "engine_host_gib");
  e.compile_bytes = gib(row, "compile_gib");
  e.double_counted_share = row.number_up_to("double_counted_share", 1).value_or(0);
  e.memory_limit_bytes = optional_gib(row, "memory_limit_gib");
  e.first_start_overhead = parse_range(row, "first_start_overhead_gib");
  e.steady_overhead = parse_range(row, "steady_overhead_gib");
  if (row.find("measured_model") != nullptr) e.measured_model = row.text("measured_model");
  e.scored = row.flag("scored");
  e.source = row.text("source");
  e.assumptions = row.paragraphs("assumptions");
  row.finish();
  return e;
}

}  // namespace

std::vector<Environment> parse_environments(std::string_view text, const std::string& shown_as) {
  Json json;
  try {
    json = Json::parse(text, nullptr, true, /*ignore_comments=*/true);
  } catch (const Json::exception& error) {
    throw ConfigError(
        Complaint{.kind = ErrorKind::unreadable, .origin = shown_as, .problem = error.what()});
  }
  CatalogFields file(json, shown_as, "");
  if (file.find("about") != nullptr) static_cast<void>(file.text("about"));
  const Json* rows = file.find("environments");
  if (rows == nullptr || !rows->is_array()) throw file.error("environments", "list of rows");
  file.finish();
  std::vector<Environment> environments;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const std::string pointer = fmt::format("/environments/{}", i);
    environments.push_back(parse_environment(CatalogFields((*rows)[i], shown_as, pointer)));
    if (!ids.insert(environments.back().id).second) {
      throw ConfigError(
          Complaint{.kind = ErrorKind::conflict,
                    .origin = shown_as,
                    .pointer = pointer + "/id",
                    .problem = fmt::format("'{}' occurs twice", environments.back().id)});
    }
  }
  return environments;
}

}  // namespace headroom
