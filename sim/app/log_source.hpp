#pragma once
// A scenario from the log of a start-up: the arguments that the engine prints, or the command that
// was pasted in front of them, and what else its lines say.

#include <optional>
#include <string>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/engines/started_log.hpp"
#include "sim/intake/from.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {

struct LogSource {
  std::string text;
  std::string name;     // of the file
  std::string device;   // as the user gives it; empty: the log's
  std::string release;  // of the engine, likewise
  bool failed = false;  // the start that the log is of ran out of memory
};

// Nothing: no line of the text is of an engine that is known by its log. ConfigError: an argument
// without sense.
[[nodiscard]] std::optional<FromResult> scenario_from_log(const LogSource& source,
                                                          const Catalog& catalog);

// What is wrong with a log of `engine` that says nothing of memory.
[[nodiscard]] Complaint no_model_loaded(const std::string& name, const Engine& engine);

// The device that the log names or, with a note, the one whose memory is the log's total. Empty:
// neither is known.
[[nodiscard]] std::string device_of_log(const StartedLog& log, const Catalog& catalog,
                                        std::vector<std::string>& notes);

// Sets what the log tells of its options and the command does not; one that the engine's section
// does not take is left out with a note.
void add_logged_options(const StartedLog& log, JsonDocument& document,
                        std::vector<std::string>& notes);

// The arguments of the start alone. Nothing: neither printed nor pasted.
[[nodiscard]] std::optional<FromResult> arguments_of_log(const LogSource& source,
                                                         const Engine& engine);

// The same as options of the engine; nothing, with a note, where they make no sense together.
[[nodiscard]] std::optional<EngineSection> options_of_log(const LogSource& source,
                                                          const Engine& engine,
                                                          std::vector<std::string>& notes);

}  // namespace headroom
