#pragma once
// How people start an engine: its programs, its containers, its flags and what it concludes from
// them, and the command that starts it with a scenario's options.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/flags.hpp"
#include "sim/engines/memory_message.hpp"
#include "sim/options/json.hpp"

namespace headroom {

struct LaunchDraft;
struct StartedLines;

// A program with its subcommand, or a Python module with one.
struct LaunchProgram {
  std::string_view name;             // without folder
  std::string_view subcommand = {};  // empty: none
};

struct LaunchImage {
  std::string_view repository;  // as in the image's name, without registry
  bool starts_engine = false;   // its entry point is the server: the command is flags only
  bool tag_is_release = false;
};

// How the engine is started in what people deploy. Texts are empty where it is not known.
struct EngineDeployment {
  std::string_view image = {};  // "vllm/vllm-openai:v{}": of a release of three numbers
  // The patch that is modelled for a version of two numbers. Null: the first one.
  std::string (*whole_release)(const std::string& version) = nullptr;
  std::string_view host_flag = "--host";
  std::string_view port_flag = "--port";
  std::string_view health_path = "/health";
  // What only its command knows, all in first names of rows; the other rows are keys of the file
  // that `settings_flag` names. Empty: every row is a flag of the command.
  std::span<const std::string_view> command_flags = {};
  std::string_view settings_flag = {};
  // Its words for moving KV between prefill and decode replicas.
  std::span<const std::string_view> kv_transfer = {};
  // Under NVIDIA Dynamo: the module of `python3 -m` and the image; a role, "--flag".
  std::string_view dynamo_module = {};
  std::string_view dynamo_image = {};
  std::string_view dynamo_role_flag = {};
  // Of its own Helm chart: the section with its flags ("extraArgs"), and the end of the names of
  // the Deployments that the chart makes of a release and a model, "RELEASE-MODEL<end>".
  std::string_view chart_section = {};
  std::string_view chart_workload = {};
};

// How its log begins to print the arguments of a start, as Python or Rust shows them: "args: " in
// front of "Namespace(".
struct PrintedStart {
  std::string_view before = {};
  std::string_view value = {};
  bool has_defaults = false;        // all arguments are printed, not only those that were given
  std::string_view model_key = {};  // of the positional model; empty: no key but the flag's name
};

struct EngineLaunch {
  std::string_view title;
  std::string_view examples;  // "vllm serve MODEL, ...": what is understood, for error messages
  // "vllm serve {}": the command of a model's name, in front of flags. Empty: flags cannot say it.
  std::string_view command = {};
  std::span<const LaunchProgram> programs = {};
  std::span<const LaunchProgram> modules = {};  // of `python -m`
  std::span<const LaunchImage> images = {};
  // Entry point of images that start the engine. `idle_command`: its arguments when the container
  // gets none.
  std::span<const std::string_view> entrypoint = {};
  std::string_view idle_command = {};
  std::string_view server_word = {};  // "--a|-b": a first word that only chooses the server

  std::span<const FlagRow> rows = {};
  bool abbreviations = false;  // argparse: a beginning that only one flag has is that flag
  bool positional_model = false;
  bool settings_win = false;  // over flags
  // Beginnings of environment variables that configure this engine: "VLLM_".
  std::string_view variable_prefixes = {};

  // What it writes about memory, the fullest message of a kind first.
  std::span<const MemoryMessage> messages = {};
  // What it writes when it starts well. Null: not known, or EngineLog reads it.
  const StartedLines* started = nullptr;
  std::span<const PrintedStart> printed = {};

  // Spreads a model over the devices that it sees: their number is no part of its flags.
  bool spreads_by_itself = false;
  // Data parallel ranks have devices of their own; else they divide those of a rank's attention.
  bool own_devices_per_rank = false;
  // What it concludes from all flags together. Null: nothing.
  void (*settle)(LaunchDraft& draft) = nullptr;

  EngineDeployment deployment = {};
  // The inverse of settle: turns the options of a section into what flags say. Returns the words of
  // switches that go with them. Null: they are the same.
  std::vector<std::string> (*lay_out)(Json& engine) = nullptr;
};

}  // namespace headroom
