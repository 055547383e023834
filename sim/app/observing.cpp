#include "sim/app/observing.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "sim/app/api_key.hpp"
#include "sim/app/command.hpp"
#include "sim/app/input_text.hpp"
#include "sim/app/interruption.hpp"
#include "sim/app/list.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/folders.hpp"
#include "sim/kernel/text_file.hpp"
#include "sim/memory/capacity_systems.hpp"
#include "sim/observe/observe.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/workload_factory.hpp"
#include "sim/scenario/options.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostRequests = 1'000'000;
constexpr double kMostSeconds = 7 * 86400;
constexpr std::int64_t kMostUsers = 10'000;
constexpr double kHighestRate = 10'000;
constexpr std::int64_t kMostWarmup = 1000;
constexpr std::int64_t kInTokens = 1024;
constexpr std::int64_t kOutTokens = 256;

[[noreturn]] void refuse_flag(std::string_view flag, std::string problem,
                              ErrorKind kind = ErrorKind::value) {
  throw ConfigError(
      Complaint{.kind = kind, .origin = std::string(flag), .problem = std::move(problem)});
}

void check_range(std::string_view flag, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    refuse_flag(flag, fmt::format("expected {:g} to {:g}", low, high));
  }
}

void check_flags(const ObserveFlags& f) {
  if (f.rate && f.users) refuse_flag("--rate", "give --rate or --users", ErrorKind::conflict);
  if (f.trace && (f.users || !f.prompt.empty() || !f.output.empty())) {
    refuse_flag("--trace", "a trace has its own lengths and times: leave out --users, --in, --out",
                ErrorKind::conflict);
  }
  if (f.rate) check_range("--rate", *f.rate, 1e-6, kHighestRate);
  if (f.users) check_range("--users", static_cast<double>(*f.users), 1, kMostUsers);
  check_range("--requests", static_cast<double>(f.requests), 1, kMostRequests);
  check_range("--seconds", f.seconds, 0.1, kMostSeconds);
  check_range("--timeout", f.timeout_s, 0.1, kMostSeconds);
  check_range("--warmup", static_cast<double>(f.warmup), 0, kMostWarmup);
  check_range("--metrics-every", f.metrics_every_s, 0.1, kMostSeconds);
}

bool names_system(const ObserveFlags& f) {
  const SystemFlags& system = f.system;
  return !system.source.empty() || !system.models.empty() || !system.devices.empty() ||
         !system.engine.empty() || system.device_count;
}

// One device and one model: those that serve.
DescribedSystem one_system(const ObserveFlags& f, const std::string& asker) {
  if (!names_system(f)) return {{.json = {asker, Json::object(), {}}, .directory = {}}, {}};
  DescribedSystem system = described_system(f.system, asker);
  JsonDocument& document = system.document.json;
  const std::vector<std::string> models = split_list(f.system.models);
  const std::vector<std::string> devices = split_list(f.system.devices);
  if (models.size() > 1) refuse_flag("--model", "expected one: a server serves one");
  if (devices.size() > 1) refuse_flag("--device", "expected one: the server's");
  if (!models.empty()) document.root["model"] = models.front();
  if (!devices.empty()) set_device(devices.front(), document);
  return system;
}

// Its own traffic, or the scenario's with what the flags change.
void set_traffic(const ObserveFlags& f, DescribedSystem& system) {
  JsonDocument& document = system.document.json;
  if (!document.root.is_object()) {
    throw value_error(document, "", document.root, "expected an object");
  }
  if (f.trace) set_trace(document, input_path(*f.trace));
  const bool has_own = document.root.contains("workload");
  if (!has_own && !f.rate && !f.users) {
    refuse_flag("observe", "say how to load the server: --rate, --users, --trace or a scenario",
                ErrorKind::missing);
  }
  Json& workload = document.root["workload"];
  if (has_own && !workload.is_object()) {
    throw value_error(document, "/workload", workload, "expected an object");
  }
  if (!has_own && (f.prompt.empty() || f.output.empty())) {
    system.assumed.push_back(fmt::format("requests of {} tokens in and {} out (--in, --out)",
                                         tokens_of("--in", f.prompt, kInTokens),
                                         tokens_of("--out", f.output, kOutTokens)));
  }
  if (!f.trace && (!has_own || !f.prompt.empty())) {
    workload["prompt"] = {{"tokens", tokens_of("--in", f.prompt, kInTokens)}};
  }
  if (!f.trace && (!has_own || !f.output.empty())) {
    workload["output"] = {{"tokens", tokens_of("--out", f.output, kOutTokens)}};
  }
  if (!f.trace && (!has_own || f.users)) workload["num_requests"] = f.requests;
  if (f.users) {
    for (const char* key : {"arrivals", "duration_s", "num_sessions"}) workload.erase(key);
    workload["closed_loop"] = {{"users", *f.users}};
  } else if (f.rate) {
    workload.erase("closed_loop");
    set_option(document, fmt::format("workload.arrivals.request_rate={}", *f.rate));
  }
}

// A closed loop that sends the next request when one ends, and does nothing else.
std::optional<std::int64_t> plain_users(const Scenario& scenario) {
  const WorkloadSection& workload = scenario.workload;
  const bool plain = scenario.given_below("/workload/closed_loop/think_time").empty() &&
                     scenario.given_below("/workload/sessions").empty() &&
                     workload.classes.empty() && workload.closed_loop.start_within_s <= 0;
  return plain ? workload.closed_loop.users : std::nullopt;
}

// The text of a model of the user's own: the folder of the run shall not depend on other files.
std::string model_text(const Scenario& scenario, const Catalog& catalog) {
  if (catalog.has_model(scenario.model)) return {};
  fs::path path = fs::path(scenario.directory) / scenario.model;
  if (!is_there(path)) path = scenario.model;
  if (is_folder(path)) path /= "config.json";
  if (!is_there(path) || path.extension() != ".json") return {};
  return read_text_file(path);
}

// A line on stderr, where that is a terminal; wiped at the end.
class ProgressLine {
 public:
  ProgressLine(std::int64_t requests, double seconds)
      : visible_(::isatty(STDERR_FILENO) == 1), requests_(requests), seconds_(seconds) {}
  ~ProgressLine() {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const ObserveProgress& now) {
    constexpr double kEvery_s = 0.2;
    const bool is_soon = now.elapsed_s >= last_s_ && now.elapsed_s < last_s_ + kEvery_s;
    if (!visible_ || (shown_ && is_soon)) return;
    last_s_ = now.elapsed_s;
    shown_ = true;
    if (now.stage == "run") {
      fmt::print(stderr, "\r{} of {} requests, {} in flight, {} failed, {:.0f} s{}\033[K",
                 now.ended, requests_, now.sent - now.ended, now.failed, now.elapsed_s, left(now));
    } else {
      fmt::print(stderr, "\r{}\033[K", now.stage);
    }
    std::fflush(stderr);
  }

 private:
  // By whichever of the two limits comes first.
  [[nodiscard]] std::string left(const ObserveProgress& now) const {
    if (now.ended == 0) return "";
    const double by_requests =
        now.elapsed_s * static_cast<double>(requests_ - now.ended) / static_cast<double>(now.ended);
    return fmt::format(", about {:.0f} s left",
                       std::clamp(by_requests, 0.0, std::max(0.0, seconds_ - now.elapsed_s)));
  }

  bool visible_;
  std::int64_t requests_;
  double seconds_;
  bool shown_ = false;
  double last_s_ = 0;
};

}  // namespace

ObservePlan observe_plan(const ObserveFlags& flags, const std::string& asker) {
  check_flags(flags);
  ObserveFlags f = flags;
  std::ranges::transform(f.system.source, f.system.source.begin(), input_path);
  DescribedSystem system = one_system(f, asker);
  set_traffic(f, system);
  JsonDocument& document = system.document.json;
  for (const std::string& assignment : f.system.set) set_option(document, assignment);
  if (!f.columns.empty()) set_option(document, columns_setting(f.columns));
  ObservePlan plan;
  plan.question.scenario = document.root;
  // Traffic alone: what serves it does not matter to it.
  const bool has_system = document.root.contains("model") && document.root.contains("device");
  if (!document.root.contains("model")) document.root["model"] = "unknown";
  if (!document.root.contains("device")) document.root["device"] = "unknown";
  plan.scenario = load_scenario(std::move(system.document), asker, {});
  check_can_be_sent(plan.scenario);
  validate_workload(plan.scenario);
  if (has_system) {
    const Catalog catalog = load_catalog(f.catalog);
    (void)resolve(plan.scenario, catalog);  // its errors are better found before than after
    plan.question.model_file = model_text(plan.scenario, catalog);
  }
  const Workload workload = make_workload(plan.scenario);
  if (workload.source->next_time() == kNever) refuse_flag(asker, "the workload has no request");
  const Arrival first = workload.source->take();
  plan.first_prompt = first.prompt_tokens;
  plan.first_output = first.output_tokens;
  plan.question.classes = workload.facts.classes;
  plan.question.users = plain_users(plan.scenario);
  plan.question.most_requests = f.requests;
  plan.question.most_seconds = f.seconds;
  plan.assumed = std::move(system.assumed);
  return plan;
}

Observation observed(const ObserveFlags& flags, const ObservePlan& plan) {
  const Workload workload = make_workload(plan.scenario);
  const std::int64_t known = workload.facts.requests;
  return observed(flags, plan, *workload.source,
                  known > 0 ? std::min(known, flags.requests) : flags.requests);
}

Observation observed(const ObserveFlags& flags, const ObservePlan& plan, WorkloadSource& traffic,
                     std::int64_t requests) {
  ObserveOptions options;
  options.server = parse_server_url(flags.url);
  options.remote = flags.remote;
  options.key = api_key_from(flags.key_variable);
  options.model = flags.served_model;
  options.requests = flags.requests;
  options.seconds = flags.seconds;
  options.timeout_s = flags.timeout_s;
  options.warmup = flags.warmup;
  options.warmup_prompt = plan.first_prompt;
  options.warmup_output = plan.first_output;
  options.metrics_every_s = flags.metrics_every_s;
  ProgressLine progress(requests, flags.seconds);
  return observe(options, traffic,
                 {.stop = &stop_on_signals(),
                  .report = [&progress](const ObserveProgress& now) { progress.show(now); }});
}

}  // namespace headroom
