// `headroom serve SCENARIO`: the simulated deployment as a server of OpenAI's API.

#include <fmt/format.h>
#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/app/api_key.hpp"
#include "sim/app/command.hpp"
#include "sim/app/commands/short_flag.hpp"
#include "sim/app/failure.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/report/files/result_directory.hpp"
#include "sim/report/files/result_files.hpp"
#include "sim/report/files/served_files.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/resolve/run_verdict.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/server/emulator.hpp"
#include "sim/server/serve.hpp"
#include "sim/server/served_scenario.hpp"
#include "sim/server/tokenizer.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kDefaultPort = 8000;
constexpr double kSlowest = 0.001;
constexpr double kFastest = 1000;
constexpr std::int64_t kMostReplicas = 256;
constexpr double kLongestDrainS = 86'400;

struct ServeArguments {
  std::string scenario;
  std::vector<std::string> set;
  std::string catalog;
  std::string host = "127.0.0.1";
  std::int64_t port = kDefaultPort;
  double time_scale = 1;
  std::string served_model;
  std::string key_variable;
  double drain_s = 30;
  std::string output;
  std::string ui;
  bool startup = false;
  bool sleep_mode = false;
  std::int64_t replicas = 1;
  std::string tokenizer;
  std::string certificate_file;
  std::string key_file;
};

void check_flag(const char* flag, double value, double low, double high) {
  if (std::isfinite(value) && value >= low && value <= high) return;
  throw ConfigError(Complaint{.origin = flag,
                              .value = fmt::format("{}", value),
                              .problem = fmt::format("expected {} to {}", low, high)});
}

// Each client takes a descriptor.
void raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

// The scenario that is written beside the results names it, too.
void name_model_from_here(ScenarioDocument& given) {
  Json& root = given.json.root;
  if (!root.is_object() || !root.contains("model") || !root["model"].is_string()) return;
  const auto path = std::filesystem::path(given.directory) / root["model"].get<std::string>();
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    root["model"] = std::filesystem::absolute(path).string();
}

ScenarioDocument given_document(ServeArguments& a) {
  a.scenario = input_path(a.scenario);
  ScenarioDocument given = read_scenario_document(a.scenario);
  for (const std::string& assignment : a.set) set_option(given.json, assignment);
  add_plain_workload(given.json);
  name_model_from_here(given);
  return given;
}

std::string engine_version(const RunResult& setup, const std::string& otherwise) {
  const auto& version = setup.resolved.scenario.engine.version;
  return version ? *version : otherwise;
}

// What all servers of one command share.
struct Served {
  ScenarioDocument document;  // as it is written beside the results
  Scenario scenario;
  Scenario lengths;
  Catalog catalog;
  std::shared_ptr<const Tokenizer> tokenizer;
};

Served read_served(ServeArguments& a) {
  const ScenarioDocument given = given_document(a);
  // One after the other: g++ 12 destroys members twice where a later initialiser of the aggregate
  // throws.
  Served served;
  served.lengths = load_scenario(given, a.scenario, {});
  served.document = {served_document(given.json), given.directory};
  served.scenario = load_scenario(served.document, a.scenario, {});
  served.catalog = load_catalog(a.catalog);
  served.scenario.output.streaming = a.output.empty();  // nobody asks for records
  if (!a.tokenizer.empty()) {
    served.tokenizer = std::make_shared<const Tokenizer>(read_tokenizer(a.tokenizer));
  }
  return served;
}

ServeOptions serve_options(const ServeArguments& a, const RunResult& setup, std::int64_t number) {
  ServeOptions options;
  const std::int64_t port = a.port == 0 ? 0 : a.port + number;
  options.http = {.host = a.host,
                  .port = static_cast<std::uint16_t>(port),
                  .certificate_file = a.certificate_file,
                  .key_file = a.key_file};
  options.time_scale = a.time_scale;
  options.api_key = api_key_from(a.key_variable);
  options.version = engine_version(setup, kVersion);
  options.drain_s = a.drain_s;
  if (!a.ui.empty()) options.ui = UiFiles(a.ui);
  if (a.sleep_mode) options.sleep_mode = sleep_times_of(setup.resolved);
  if (a.startup) options.startup_s = setup.resolved.scenario.engine.restart_s.value_or(0);
  return options;
}

// One of the servers: a deployment of its own.
class OneServer {
 public:
  OneServer(const ServeArguments& a, const Served& served, std::int64_t number)
      : arguments_(a),
        served_(served),
        output_(a.replicas == 1 || a.output.empty() ? a.output
                                                    : fmt::format("{}/{}", a.output, number)),
        emulator_(served.scenario, served.lengths, served.catalog,
                  {.served_model = a.served_model,
                   .tokenizer = served.tokenizer,
                   .keeps_records = !a.output.empty()}) {
    if (emulator_.setup().budget.failure) return;
    if (!output_.empty()) directory_.emplace(output_, served_file_names());
    server_.emplace(serve_options(a, emulator_.setup(), number), emulator_);
  }

  // Whether the deployment starts; otherwise only finish() may be called.
  [[nodiscard]] bool starts() const { return server_.has_value(); }
  [[nodiscard]] std::string greeting() const {
    const bool is_v6 = arguments_.host.find(':') != std::string::npos;
    return fmt::format("serves {} at {}://{}:{}\n", emulator_.limits().model,
                       arguments_.certificate_file.empty() ? "http" : "https",
                       is_v6 ? "[" + arguments_.host + "]" : arguments_.host, server_->port());
  }
  void run(const std::atomic<bool>& stop) { server_->run(stop); }

  // Writes what was served. Returns the summary.
  [[nodiscard]] std::string finish() {
    server_.reset();
    const RunResult result = emulator_.finish();
    const RunVerdict verdict = judge_run(result, served_.catalog);
    if (directory_) {
      write_results(result, verdict, kVersion, *directory_);
      write_served_files(served_.document.json.root, emulator_.trace(), *directory_);
      directory_->publish();
    }
    return terminal_summary(result, verdict, output_);
  }

 private:
  const ServeArguments& arguments_;
  const Served& served_;
  std::string output_;
  Emulator emulator_;
  std::optional<ResultDirectory> directory_;
  std::optional<SimulatedServer> server_;
};

// Each on a thread of its own, until `stop` or until one of them fails. What each failed with;
// null where it did not.
std::vector<std::exception_ptr> run_all(std::deque<OneServer>& servers,
                                        const std::atomic<bool>& stop) {
  constexpr std::chrono::milliseconds kLookForStop{50};
  std::atomic<bool> ends{false};
  std::vector<std::exception_ptr> failures(servers.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    threads.emplace_back([&servers, &ends, &failures, i] {
      try {
        servers[i].run(ends);
      } catch (...) {
        failures[i] = std::current_exception();
        ends = true;
      }
    });
  }
  while (!stop && !ends) std::this_thread::sleep_for(kLookForStop);
  ends = true;
  for (std::thread& thread : threads) thread.join();
  return failures;
}

// The results of every server that did not fail, whatever became of the others.
void finish_all(std::deque<OneServer>& servers, std::vector<std::exception_ptr> failures) {
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (failures[i]) continue;
    try {
      print(servers[i].finish());
    } catch (...) {
      failures[i] = std::current_exception();
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

// A tokenizer that has no words for answers is known only now.
OneServer& add_server(std::deque<OneServer>& servers, const ServeArguments& a,
                      const Served& served) {
  try {
    return servers.emplace_back(a, served, static_cast<std::int64_t>(servers.size()));
  } catch (const ConfigError& error) {
    if (a.tokenizer.empty() || error.has_place()) throw;
    throw error.at("--tokenizer " + a.tokenizer, "");
  }
}

int serve_command(ServeArguments& a) {
  check_flag("--replicas", static_cast<double>(a.replicas), 1, kMostReplicas);
  check_flag("--port", static_cast<double>(a.port), 0, static_cast<double>(65'536 - a.replicas));
  check_flag("--time-scale", a.time_scale, kSlowest, kFastest);
  check_flag("--drain", a.drain_s, 0, kLongestDrainS);
  const Served served = read_served(a);
  raise_open_files();
  std::deque<OneServer> servers;
  for (std::int64_t i = 0; i < a.replicas; ++i) {
    OneServer& server = add_server(servers, a, served);
    if (server.starts()) continue;
    print(server.finish());
    return kExitDoesNotHold;
  }
  for (const OneServer& server : servers) print(server.greeting());
  if (!a.ui.empty()) print("the playground is at /ui/\n");
  std::fflush(stdout);
  finish_all(servers, run_all(servers, stop_on_signals()));
  return 0;
}

std::function<int()> add_serve(CLI::App& command) {
  const auto a = std::make_shared<ServeArguments>();
  command
      .add_option("scenario", a->scenario,
                  "a file (-: standard input), or a name from `list scenarios`")
      ->required();
  command.add_option("--set", a->set, "path=value, e.g. engine.max_num_seqs=128")
      ->allow_extra_args(false);
  command.add_option("--host", a->host, "address to listen at (127.0.0.1); 0.0.0.0: all networks");
  command.add_option("--port", a->port, "port to listen at (8000); 0: any that is free");
  command.add_option("--replicas", a->replicas,
                     "so many servers at consecutive ports, each a deployment of its own (1)");
  command.add_option("--tokenizer", a->tokenizer,
                     "tokenizer.json that prompts are cut by (a rule of about 1.3 tokens a word)");
  command.add_option("--time-scale", a->time_scale, "simulated seconds in one second (1)");
  command.add_option("--served-model", a->served_model, "the model's name for clients");
  command.add_option("--api-key-env", a->key_variable,
                     "variable of the environment that holds the key that clients must send");
  command.add_flag("--startup", a->startup,
                   "take as long to start as the engine (engine.restart_s); 503 until then");
  command.add_flag("--enable-sleep-mode", a->sleep_mode, "serve /sleep, /wake_up and /is_sleeping");
  CLI::Option* certificate =
      command.add_option("--ssl-certfile", a->certificate_file,
                         "certificate in PEM form, its chain behind it: serve HTTPS");
  command
      .add_option("--ssl-keyfile", a->key_file,
                  "its key in PEM form (in the file of --ssl-certfile)")
      ->needs(certificate);
  with_short_numbers(command.add_option("--drain", a->drain_s,
                                        "seconds to finish answers in when it is stopped (30)"),
                     "s");
  command.add_option("-o,--output", a->output,
                     "folder for what was served: its trace, and the results of a run");
  command.add_option("--ui", a->ui,
                     "folder of the playground (scripts/playground.sh), to be served at /ui/");
  command.add_option("--catalog", a->catalog, kCatalogHelp);
  return [a] { return serve_command(*a); };
}

}  // namespace

const Command kServeCommand{"serve", "be a server of OpenAI's API before a simulated deployment",
                            add_serve};

}  // namespace headroom
