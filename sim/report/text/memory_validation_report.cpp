#include "sim/report/text/memory_validation_report.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/report/json/json_text.hpp"
#include "sim/report/text/capacity_report.hpp"
#include "sim/report/text/spark_report.hpp"
#include "sim/report/text/startup_validation_report.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;
using TableRow = std::vector<std::string>;

constexpr std::array kGroups{ValidationGroup::h100_dense,  ValidationGroup::h100_moe,
                             ValidationGroup::h100_vision, ValidationGroup::h100_pipeline,
                             ValidationGroup::elsewhere,   ValidationGroup::assumed};
constexpr std::size_t kLabelBytes = 36;

std::string logged_text(const ComparedTerm& term) {
  return term.logged ? fmt::format("{:.2f}", *term.logged) : "-";
}

// "14.25 -0.01": as logged, and what the model gives more.
std::string term_text(const ComparedTerm& term) {
  const auto error = term.error();
  return error ? fmt::format("{:.2f} {:+.2f}", *term.logged, *error)
               : fmt::format("- {:.2f}", term.modelled);
}

TableRow row_text(const ValidationRow& row) {
  return {clipped(row.label, kLabelBytes),
          term_text(row.weights),
          term_text(row.activation),
          term_text(row.outside_torch),
          logged_text(row.kv),
          fmt::format("{:.2f}", row.kv.modelled),
          fmt::format("{:+.2f}", row.error_gib),
          fmt::format("{:+.2f}", row.error_share * 100)};
}

std::string rows_text(const MemoryValidation& validation) {
  std::string out;
  for (const ValidationGroup group : kGroups) {
    std::vector<TableRow> table{{std::string(name_of(group)), "weights", "activation", "outside",
                                 "KV log", "KV model", "GiB", "%"}};
    for (const ValidationRow& row : validation.rows) {
      if (row.group == group) table.push_back(row_text(row));
    }
    if (table.size() > 1) out += table_text(table, kValidationWidth) + "\n";
  }
  return out + "GiB per device. Terms: as logged, then the model's difference; '-': not logged.\n";
}

std::string notes_text(const MemoryValidation& validation) {
  constexpr std::size_t kIndent = 4;
  std::string out;
  if (!validation.excluded.empty()) out += "\nNot scored:\n";
  for (const ExcludedRow& row : validation.excluded) {
    out += wrapped("  -", fmt::format("{}: {}", row.label, row.why), kIndent, kValidationWidth);
  }
  std::string notes;
  for (const ValidationRow& row : validation.rows) {
    if (row.note.empty()) continue;
    notes += wrapped("  -", fmt::format("{}: {}", row.label, row.note), kIndent, kValidationWidth);
  }
  return notes.empty() ? out : out + "\nNotes:\n" + notes;
}

TableRow score_text(std::string_view name, const ValidationScore& score, bool chose) {
  const bool large = score.rows > score.small_pools;
  return {std::string(name),
          fmt::format("{}", score.rows),
          fmt::format("{:.2f} %", score.mean_share * 100),
          large ? fmt::format("{:.2f} %", score.worst_share * 100) : "-",
          score.small_pools > 0 ? fmt::format("{:.2f} GiB", score.worst_small_gib) : "-",
          chose ? "used to choose the constants" : "independent"};
}

std::string scores_text(const MemoryValidation& validation) {
  std::vector<TableRow> table{
      {"|error| of the KV pool", "rows", "mean", "worst", "worst, small pools", "constants"}};
  for (const ValidationGroup group : kGroups) {
    const ValidationScore score = score_of(validation, group);
    if (score.rows > 0) {
      table.push_back(score_text(name_of(group), score, chose_constants(group)));
    }
  }
  const ValidationScore all = h100_score(validation);
  if (all.rows > 0) table.push_back(score_text("all of vLLM 0.19 on H100", all, true));
  std::string out = "\n" + table_text(table, kValidationWidth);
  if (all.rows > 0 && !all.worst.empty()) {
    out += fmt::format("Worst on H100: {}. Small pools: below {} GiB.\n", all.worst, kSmallPoolGib);
  }
  return out;
}

struct GeometryCount {
  std::int64_t rows = 0;
  std::int64_t exact = 0;
};

GeometryCount geometry_of(const MemoryValidation& validation) {
  GeometryCount count;
  for (const ValidationRow& row : validation.rows) {
    if (!row.geometry_blocks_off) continue;
    ++count.rows;
    count.exact += *row.geometry_blocks_off == 0 ? 1 : 0;
  }
  return count;
}

std::string independent_text(const MemoryValidation& validation) {
  std::string out;
  const GeometryCount geometry = geometry_of(validation);
  if (geometry.rows > 0) {
    out += fmt::format(
        "Bytes per block: in {} of {} logged pools the computed blocks match the log to its "
        "rounding.\n",
        geometry.exact, geometry.rows);
  }
  if (const auto& spark = validation.spark) {
    out += fmt::format(
        "TensorRT-LLM on DGX Spark: kv = 0.9 x (119.707 - peak) in {} runs, residual {:+.4f} GiB "
        "on average,\n{:.4f} at most; the peak is an input.\n",
        spark->runs, spark->mean_residual_gib, spark->worst_residual_gib);
    out += spark_text(spark->explained, kValidationWidth);
  }
  out += "\n";
  out +=
      wrapped("",
              "The constants for vLLM's sampler, its forward pass, its growth outside torch and "
              "what it loads beside the checkpoint (allocator rounding, rotary tables) were chosen "
              "on the H100 rows: the error there is that of a fit. Bytes per block follow from the "
              "geometry. The pipeline row is from the same campaign, but no constant was chosen on "
              "it. Other devices, other releases and the Spark runs are independent.",
              0, kValidationWidth);
  return out;
}

Json term_json(const ComparedTerm& term) {
  return {{"logged_gib", term.logged ? Json(*term.logged) : Json(nullptr)},
          {"modelled_gib", term.modelled}};
}

Json row_json(const ValidationRow& row) {
  Json json = {{"file", row.file},
               {"line", row.line},
               {"group", name_of(row.group)},
               {"label", row.label},
               {"model", row.model_id},
               {"weights", term_json(row.weights)},
               {"activation", term_json(row.activation)},
               {"outside_torch", term_json(row.outside_torch)},
               {"kv", term_json(row.kv)},
               {"logged_blocks", row.logged_blocks ? Json(*row.logged_blocks) : Json(nullptr)},
               {"modelled_blocks", row.modelled_blocks},
               {"scored_by", row.scored_by_blocks ? "blocks" : "kv"},
               {"error_share", row.error_share},
               {"error_gib", row.error_gib}};
  if (row.geometry_blocks_off) json["geometry_blocks_off"] = *row.geometry_blocks_off;
  if (!row.note.empty()) json["note"] = row.note;
  return json;
}

Json score_json(const ValidationScore& score, bool chose) {
  return {{"rows", score.rows},
          {"mean_error_share", score.mean_share},
          {"worst_error_share", score.worst_share},
          {"worst", score.worst},
          {"small_pools", score.small_pools},
          {"worst_small_pool_gib", score.worst_small_gib},
          {"chose_the_constants", chose}};
}

}  // namespace

std::string memory_validation_text(const MemoryValidation& validation) {
  std::string out;
  if (!validation.rows.empty() || !validation.excluded.empty()) {
    out += rows_text(validation) + notes_text(validation) + scores_text(validation);
  }
  std::string starts = startup_validation_text(validation.startups, kValidationWidth);
  if (validation.files.empty()) return starts;
  return starts + out + independent_text(validation);
}

std::string memory_validation_json(const MemoryValidation& validation) {
  Json json = {{"files", validation.files}, {"rows", Json::array()}, {"excluded", Json::array()}};
  for (const ValidationRow& row : validation.rows) json["rows"].push_back(row_json(row));
  for (const ExcludedRow& row : validation.excluded) {
    json["excluded"].push_back(
        {{"file", row.file}, {"line", row.line}, {"label", row.label}, {"why", row.why}});
  }
  Json scores = Json::object();
  for (const ValidationGroup group : kGroups) {
    const ValidationScore score = score_of(validation, group);
    if (score.rows > 0) {
      scores[std::string(name_of(group))] = score_json(score, chose_constants(group));
    }
  }
  if (h100_score(validation).rows > 0)
    scores["H100 0.19"] = score_json(h100_score(validation), true);
  json["scores"] = scores;
  const GeometryCount geometry = geometry_of(validation);
  json["geometry"] = {{"rows", geometry.rows}, {"exact", geometry.exact}};
  if (const auto& spark = validation.spark) {
    json["dgx_spark"] = {{"runs", spark->runs},
                         {"mean_residual_gib", spark->mean_residual_gib},
                         {"worst_residual_gib", spark->worst_residual_gib},
                         {"containers", spark_json(spark->explained)}};
  }
  if (!validation.startups.replayed.empty() || !validation.startups.unplayed.empty()) {
    json["startups"] = startup_validation_json(validation.startups);
  }
  return json_text(json);
}

}  // namespace headroom
