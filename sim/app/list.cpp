#include "sim/app/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "hardware/llm/kv_geometry.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/engines.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/metrics/latency_metrics.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/study/plan/plan_file.hpp"
#include "sim/study/sweep/run_row.hpp"
#include "sim/study/sweep/study_file.hpp"

namespace headroom {
namespace {

// Of a model: "7.6 B", "33 M".
std::string size_text(std::int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  return count < 1e8 ? fmt::format("{:.0f} M", count / 1e6) : fmt::format("{:.1f} B", count / 1e9);
}

std::string list_models(const Catalog& catalog) {
  std::string out = fmt::format("{:<28}{:>11}{:>11}{:>16}{:>12}\n", "model", "parameters", "active",
                                "KV B/token", "context");
  for (const std::string& id : catalog.model_ids()) {
    const ModelSpec model = catalog.model(id);
    out += fmt::format(
        "{:<28}{:>11}{:>11}{:>16}{:>12}\n", id, size_text(params_total(model)),
        size_text(params_active(model)),
        is_encoder(model) ? "none kept" : human_count(kv_bytes_per_token(model, {}, {})),
        human_count(model.max_position));
  }
  return out;
}

std::string list_devices(const Catalog& catalog) {
  std::string out =
      fmt::format("{:<28}{:>14}{:>13}{:>18}\n", "device", "memory", "bandwidth", "16-bit dense");
  for (const std::string& id : catalog.device_ids()) {
    const DeviceSpec& device = catalog.device(id);
    out += fmt::format("{:<28}{:>14}{:>8.0f} GB/s{:>11.0f} TFLOP/s\n", id,
                       human_bytes(device.memory_reported_bytes),
                       device.bandwidth_bytes_per_s / 1e9, device.fp16_flops / 1e12);
  }
  return out;
}

std::string list_environments(const Catalog& catalog) {
  std::string out;
  for (const std::string& id : catalog.environment_ids()) {
    const Environment& environment = catalog.environment(id);
    out += fmt::format("{}{}\n    {}\n    {}\n", id,
                       environment.scored ? "" : " (compared with no measurement)",
                       environment.title, environment.source);
  }
  return out;
}

std::string list_calibrations(const Catalog& catalog) {
  std::string out;
  for (const auto& [id, row] : catalog.calibrations()) {
    out += fmt::format("{}\n    {}, {} {} {}\n", id, row.device.empty() ? "any device" : row.device,
                       row.engine.empty() ? "any engine" : row.engine, row.engine_versions,
                       name_of(row.mode));
  }
  return out;
}

std::string list_engines() {
  std::string out;
  for (const Engine* engine : engines()) {
    const std::string shown =
        engine->measured.empty() ? "specified only" : fmt::format("measured: {}", engine->measured);
    out += fmt::format("{:<17} {:<8} {:<25} {} [budget {}, scheduler {}, KV {}]\n", engine->name,
                       engine->version, shown, engine->summary, engine->budget_rule,
                       engine->scheduler, engine->allocator);
  }
  return out;
}

std::string list_files(std::span<const EmbeddedFile> files) {
  std::string out;
  for (const EmbeddedFile& file : files) {
    const std::string name = std::filesystem::path(file.name).stem().string();
    const Json root = parse_json(file.content, name).root;
    out += fmt::format("{}\n    {}\n", name, root.value("description", ""));
  }
  return out;
}

// What a run is measured by: in summaries, studies, searches and comparisons.
std::string list_metrics() {
  std::string out;
  for (const RunMetric& metric : run_metrics()) {
    out += fmt::format("{:<28}{}\n", metric.name, metric.unit);
  }
  for (const LatencyMetric& metric : latency_metrics()) {
    out += fmt::format("{:<28}ms\n", metric.name);
  }
  return out;
}

struct ListKind {
  std::string_view name;
  std::string (*text)(const std::string& catalog_directory);
};

using Folder = const std::string&;

constexpr std::array<std::string_view, 2> kTables{"models", "devices"};  // with a line of titles

// Entries (a line, with the indented ones below it) that contain every word of `words`, in any
// case.
std::string filtered(const std::string& text, const std::vector<std::string>& words,
                     bool has_titles) {
  const auto lower = [](std::string part) {
    std::ranges::transform(part, part.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    return part;
  };
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    do {
      end = std::min(text.find('\n', end), text.size() - 1) + 1;
    } while (end < text.size() && text[end] == ' ');
    const std::string entry = text.substr(begin, end - begin);
    const std::string searched = lower(entry);
    const bool has_all = std::ranges::all_of(words, [&](const std::string& word) {
      return searched.find(lower(word)) != std::string::npos;
    });
    if (has_all || (has_titles && begin == 0)) out += entry;
    begin = end;
  }
  return out;
}

constexpr ListKind kKinds[] = {
    {"models", [](Folder own) { return list_models(load_catalog(own)); }},
    {"devices", [](Folder own) { return list_devices(load_catalog(own)); }},
    {"engines", [](Folder) { return list_engines(); }},
    {"environments", [](Folder own) { return list_environments(load_catalog(own)); }},
    {"calibrations", [](Folder own) { return list_calibrations(load_catalog(own)); }},
    {"options", [](Folder) { return options_table(); }},
    {"metrics", [](Folder) { return list_metrics(); }},
    {"scenarios", [](Folder) { return list_files(scenario_files()); }},
    {"studies", [](Folder) { return list_files(study_files()); }},
    {"plans", [](Folder) { return list_files(plan_files()); }},
    {"schema", [](Folder) { return scenario_schema().dump(2) + "\n"; }},
    {"study-schema", [](Folder) { return study_schema().dump(2) + "\n"; }},
    {"plan-schema", [](Folder) { return plan_schema().dump(2) + "\n"; }}};

}  // namespace

Catalog load_catalog(const std::string& directory) {
  Catalog catalog = Catalog::embedded();
  if (!directory.empty()) catalog.overlay(directory);
  return catalog;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const ListKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::string list_kinds() { return comma_list(kind_names()); }

std::string list_text(const std::string& kind, const std::string& catalog_directory,
                      const std::vector<std::string>& words) {
  const auto* const found = std::ranges::find(kKinds, kind, &ListKind::name);
  if (found != std::end(kKinds)) {
    std::string text = found->text(catalog_directory);
    if (words.empty()) return text;
    if (kind.ends_with("schema")) {
      throw ConfigError(Complaint{.kind = ErrorKind::no_effect,
                                  .origin = fmt::format("list {} {}", kind, words.front()),
                                  .problem = "a schema is printed whole"});
    }
    const bool has_titles = std::ranges::find(kTables, kind) != kTables.end();
    std::string kept = filtered(text, words, has_titles);
    const bool empty = has_titles ? std::ranges::count(kept, '\n') < 2 : kept.empty();
    if (!empty) return kept;
    throw ConfigError(fmt::format("list {} {}: nothing contains it", kind, fmt::join(words, " ")));
  }
  const std::string nearest = nearest_name(kind, kind_names());
  throw ConfigError(fmt::format("list {}: expected one of {}{}", kind, list_kinds(),
                                nearest.empty() ? "" : fmt::format(" (nearest: {})", nearest)));
}

}  // namespace headroom
