// Closed loops of InferenceX (SemiAnalysis, Apache-2.0; 2025 and 2026) in the silicon sample of
// NVIDIA's aiconfigurator (Apache-2.0), with the server command behind each row in recipes.csv
// beside it. `batch_size` requests at a time, ten times as many in all, prompts and outputs uniform
// in [0.8, 1] of the lengths given; drawn here from that law, not those of the run. Which statistic
// the times are is not recorded: the mean here (medians of the replays differ by less than 1 %).
//
// A row names the model and its precision, the command often the checkpoint in another format: the
// row counts. Rows with one command and load are one run, whose figures are their medians.
//
// Some rows count the ranks of experts twice: a tp_size of 16 or 64 with as many x as many of
// experts in one node of eight stands for 4 or 8 (replayed so, they are as close as the others).
//
// Left out, with the reason: prefill and decode apart, rows without a command, models and devices
// that the catalog lacks, rows of attention by data ranks, which the commands do not have, and rows
// whose times are not those of their command: of speculative decoding, of compiling, or of a server
// that took fewer requests at a time.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sim/fidelity/measured_run.hpp"
#include "sim/intake/from.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/random.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kPromptsPerPlace = 10;
constexpr std::int64_t kFewestPrompts = 40;
constexpr std::int64_t kMostPlaces = 4096;
constexpr std::int64_t kMostDevices = 8;  // of one command
// A loop whose requests wait so many times as long as they decode was served a few at a time.
constexpr double kMostlyWaiting = 3;
constexpr std::uint64_t kSeed = 1;

// Rows that were timed with drafts, or while kernels were compiled: their times are far from those
// of rows with the same command beside them. Or without graphs, by another server (their source
// names Dynamo's image): 85 to 92 ms a token, whatever the load. Empty: any.
struct MislabelledRows {
  std::string_view backend;
  std::string_view version;
  std::string_view model;  // part of its name
  std::string_view precision;
  std::string_view tp_size;
  std::string_view measured;  // date of the recipe, or its beginning
  std::string_view why;
};
constexpr std::string_view kDrafts = "timed with speculative decoding, which the command lacks";
constexpr std::string_view kCompiling = "timed while kernels were compiled";
constexpr std::string_view kOtherServer = "timed with another server than its command";
constexpr std::array kMislabelled{
    MislabelledRows{"trtllm", "1.3.0rc1", "DeepSeek-R1-NVFP4", "", "", "", kOtherServer},
    MislabelledRows{"trtllm", "1.2.0rc6.post3", "DeepSeek-R1", "", "", "", kDrafts},
    MislabelledRows{"trtllm", "1.1.0rc2.post2", "DeepSeek-R1", "", "", "", kDrafts},
    MislabelledRows{"sglang", "0.5.9", "DeepSeek-R1", "fp8", "8", "", kDrafts},
    MislabelledRows{"sglang", "", "Qwen3.5-397B-A17B", "fp8", "4", "2026-03-20", kDrafts},
    MislabelledRows{"sglang", "", "DeepSeek", "fp4", "", "2025-11", kCompiling},
};

bool is_such(const FactRow& row, const FactRow& recipe, const MislabelledRows& rows) {
  const auto same = [&](std::string_view column, std::string_view wanted) {
    return wanted.empty() || row.text(column) == wanted;
  };
  return row.text("backend") == rows.backend && same("backend_version", rows.version) &&
         row.text("model_path").find(rows.model) != std::string::npos &&
         same("precision", rows.precision) && same("tp_size", rows.tp_size) &&
         recipe.text("measured").starts_with(rows.measured);
}

std::string device_of(const FactRow& row, const Catalog& catalog) {
  std::string id = row.text("system");
  std::ranges::replace(id, '_', '-');
  return catalog.has_device(id) ? id : id.substr(0, id.find('-'));
}

std::int64_t tensor_ranks(const FactRow& row) {
  const std::int64_t ranks = count_in(row, "tp_size", 1, 1024);
  const std::int64_t of_experts = row.count("moe_ep_size").value_or(1);
  const bool twice =
      ranks > kMostDevices && of_experts <= kMostDevices && of_experts * of_experts == ranks;
  return twice ? of_experts : ranks;
}

bool is_labelled_split(const FactRow& row) {
  return row.count("attention_dp_size").value_or(1) > 1;
}

bool is_told_to_split(const FactRow& recipe) {
  return recipe.text("config").find("enable_attention_dp: true") != std::string::npos;
}

// The label counts ranks once as those of attention and again as those of experts (8 x 8 of 8).
std::int64_t data_ranks(const FactRow& row) {
  const std::int64_t experts = count_in(row, "moe_ep_size", 1, kMostDevices);
  return experts > 1 ? experts : count_in(row, "moe_tp_size", 1, kMostDevices);
}

// The label counts those of one rank.
std::int64_t users_of(const FactRow& row) {
  const std::int64_t ranks = row.count("attention_dp_size").value_or(1);
  return count_in(row, "batch_size", 1, kMostPlaces) * std::max<std::int64_t>(1, ranks);
}

bool served_few_at_a_time(const FactRow& row) {
  const double decode_ms = number_in(row, "silicon_tpot_ms", 1e-3, 1e6) *
                           number_in(row, "osl", 3, static_cast<double>(kMostMeasuredTokens));
  return number_in(row, "silicon_ttft_ms", 1e-3, 1e7) > kMostlyWaiting * decode_ms;
}

std::string why_no_loop(const FactRow& row, const FactRow* recipe, const Catalog& catalog) {
  if (row.text("mode") != "agg") return "prefill and decode run on separate devices";
  if (recipe == nullptr) return "the server's command is not recorded";
  if (tensor_ranks(row) > kMostDevices) return "several nodes are not replayed";
  if (is_labelled_split(row) != is_told_to_split(*recipe)) {
    return "label and command differ about attention by data ranks";
  }
  if (served_few_at_a_time(row)) return "the server took fewer requests at a time than its command";
  if (!catalog.has_device(device_of(row, catalog))) {
    return row.text("system") + " is not in the catalog";
  }
  const auto* mislabelled = std::ranges::find_if(
      kMislabelled, [&](const MislabelledRows& rows) { return is_such(row, *recipe, rows); });
  return mislabelled == kMislabelled.end() ? "" : std::string(mislabelled->why);
}

// "1.2.0rc2.post2": releases matter, not candidates of them. Empty: a nightly build, or none.
std::string release_of(const FactRow& row) {
  const std::string& recorded = row.text("backend_version");
  const std::size_t dot = recorded.find('.');
  if (recorded.empty() || recorded.front() < '0' || recorded.front() > '9' ||
      dot == std::string::npos) {
    return "";
  }
  return recorded.substr(0, recorded.find_first_not_of("0123456789", dot + 1));
}

// "NAME:" and contents, joined by ";;".
SettingsFiles settings_of(const FactRow& recipe) {
  SettingsFiles files;
  std::string_view left = recipe.text("config");
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(";;"), left.size());
    const std::string_view part = left.substr(0, end);
    left.remove_prefix(std::min(end + 2, left.size()));
    const std::size_t name = part.find(":\n");
    if (name == std::string_view::npos) {
      throw DataError(fmt::format("{}:{}: config: expected NAME: and the file's contents",
                                  recipe.file, recipe.line));
    }
    files.emplace(part.substr(0, name), fmt::format("{}\n", part.substr(name + 2)));
  }
  return files;
}

// With the variables of the engine, which precede it as in a shell; those with quotes in them are
// cut off in the table.
std::string command_of(const FactRow& row, const FactRow& recipe) {
  std::string command;
  std::string_view left = recipe.text("env");
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(' '), left.size());
    const std::string_view variable = left.substr(0, end);
    if (variable.find_first_of("'\"") == std::string_view::npos && !variable.empty()) {
      command += fmt::format("{} ", variable);
    }
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  command += recipe.text("server");
  // Put together from the label, which gives each rank of attention one device.
  if (is_labelled_split(row)) command += fmt::format(" --tp_size={}", data_ranks(row));
  return command;
}

// What `precision` makes of the model that the command names; empty: nothing.
std::string quantization_of(const FactRow& row, const std::string& name, const Catalog& catalog) {
  if (!catalog.has_model(name)) return "";  // one that others made: its name says it
  const std::string_view own = name_of(main_dtype(catalog.model(name)));
  const std::string& wanted = row.text("precision");
  if (wanted == "fp8" && own != "fp8") return "fp8";
  if (wanted == "fp4" && own != "nvfp4" && own != "mxfp4") return "nvfp4";
  return "";
}

Scenario scenario_of(const FactRow& row, const FactRow& recipe, const Catalog& catalog) {
  const std::string place = fmt::format("{}:{}", recipe.file, recipe.line);
  const std::string release = release_of(row);
  Json root =
      scenario_from_command(command_of(row, recipe), place, release, settings_of(recipe)).scenario;
  if (!root.contains("model")) {
    throw ConfigError(Complaint{.origin = place, .problem = "the command names no model"});
  }
  root["device"] = device_of(row, catalog);
  Json& engine = root["engine"];
  if (!is_labelled_split(row)) {
    engine["tensor_parallel_size"] = tensor_ranks(row);
  } else {
    // The recorded command captures graphs for the label's users, a share of a rank's.
    constexpr const char* kGraphs = "cuda_graph_max_batch_size";
    const std::int64_t rank_users = (users_of(row) + data_ranks(row) - 1) / data_ranks(row);
    if (engine.contains(kGraphs) && engine[kGraphs] < rank_users) engine[kGraphs] = rank_users;
  }
  if (!engine.contains("quantization")) {
    const std::string wanted = quantization_of(row, root.at("model").get<std::string>(), catalog);
    if (!wanted.empty()) engine["quantization"] = wanted;
  }
  return recorded_scenario(place, std::move(root));
}

std::vector<Arrival> drawn(std::int64_t requests, std::int64_t prompt, std::int64_t output) {
  RandomStream prompts(kSeed, "measured/prompt");
  RandomStream outputs(kSeed, "measured/output");
  const auto draw = [](RandomStream& stream, std::int64_t most) {
    return static_cast<std::int32_t>(
        stream.uniform_int(std::max<std::int64_t>(1, most * 4 / 5), most));
  };
  std::vector<Arrival> arrivals;
  arrivals.reserve(static_cast<std::size_t>(requests));
  for (std::int64_t i = 0; i < requests; ++i) {
    Arrival arrival;
    arrival.prompt_tokens = draw(prompts, prompt);
    arrival.output_tokens = arrival.max_tokens = draw(outputs, output);
    arrivals.push_back(arrival);
  }
  return arrivals;
}

// Rows of one command and load.
struct LoopPoint {
  const FactRow* row = nullptr;  // the first
  const FactRow* recipe = nullptr;
  std::vector<double> ttft_ms;
  std::vector<double> tpot_ms;
};

std::string load_of(const FactRow& row, const Catalog& catalog) {
  const auto ranks = [&](const char* what, const char* column) {
    const std::int64_t count = row.count(column).value_or(1);
    return count > 1 ? fmt::format(" {}{}", what, count) : std::string();
  };
  const std::string& version = row.text("backend_version");
  const std::string data = is_labelled_split(row) ? fmt::format(" DP{}", data_ranks(row)) : "";
  return fmt::format("{} {}{} {} {}/TP{}{}{} {}x{} c{:03}", device_of(row, catalog),
                     row.text("backend"), version.empty() ? "" : " " + version,
                     row.text("model_path").substr(row.text("model_path").rfind('/') + 1),
                     row.text("precision"), tensor_ranks(row), ranks("EP", "moe_ep_size"), data,
                     count_in(row, "isl", 1, kMostMeasuredTokens),
                     count_in(row, "osl", 3, kMostMeasuredTokens), users_of(row));
}

MeasuredRun run_of(const LoopPoint& point, const Catalog& catalog) {
  const FactRow& row = *point.row;
  MeasuredRun run;
  run.scenario = scenario_of(row, *point.recipe, catalog);
  run.concurrency = users_of(row);
  run.arrivals = drawn(std::max(kPromptsPerPlace * run.concurrency, kFewestPrompts),
                       count_in(row, "isl", 1, kMostMeasuredTokens),
                       count_in(row, "osl", 3, kMostMeasuredTokens));
  run.label = load_of(row, catalog);
  run.measured = {{"mean_ttft_ms", median_of(point.ttft_ms)},
                  {"mean_tpot_ms", median_of(point.tpot_ms)}};
  run.settings_differ = point.recipe->text("script_state") != "of that day";
  return run;
}

std::map<std::string, const FactRow*> by_id(const std::vector<FactRow>& rows) {
  std::map<std::string, const FactRow*> found;
  for (const FactRow& row : rows) {
    if (found.emplace(row.text("id"), &row).second) continue;
    throw DataError(
        fmt::format("{}:{}: id {} stands above, too", row.file, row.line, row.text("id")));
  }
  return found;
}

}  // namespace

void read_closed_loops(std::istream& sample, std::istream& recipes, const std::string& name,
                       const Catalog& catalog, MeasuredRuns& result) {
  const std::vector<FactRow> rows =
      read_facts(sample, name + "/silicon_sample.csv",
                 {"id", "backend", "backend_version", "model_path", "system", "precision", "mode",
                  "isl", "osl", "batch_size", "tp_size", "attention_dp_size", "moe_tp_size",
                  "moe_ep_size", "silicon_ttft_ms", "silicon_tpot_ms"});
  refuse_copies(rows);
  const std::vector<FactRow> commands =
      read_facts(recipes, name + "/recipes.csv",
                 {"id", "measured", "script_state", "server", "config", "env"});
  const std::map<std::string, const FactRow*> recipe_of = by_id(commands);
  // By load, then by command.
  std::map<std::pair<std::string, std::string>, LoopPoint> points;
  for (const FactRow& row : rows) {
    const auto found = recipe_of.find(row.text("id"));
    const FactRow* recipe = found == recipe_of.end() ? nullptr : found->second;
    std::string why = why_no_loop(row, recipe, catalog);
    if (!why.empty()) {
      result.excluded.push_back({fmt::format("{}/line {}", name, row.line), std::move(why)});
      continue;
    }
    LoopPoint& point =
        points[{load_of(row, catalog), command_of(row, *recipe) + recipe->text("config")}];
    if (point.row == nullptr) {
      point.row = &row;
      point.recipe = recipe;
    }
    point.ttft_ms.push_back(number_in(row, "silicon_ttft_ms", 1e-3, 1e7));
    point.tpot_ms.push_back(number_in(row, "silicon_tpot_ms", 1e-3, 1e6));
  }
  std::map<std::string, int> copies;  // of a load, by other commands
  for (const auto& [key, point] : points) {
    const int copy = ++copies[key.first];
    const std::string data_set =
        fmt::format("{}/{}{}", name, key.first, copy > 1 ? fmt::format(" ({})", copy) : "");
    try {
      result.runs.push_back(run_of(point, catalog));
      result.runs.back().data_set = data_set;
    } catch (const ConfigError& error) {
      result.excluded.push_back({data_set, error.what()});
    }
  }
}

}  // namespace headroom
