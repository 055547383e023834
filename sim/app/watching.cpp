#include "sim/app/watching.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "sim/app/api_key.hpp"
#include "sim/app/list.hpp"
#include "sim/app/threads.hpp"
#include "sim/engines/engine_metrics.hpp"
#include "sim/intake/from.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/memory/capacity_systems.hpp"
#include "sim/observe/completion_call.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/ask/ask.hpp"
#include "sim/study/ask/ask_target.hpp"

namespace headroom {
namespace {

constexpr TimeNs kTimeout = 5 * kNsPerSecond;
constexpr std::int64_t kRequests = 2000;  // of a simulated load: twenty of them beyond p99
constexpr double kShortest_s = 0.1;
constexpr double kLongest_s = 7 * 86400;

void check_seconds(std::string_view flag, double value, double low) {
  if (value >= low && value <= kLongest_s) return;
  throw ConfigError(Complaint{.kind = ErrorKind::value,
                              .origin = std::string(flag),
                              .value = fmt::format("{}", value),
                              .problem = fmt::format("expected {:g} to {:g}", low, kLongest_s)});
}

WatchFlags checked(WatchFlags flags) {
  check_seconds("--every", flags.every_s, kShortest_s);
  check_seconds("--window", flags.window_s, flags.every_s);
  return flags;
}

std::string one_of(std::string_view flag, const std::vector<std::string>& texts) {
  const std::vector<std::string> all = split_list(texts);
  if (all.size() <= 1) return all.empty() ? "" : all.front();
  throw ConfigError(Complaint{.origin = std::string(flag),
                              .problem = "expected one: that of the server that is watched"});
}

bool is_described(const SystemFlags& system) {
  return !system.source.empty() || !system.models.empty();
}

TimeNs nanoseconds(double seconds) { return static_cast<TimeNs>(seconds * kNsPerSecondReal); }

std::string breaks_text(const AskAnswer& answer) {
  if (answer.verdict == HoldVerdict::does_not_start) return answer.reason;
  if (!answer.largest_load) return "no one number is its load";
  const AskEdge& edge = *answer.largest_load;
  std::string text(sentence_of(edge.binds));
  if (!edge.why.empty()) text += (text.empty() ? "" : ": ") + edge.why;
  return text;
}

}  // namespace

Watching::Watching(const WatchFlags& flags, const std::atomic<bool>& stop)
    : flags_(checked(flags)),
      stop_(stop),
      catalog_(load_catalog(flags_.catalog)),
      targets_(parse_targets(flags_.targets)),
      client_(parse_server_url(flags_.url), flags_.remote, api_key_from(flags_.key_variable),
              &stop),
      window_(nanoseconds(flags_.window_s)) {
  view_.url = flags_.url;
  const std::string model = one_of("--model", flags_.system.models);
  const std::string device = one_of("--device", flags_.system.devices);
  if (is_described(flags_.system)) {
    system_ = described_system(flags_.system, "watch").document;
  } else if (!device.empty()) {
    // The server says which model and engine it is.
    std::istringstream text(metrics());
    system_ = {.json = {"watch", scenario_from_metrics(text, flags_.url).scenario, {}},
               .directory = {}};
    system_->json.root.erase("workload");
  } else if (!targets_.empty()) {
    throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                .origin = "--slo",
                                .problem = "targets are kept by a system: add --device, or what "
                                           "serves, as its command behind --"});
  }
  if (!system_) return;
  if (!model.empty()) system_->json.root["model"] = model;
  set_device(device, system_->json);
  for (const std::string& assignment : flags_.system.set) {
    set_option(system_->json, assignment);
  }
}

std::string Watching::metrics() {
  HttpCall call;
  call.path = "/metrics";
  call.timeout_ns = kTimeout;
  HttpEnd end = fetch(client_, std::move(call));
  if (end.problem.empty() && end.status == kHttpOk) return std::move(end.body);
  throw DataError(fmt::format("{}/metrics: {}", flags_.url, refusal_text(end)));
}

void Watching::read() {
  try {
    const std::string text = metrics();
    window_.read(text, flags_.url + "/metrics", client_.now_ns());
    view_.problem.clear();
  } catch (const DataError& error) {
    if (window_.engine() == nullptr) throw;
    view_.problem = error.what();
    return;
  }
  view_.engine = window_.engine()->name;
  view_.restarts = window_.restarts();
  view_.traffic = window_.traffic();
  view_.verdict = watch_verdict(view_.traffic, view_.limit ? &*view_.limit : nullptr);
}

std::optional<ScenarioDocument> Watching::question() const {
  const WatchedTraffic& traffic = view_.traffic;
  if (!system_ || !traffic.prompt || !traffic.output) return std::nullopt;
  ScenarioDocument document = *system_;
  Json& root = document.json.root;
  root["workload"] = {{"num_requests", kRequests},
                      {"prompt", length_section(*traffic.prompt).section},
                      {"output", length_section(*traffic.output).section}};
  set_option(document.json, fmt::format("workload.arrivals.request_rate={}",
                                        std::max(traffic.arrivals_per_s.value_or(1), 1e-3)));
  return document;
}

void Watching::update_limit() {
  if (view_.limit && !is_outdated(*view_.limit, view_.traffic)) return;
  AskQuery query;
  if (auto document = question()) {
    query.document = std::move(*document);
  } else {
    return;
  }
  query.targets = targets_;
  query.with_changes = false;
  const AskAnswer answer = ask(query, catalog_, {threads_of(flags_.threads), &stop_});
  if (answer.interrupted) return;
  WatchLimit limit;
  if (answer.largest_load) limit.rate = answer.largest_load->largest;
  limit.breaks = breaks_text(answer);
  limit.pool_tokens = static_cast<double>(answer.run.pool_tokens) *
                      static_cast<double>(std::max<std::int64_t>(1, view_.traffic.engines));
  limit.mean_prompt_tokens = view_.traffic.prompt->mean();
  limit.mean_output_tokens = view_.traffic.output->mean();
  view_.limit = std::move(limit);
  view_.verdict = watch_verdict(view_.traffic, &*view_.limit);
}

}  // namespace headroom
