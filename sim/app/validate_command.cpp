#include "sim/app/validate_command.hpp"

#include <fmt/format.h>

#include "sim/app/list.hpp"
#include "sim/fidelity/ablation.hpp"
#include "sim/fidelity/run_validation.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/memory/memory_validation.hpp"
#include "sim/report/ablation_report.hpp"
#include "sim/report/memory_validation_report.hpp"
#include "sim/report/run_validation_report.hpp"

namespace headroom {

std::string validate_command(const ValidateArguments& arguments) {
  const Catalog catalog = load_catalog(arguments.catalog);
  if (arguments.what == "runs") {
    if (!arguments.tables.empty() && !is_folder(arguments.tables)) {
      throw ConfigError(fmt::format("--tables {}: no such folder", arguments.tables));
    }
    if (arguments.ablate) {
      if (!arguments.tables.empty()) throw ConfigError("--ablate: not with --tables");
      const Ablations ablations = ablate_runs(arguments.directory, catalog);
      return arguments.json ? ablation_json(ablations) : ablation_text(ablations);
    }
    const RunValidation validation = validate_runs(arguments.directory, catalog, arguments.tables);
    return arguments.json ? run_validation_json(validation) : run_validation_text(validation);
  }
  if (arguments.what != "memory") {
    throw ConfigError(fmt::format("validate {}: expected memory or runs", arguments.what));
  }
  if (!arguments.tables.empty()) throw ConfigError("--tables: for `validate runs` only");
  if (arguments.ablate) throw ConfigError("--ablate: for `validate runs` only");
  const MemoryValidation validation = validate_memory(arguments.directory, catalog);
  return arguments.json ? memory_validation_json(validation) : memory_validation_text(validation);
}

}  // namespace headroom
