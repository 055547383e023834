#include "sim/memory/memory_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/explanations.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/size_of.hpp"
#include "sim/kernel/text_file.hpp"
#include "sim/memory/memory_facts.hpp"
#include "sim/memory/what_if.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr double kLoggedDigits = 0.005;  // half of the last digit of a logged GiB
constexpr int kSearchDepth = 2;          // folders below the given one

ValidationGroup h100_group(const Resolved& r) {
  if (r.sharding.pipeline > 1) return ValidationGroup::h100_pipeline;
  if (r.model.vision) return ValidationGroup::h100_vision;
  return has_experts(r.model) ? ValidationGroup::h100_moe : ValidationGroup::h100_dense;
}

// Only what sets the rows of one model apart.
std::string label_of(const FactRow& row, const Scenario& s) {
  std::string name = row.text("model");
  const std::size_t slash = name.find('/');
  if (slash != std::string::npos) name = name.substr(slash + 1);
  for (const std::string_view common : {"-Instruct", "-quantized", "-instruct"}) {
    const std::size_t at = name.find(common);
    if (at != std::string::npos) name.erase(at, common.size());
  }
  const EngineSection& e = s.engine;
  if (e.tensor_parallel_size > 1) name += fmt::format(" TP{}", e.tensor_parallel_size);
  if (e.pipeline_parallel_size > 1) name += fmt::format(" PP{}", e.pipeline_parallel_size);
  if (e.quantization == "fp8") name += " fp8 weights";
  if (e.kv_cache_dtype == "fp8") name += " fp8 KV";
  if (e.dtype == "float32") name += " fp32";
  if (e.dtype == "float16") name += " fp16";
  if (row.file == kH100File && e.max_model_len && *e.max_model_len != 8192) {
    name += fmt::format(" len {}", *e.max_model_len);
  }
  if (row.file == kBlocksFile) name = row.text("id") + " " + name;
  return name;
}

void fill_terms(const BudgetedSystem& system, ValidationRow& row) {
  const BudgetTerms& terms = system.budget.terms;
  row.weights.modelled = gib_from_bytes(terms[MemoryPurpose::weights]);
  row.activation.modelled = gib_from_bytes(terms[MemoryPurpose::activations]);
  row.outside_torch.modelled =
      gib_from_bytes(terms[MemoryPurpose::context] + terms[MemoryPurpose::communication]);
  row.kv.modelled = gib_from_bytes(system.budget.kv_available_bytes);
  const ByteCount block = system.budget.layout.block_bytes;
  row.modelled_blocks =
      system.budget.failure ? system.budget.kv_available_bytes / block : system.budget.total_blocks;
}

// Whether the logged blocks are those of the logged pool, whatever the pool should have been.
std::optional<std::int64_t> geometry_off(const ValidationRow& row, ByteCount block) {
  if (!row.kv.logged || !row.logged_blocks) return std::nullopt;
  const std::int64_t low = bytes_from_gib(std::max(*row.kv.logged - kLoggedDigits, 0.0)) / block;
  const std::int64_t high = bytes_from_gib(*row.kv.logged + kLoggedDigits) / block;
  return std::clamp(*row.logged_blocks, low, high) - *row.logged_blocks;
}

void score(ValidationRow& row, ByteCount block) {
  if (row.scored_by_blocks) {
    const std::int64_t off = row.modelled_blocks - *row.logged_blocks;
    row.error_share = static_cast<double>(off) / static_cast<double>(*row.logged_blocks);
    row.error_gib = static_cast<double>(off) * gib_from_bytes(block);
    return;
  }
  row.error_gib = row.kv.modelled - *row.kv.logged;
  row.error_share = row.error_gib / *row.kv.logged;
}

class Validator {
 public:
  Validator(MemoryValidation& validation, const Catalog& catalog)
      : validation_(validation), catalog_(catalog) {}

  void h100(std::istream& in) {
    for (const FactRow& facts : read_facts(in, std::string(kH100File), h100_columns())) {
      const LoggedSystem logged = h100_system(facts, catalog_);
      add(facts, logged, "non_torch_forward_gib", "kv_cache_gib", "kv_cache_blocks");
    }
  }

  void blocks(std::istream& in) {
    for (const FactRow& facts : read_facts(in, std::string(kBlocksFile), blocks_columns())) {
      const LoggedSystem logged = blocks_system(facts, catalog_);
      add(facts, logged, "non_torch_gib", "kv_gib", "num_gpu_blocks");
    }
  }

  void spark(std::istream& in) {
    SparkValidation found;
    double sum = 0;
    const std::vector<SparkRun> runs = read_spark_runs(in, std::string(kSparkFile));
    for (const SparkRun& run : runs) {
      const double residual = kv_residual_gib(run);
      sum += residual;
      found.worst_residual_gib = std::max(found.worst_residual_gib, size_of(residual));
      ++found.runs;
    }
    if (found.runs > 0) found.mean_residual_gib = sum / static_cast<double>(found.runs);
    found.explained = explain_spark(runs, catalog_);
    validation_.spark = std::move(found);
  }

 private:
  void exclude(const FactRow& facts, std::string why) {
    const std::string id = facts.text("id");
    validation_.excluded.push_back(
        {facts.file, facts.line, id.empty() ? facts.text("model") : id + " " + facts.text("model"),
         std::move(why)});
  }

  void add(const FactRow& facts, const LoggedSystem& logged, std::string_view outside,
           std::string_view kv, std::string_view blocks) {
    if (logged.model_id.empty()) return exclude(facts, logged.why);
    BudgetedSystem system;
    try {
      system = budget_system(logged.scenario, catalog_);
    } catch (const ConfigError& error) {
      return exclude(facts, error.what());
    }
    ValidationRow row;
    row.file = facts.file;
    row.line = facts.line;
    row.label = label_of(facts, logged.scenario);
    row.model_id = logged.model_id;
    row.note = logged.why;
    row.group = facts.file == kH100File ? h100_group(system.resolved)
                : logged.assumed        ? ValidationGroup::assumed
                                        : ValidationGroup::elsewhere;
    row.weights.logged = facts.number("weights_gib");
    row.activation.logged = facts.number("activation_gib");
    row.outside_torch.logged = facts.number(outside);
    row.kv.logged = facts.number(kv);
    row.logged_blocks = facts.count(blocks);
    fill_terms(system, row);
    finish(system, row);
    if (row.group == ValidationGroup::elsewhere) note_first_start(logged.scenario, row);
    validation_.rows.push_back(std::move(row));
  }

  // Logs of single runs do not say whether compile caches were warm.
  void note_first_start(Scenario scenario, ValidationRow& row) const {
    scenario.environment.first_start = true;
    const double kv = gib_from_bytes(budget_system(scenario, catalog_).budget.kv_available_bytes);
    row.note += fmt::format("; with empty compile caches the rule gives {:.2f} GiB ({:+.2f})", kv,
                            kv - *row.kv.logged);
  }

  static void finish(const BudgetedSystem& system, ValidationRow& row) {
    const ByteCount block = system.budget.layout.block_bytes;
    if (row.group == ValidationGroup::h100_pipeline) {
      row.scored_by_blocks = true;
      row.note =
          "the logged GiB belong to another stage than the one that sets the number of blocks: "
          "compared by blocks";
    } else {
      row.geometry_blocks_off = geometry_off(row, block);
      row.scored_by_blocks = !row.kv.logged;
    }
    if (!row.kv.logged) {
      row.kv.logged = gib_from_bytes(*row.logged_blocks * block);
      row.note += row.note.empty() ? "" : "; ";
      row.note += "KV GiB from the logged blocks";
    }
    score(row, block);
  }

  MemoryValidation& validation_;
  const Catalog& catalog_;
};

// The file in `directory`, or the first by name below it.
fs::path find_file(const fs::path& directory, std::string_view name, int depth) {
  if (is_there(directory / name)) return directory / name;
  if (depth == 0) return {};
  for (const fs::path& folder : folders_in(directory)) {
    fs::path found = find_file(folder, name, depth - 1);
    if (!found.empty()) return found;
  }
  return {};
}

ValidationScore score_where(const MemoryValidation& validation, const auto& belongs) {
  ValidationScore score;
  for (const ValidationRow& row : validation.rows) {
    if (!belongs(row)) continue;
    ++score.rows;
    score.mean_share += size_of(row.error_share);
    if (*row.kv.logged < kSmallPoolGib) {
      ++score.small_pools;
      if (size_of(row.error_gib) < score.worst_small_gib) continue;
      score.worst_small_gib = size_of(row.error_gib);
      score.worst_small = row.label;
    } else if (size_of(row.error_share) >= score.worst_share) {
      score.worst_share = size_of(row.error_share);
      score.worst = row.label;
    }
  }
  if (score.rows > 0) score.mean_share /= static_cast<double>(score.rows);
  return score;
}

}  // namespace

std::string_view name_of(ValidationGroup group) {
  switch (group) {
    case ValidationGroup::h100_dense: return "H100 0.19, dense";
    case ValidationGroup::h100_moe: return "H100 0.19, experts";
    case ValidationGroup::h100_vision: return "H100 0.19, vision";
    case ValidationGroup::h100_pipeline: return "H100 0.19, pipeline";
    case ValidationGroup::elsewhere: return "other device or release";
    case ValidationGroup::assumed: return "settings assumed";
  }
  return "";
}

bool chose_constants(ValidationGroup group) {
  return group == ValidationGroup::h100_dense || group == ValidationGroup::h100_moe ||
         group == ValidationGroup::h100_vision;
}

std::optional<double> ComparedTerm::error() const {
  if (!logged) return std::nullopt;
  return modelled - *logged;
}

MemoryValidation validate_memory(const fs::path& directory, const Catalog& catalog) {
  MemoryValidation validation;
  Validator validator(validation, catalog);
  const auto read = [&](std::string_view name, void (Validator::*reader)(std::istream&)) {
    const fs::path path = find_file(directory, name, kSearchDepth);
    if (path.empty()) return;
    std::istringstream in = open_text_file(path);
    (validator.*reader)(in);
    validation.files.emplace_back(name);
  };
  read(kH100File, &Validator::h100);
  read(kBlocksFile, &Validator::blocks);
  read(kSparkFile, &Validator::spark);
  validation.startups = validate_startups(directory, catalog);
  if (validation.files.empty() && validation.startups.replayed.empty() &&
      validation.startups.unplayed.empty()) {
    throw ConfigError(Complaint{
        .origin = directory.string(),
        .problem = fmt::format("found none of {}, {}, {} and startups/*.json in this folder or up "
                               "to {} levels below",
                               kH100File, kBlocksFile, kSparkFile, kSearchDepth)});
  }
  return validation;
}

ValidationScore score_of(const MemoryValidation& validation, ValidationGroup group) {
  return score_where(validation, [group](const ValidationRow& row) { return row.group == group; });
}

ValidationScore h100_score(const MemoryValidation& validation) {
  return score_where(validation, [](const ValidationRow& row) { return row.file == kH100File; });
}

}  // namespace headroom
