#include "sim/memory/startup_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "hardware/budget/activations.hpp"
#include "hardware/checkpoint_names.hpp"
#include "hardware/environment.hpp"
#include "hardware/llm/parameters.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/intake/from.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/lower_case.hpp"
#include "sim/memory/audit_log.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom {
namespace {

struct AssumedBoard {
  std::string_view words;  // in the row's device
  std::string_view id;
};
// The first whose words a device contains that no or several names of the catalog call.
constexpr std::array kAssumed{
    AssumedBoard{"A100 80", "a100-80"},
    AssumedBoard{"A100 (", "a100-40"},
    AssumedBoard{"Ryzen AI Max", "strix-halo-128"},
    AssumedBoard{"Apple M1", "m1-8"},  // as all rows of it, and those of M3 Max and M4 likewise
    AssumedBoard{"Apple M3 Max", "m3-max-64"},
    AssumedBoard{"Apple M4", "m4-16"},
    AssumedBoard{"GB300", "gb300-station"},
    AssumedBoard{"GH200", "gh200-96"},
    AssumedBoard{"H100", "h100-sxm"},
    AssumedBoard{"B200", "b200"},
    AssumedBoard{"RTX 3090", "rtx3090"},
    AssumedBoard{"RTX 4060 Ti", "rtx4060ti-16"},
    AssumedBoard{"RTX PRO 6000", "rtxpro6000-server"},
    AssumedBoard{"AMD, about 64 GB", "mi210"},
};

// What the rows call an option, where that is not the flag's name.
struct Spelling {
  std::string_view key;
  std::string_view option;
};
constexpr std::array kSpellings{
    Spelling{"type_k", "cache_type_k"},
    Spelling{"type_k", "kv_cache_type"},
    Spelling{"type_v", "cache_type_v"},
    Spelling{"n_ctx", "ctx_size"},
    Spelling{"n_ctx", "num_ctx"},
    Spelling{"ctx_size", "num_ctx"},
    Spelling{"n_seq_max", "parallel"},
    Spelling{"n_seq_max", "num_parallel"},
    Spelling{"parallel", "num_parallel"},
    Spelling{"n_ubatch", "ubatch_size"},
    Spelling{"n_batch", "batch_size"},
    Spelling{"flash_attn", "flash_attention"},
    Spelling{"max_seq_len", "max_model_len"},
    Spelling{"n_gpu_layers", "num_gpu"},
    Spelling{"kv_cache_free_gpu_mem_fraction", "free_gpu_memory_fraction"},
};

// Figures of the log that are settings: what the engine made of its flags and the model's file.
constexpr std::array<std::string_view, 4> kLoggedSettings{"n_ctx", "n_seq_max", "n_ubatch",
                                                          "n_batch"};
constexpr std::array<std::string_view, 6> kResolvedSettings{
    "dtype",         "max_seq_len",   "tensor_parallel_size", "pipeline_parallel_size",
    "enforce_eager", "kv_cache_dtype"};

std::string shell_quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

bool names(std::string_view list, std::string_view name) {
  return !name.empty() && std::ranges::count(split(list, '|'), name) > 0;
}

std::string dashed(std::string_view key) {
  std::string text(key);
  std::ranges::replace(text, '_', '-');
  return text;
}

// The row of the engine's flags that a key means; null: none has it.
const FlagRow* find_flag(const EngineLaunch& launch, std::string_view key) {
  for (const std::string_view dashes : {"--", "-"}) {
    for (const FlagRow& row : launch.rows) {
      const bool named = names(row.names, fmt::format("{}{}", dashes, dashed(key))) ||
                         names(row.names, fmt::format("{}{}", dashes, key));
      if (named) return &row;
    }
  }
  const auto of_option = [&launch](std::string_view option) -> const FlagRow* {
    const std::string pointer = fmt::format("/engine/{}", option);
    const auto found = std::ranges::find(launch.rows, pointer, &FlagRow::pointer);
    return found == launch.rows.end() ? nullptr : &*found;
  };
  if (const FlagRow* row = of_option(key)) return row;
  for (const Spelling& spelling : kSpellings) {
    if (spelling.key != key) continue;
    if (const FlagRow* row = of_option(spelling.option)) return row;
  }
  return nullptr;
}

// One flag with its value as words of a command, or as a variable in front of it.
class CommandText {
 public:
  explicit CommandText(const EngineLaunch& launch) : launch_(launch) {}

  void add(const std::string& key, const Json& value) {
    const FlagRow* row = find_flag(launch_, key);
    const std::string name = row == nullptr || row->names.empty()
                                 ? "--" + dashed(key)
                                 : std::string(split(row->names, '|').front());
    if (row != nullptr && row->names.empty()) {
      if (text(value) == "auto") return;  // what an absent variable means
      variables_ +=
          fmt::format("{}={} ", split(row->variable, '|').front(), shell_quoted(text(value)));
      return;
    }
    const bool toggles = row != nullptr && row->takes == Takes::toggle;
    const bool is_switch = toggles || (row != nullptr && row->takes == Takes::nothing);
    if (value.is_boolean() || is_switch) {
      const bool on = value.is_boolean() ? value.get<bool>() : switched_on(value);
      if (on) words_ += " " + name;
      if (!on && toggles) words_ += " --no-" + name.substr(2);
      if (!on && !toggles) add_opposite(row);
      return;
    }
    words_ += " " + name;
    if (!value.is_array()) {
      words_ += " " + shell_quoted(text(value));
      return;
    }
    for (const Json& one : value) words_ += " " + shell_quoted(text(one));
  }

  [[nodiscard]] std::string command(std::string_view model) const {
    const std::string name = shell_quoted(model);
    if (!launch_.command.empty()) {
      return variables_ + fmt::format(fmt::runtime(launch_.command), name) + words_;
    }
    const bool positional = launch_.positional_model;
    // "serve" comes before "run", which takes the model.
    const LaunchProgram& program = positional ? launch_.programs.back() : launch_.programs.front();
    const FlagRow* flag = positional ? nullptr : find_flag(launch_, "model");
    return fmt::format("{}{} {} {}{}{}", variables_, program.name, program.subcommand,
                       flag == nullptr ? "" : "--model ", name, words_);
  }

 private:
  // "fp8 (fp8_ds_mla)" without what the row adds.
  static std::string text(const Json& value) {
    if (!value.is_string()) return value.dump();
    const auto word = value.get<std::string>();
    return word.substr(0, word.find(" ("));
  }

  static bool switched_on(const Json& value) {
    const std::string word = text(value);
    return word == "true" || word == "1" || word == "enabled" || word == "on";
  }

  // "--no-kv-unified" for an option that only flags of its own switch off.
  void add_opposite(const FlagRow* row) {
    if (row == nullptr || row->pointer.empty()) return;
    for (const FlagRow& other : launch_.rows) {
      if (other.pointer == row->pointer && other.constant == "false" && !other.names.empty()) {
        words_ += fmt::format(" {}", split(other.names, '|').front());
        return;
      }
    }
  }

  const EngineLaunch& launch_;
  std::string variables_;
  std::string words_;
};

// The value of a setting as the engine logged it; null: it says nothing.
Json setting_in(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_array()) return found->empty() ? Json() : found->front();
  if (!found->is_string()) return *found;
  std::string text = found->get<std::string>();
  if (text.starts_with("torch.")) text.erase(0, 6);
  if (text == "None" || text == "auto" || text == "False") return {};
  return text == "True" ? Json(true) : Json(text);
}

// Ollama's num_ctx is of one request, what its runner is started with and logs is of all of them.
Json per_request(const EngineLaunch& launch, std::string_view key, const Json& value,
                 const Json& requests) {
  const FlagRow* row = find_flag(launch, key);
  const bool of_all = key == "n_ctx" || key == "ctx_size";
  if (row == nullptr || row->pointer != "/engine/num_ctx" || !of_all) return value;
  if (!value.is_number_integer() || !requests.is_number_integer()) return value;
  return value.get<std::int64_t>() / std::max<std::int64_t>(requests.get<std::int64_t>(), 1);
}

// Whether the flags have the option already, by whatever name.
bool has_flag(const EngineLaunch& launch, const Json& flags, std::string_view key) {
  const FlagRow* wanted = find_flag(launch, key);
  if (wanted == nullptr) return true;  // the engine has no such flag: nothing to add
  for (const auto& [name, value] : flags.items()) {
    const FlagRow* row = find_flag(launch, name);
    if (row == wanted ||
        (row != nullptr && !row->pointer.empty() && row->pointer == wanted->pointer))
      return true;
  }
  return false;
}

// "NVIDIA L40S or A40 (not named)": the first that the row names, without what it adds.
std::string_view named_board(std::string_view device) {
  for (const std::string_view end : {" (", " or ", " and ", ", "}) {
    device = device.substr(0, device.find(end));
  }
  return device;
}

std::string find_board(const LoggedStart& start, const Catalog& catalog) {
  if (start.device.find("MIG ") != std::string::npos) return "";  // a part of a device
  try {
    const std::string_view board = named_board(start.device);
    // Of several that are called so, what the row adds decides.
    if (catalog.devices_also_called(board).empty()) return catalog.device(board).id;
  } catch (const ConfigError&) {
    // Below, and by what the log says of its memory.
  }
  for (const AssumedBoard& board : kAssumed) {
    if (start.device.find(board.words) != std::string::npos) return std::string(board.id);
  }
  const Json total = setting_in(start.logged, "total_gib");
  if (!total.is_number()) return "";
  const std::vector<std::string> fitting = devices_of_total(catalog, total.get<double>());
  return fitting.empty() ? "" : fitting.front();
}

// "Qwen2.5-32B-Instruct (local path)": without what the row adds to the name.
std::string model_name(const LoggedStart& start) {
  return start.model.substr(0, start.model.find(" ("));
}

bool is_file_format(Dtype dtype) {
  return is_gguf_mixture(dtype) || dtype == Dtype::q8_0 || dtype == Dtype::q4_0;
}

// The GGUF mixture whose weights come closest to the file's size, where its name says none.
std::string mixture_of_file(const LoggedStart& start, const Catalog& catalog) {
  const Json size = setting_in(start.logged, "file_size_gib");
  const auto named = find_checkpoint(catalog, model_name(start));
  if (!size.is_number() || !named->quantization.empty()) return "";
  const ByteCount file = bytes_from_gib(size.get<double>());
  std::string best;
  ByteCount least = file;
  for (const std::string& name : dtype_names()) {
    const Dtype dtype = parse_dtype(name);
    if (!is_file_format(dtype)) continue;
    ModelSpec model = catalog.model(named->model);
    model.vision.reset();
    const ByteCount bytes = checkpoint_bytes(quantised(std::move(model), dtype));
    const ByteCount off = bytes > file ? bytes - file : file - bytes;
    if (off >= least) continue;
    least = off;
    best = name;
  }
  return best;
}

// "Q4_K - Medium" is q4_k_m. Empty: no format of ours.
std::string format_of_file(const LoggedStart& start) {
  std::string name = start.file_type.substr(0, start.file_type.find(" - "));
  if (start.file_type.ends_with(" - Medium")) name += "_m";
  if (start.file_type.ends_with(" - Small")) name += "_s";
  name = lower_case(std::move(name));
  const auto known = dtype_names();
  const bool is_known = std::ranges::find(known, name) != known.end();
  return is_known && is_file_format(parse_dtype(name)) ? name : std::string();
}

// The format that the row tells beside the command: of a converted engine, or of a GGUF file.
std::string format_of_row(const LoggedStart& start, const Catalog& catalog) {
  const std::string given = start.flags.value("quantization", std::string());
  const bool no_flag = find_flag(*start.engine->launch, "quantization") == nullptr;
  if (given.empty() || !no_flag) {
    std::string told = format_of_file(start);
    const auto named = find_checkpoint(catalog, model_name(start));
    if (!told.empty() && named->quantization.empty()) return told;
    return mixture_of_file(start, catalog);
  }
  return std::string(name_of(parse_dtype(given)));
}

// Settings that the row does not tell.
std::string unknown_settings(const LoggedStart& start) {
  for (const std::string_view key : {"recipe", "profile"}) {
    const std::string name = start.flags.value(std::string(key), std::string());
    if (!name.empty()) return fmt::format("the flags of {} {} are not in the log", key, name);
  }
  return "";
}

// A process of llama.cpp's own, which has asked for the device's memory and not allocated any.
constexpr double kBareContextGib = 0.1;

// What was in use at the engine's first look on a device of its own memory, where the log has both
// figures.
std::optional<double> used_gib(const LoggedStart& start, const std::string& board,
                               const Catalog& catalog) {
  if (catalog.device(board).memory_model == MemoryModel::unified) return std::nullopt;
  const Json total = setting_in(start.logged, "total_gib");
  const Json free = setting_in(start.logged, "free_before_gib");
  const Json free_mib = setting_in(start.logged, "free_before_mib");
  if (free_mib.is_number() && catalog.device(board).vendor == "nvidia") {
    const double reported = gib_from_bytes(catalog.device(board).memory_reported_bytes);
    return std::max(reported - free_mib.get<double>() / 1024 - kBareContextGib, 0.0);
  }
  if (!total.is_number() || !(free.is_number() || free.is_object())) return std::nullopt;
  double least = total.get<double>();
  for (const Json& one : free.is_object() ? free : Json::array({free})) {
    least = std::min(least, one.get<double>());
  }
  return total.get<double>() - least;
}

// Of what was in use, the part that the engine's own rule does not already count as its process's.
void add_other_memory(Scenario& scenario, const std::string& name, double used,
                      const Catalog& catalog) {
  const std::optional<BudgetedSystem> alone = try_system(scenario, catalog);
  const ByteCount own = alone ? alone->budget.terms[MemoryPurpose::others] : 0;
  set_option(scenario, "/device/memory_used_gib", std::max(used - gib_from_bytes(own), 0.0), name);
}

// On unified memory what was available before loading tells what others held.
void add_other_processes(const LoggedStart& start, const std::string& board, const Catalog& catalog,
                         Json& environment) {
  const Json free_mib = setting_in(start.logged, "free_before_mib");
  const DeviceSpec& unified = catalog.device(board);
  if (free_mib.is_number() && unified.memory_model == MemoryModel::unified &&
      unified.vendor == "nvidia") {
    const double free = free_mib.get<double>() / 1024;
    environment["system_gib"] = std::max(gib_from_bytes(unified.memory_reported_bytes) - free, 0.0);
    return;
  }
  const Json available = setting_in(start.logged, "load_begin_avail_gb");
  const DeviceSpec& device = catalog.device(board);
  if (!available.is_number() || device.memory_model != MemoryModel::unified) return;
  const Environment& idle = catalog.environment("native");
  const double held = gib_from_bytes(device.memory_reported_bytes - idle.system_bytes -
                                     idle.engine_host_bytes - kContextBytes) -
                      available.get<double>();
  if (held > 0) environment["processes_gib"] = held;
}

Scenario loaded(FromResult result, const LoggedStart& start, const std::string& board,
                const Catalog& catalog) {
  Json& json = result.scenario;
  json["device"]["name"] = board;
  const Json total = setting_in(start.logged, "total_gib");
  if (total.is_number()) json["device"]["memory_total_gib"] = total;
  // A container's /dev/shm is not in the logs, and nothing else of it changes memory.
  json["environment"] = Json::object({{"name", "native"}});
  add_other_processes(start, board, catalog, json["environment"]);
  // Rows were served beyond the trained length; only the memory is of interest.
  constexpr std::string_view kAllowLong = "allow_long_max_model_len";
  if (reads_option(*start.engine, kAllowLong)) json["engine"][std::string(kAllowLong)] = true;
  ScenarioDocument document{{start.id, std::move(json), {}}, {}};
  Scenario scenario = load_scenario(std::move(document), start.id, {});
  const std::optional<double> used = used_gib(start, board, catalog);
  if (used) add_other_memory(scenario, start.id, *used, catalog);
  return scenario;
}

}  // namespace

std::string command_of(const LoggedStart& start) {
  const EngineLaunch& launch = *start.engine->launch;
  CommandText text(launch);
  std::string environment;
  for (const auto& [key, value] : start.flags.items()) {
    if (key == "defaults" || key == "async_scheduling") continue;  // the latter holds no memory
    if (key == "env") {
      environment += value.get<std::string>() + " ";
    } else {
      text.add(key, per_request(launch, key, value, setting_in(start.flags, "parallel")));
    }
  }
  const auto add = [&](const Json& object, std::string_view key) {
    const Json value = setting_in(object, key);
    if (value.is_null() || has_flag(launch, start.flags, key)) return;
    text.add(std::string(key),
             per_request(launch, key, value, setting_in(start.logged, "n_seq_max")));
  };
  for (const std::string_view key : kResolvedSettings) add(start.resolved, key);
  for (const std::string_view key : kLoggedSettings) add(start.logged, key);
  return environment + (start.command.empty() ? text.command(model_name(start)) : start.command);
}

StartScenario start_scenario(const LoggedStart& start, const Catalog& catalog) {
  StartScenario result;
  const auto refuse = [&result](std::string why) {
    result.why = std::move(why);
    return result;
  };
  if (!start.not_scored.empty()) return refuse(start.not_scored);
  if (start.engine == nullptr) return refuse("engine unknown");
  if (!find_checkpoint(catalog, model_name(start))) return refuse("model unknown");
  const std::string board = find_board(start, catalog);
  if (board.empty()) return refuse("device unknown");
  if (const std::string why = unknown_settings(start); !why.empty()) return refuse(why);
  try {
    FromResult read = scenario_from_command(command_of(start), start.id, start.release);
    for (const std::string& flag : read.unknown_flags) {
      result.notes.push_back(fmt::format("flag {} is unknown", flag));
    }
    result.notes.insert(result.notes.end(), read.notes.begin(), read.notes.end());
    const bool spreads = start.engine->launch->spreads_by_itself;
    // Of the machine's devices some may have been left out.
    const std::size_t holding = devices_with_buffers(start.logged).size();
    const std::int64_t devices = holding > 0 ? static_cast<std::int64_t>(holding) : start.devices;
    if (spreads && devices > 1) {
      read.scenario["engine"]["pipeline_parallel_size"] = devices;
    }
    if (!read.scenario["engine"].contains("quantization")) {
      const std::string format = format_of_row(start, catalog);
      if (!format.empty()) read.scenario["engine"]["quantization"] = format;
    }
    result.scenario = loaded(std::move(read), start, board, catalog);
  } catch (const ConfigError& error) {
    return refuse(error.what());
  }
  return result;
}

}  // namespace headroom
