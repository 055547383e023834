#include "sim/app/validate_command.hpp"

#include <fmt/format.h>

#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/memory_validation_report.hpp"
#include "sim/study/memory_validation.hpp"

namespace headroom {

std::string validate_command(const ValidateArguments& arguments) {
  if (arguments.what != "memory") {
    throw ConfigError(fmt::format("validate {}: expected memory", arguments.what));
  }
  const MemoryValidation validation =
      validate_memory(arguments.directory, load_catalog(arguments.catalog));
  return arguments.json ? memory_validation_json(validation) : memory_validation_text(validation);
}

}  // namespace headroom
