#include "sim/app/plan_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hardware/device_names.hpp"
#include "sim/app/system_source.hpp"
#include "sim/engines/said_engine.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/memory/capacity_systems.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/study/ask/ask_load.hpp"
#include "sim/study/ask/ask_target.hpp"

namespace headroom {
namespace {

// A fleet that is a little too small falls behind slowly: in five minutes by many seconds.
constexpr double kLeastTrafficS = 300;
// Traffic lasts for several answers, so that as many are under way as in the long run. At 20 to 50
// ms a token these are two to five of them.
constexpr double kTrafficSPerToken = 0.1;

// 200, and not 200.0, as people write it.
Json plain_number(double value) {
  constexpr double kMost = 1e15;
  const bool is_whole = value == std::floor(value) && std::abs(value) < kMost;
  return is_whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

// "--price" for people who did not give it.
std::string price_hint(const std::vector<std::string>& devices) {
  if (devices.empty()) return "$ per hour of each instance";
  std::vector<std::string> prices;
  std::vector<std::string> ones;
  for (const std::string& device : devices) {
    prices.push_back("PRICE_OF_" + device);
    ones.emplace_back("1");
  }
  return fmt::format("$ per hour of each instance: --price {}; {} compares their number",
                     fmt::join(prices, ","), fmt::join(ones, ","));
}

void refuse_missing(const PlanFlags& flags, const std::vector<std::string>& models,
                    const std::vector<std::string>& devices) {
  std::vector<std::string> missing;
  const auto need = [&](bool given, std::string what) {
    if (!given) missing.push_back(std::move(what));
  };
  need(!models.empty(), "--model (one or several: llama-3.1-8b,qwen3-14b)");
  need(!devices.empty(), "--device (one or several instances: 8xl40s,8xh100-sxm)");
  need(flags.traffic.rate || flags.traffic.trace, "--rate (requests per second) or --trace");
  need(!flags.targets.empty(), "--slo (p99_ttft=1s,p99_tpot=50ms)");
  need(!split_list(flags.prices).empty(), fmt::format("--price ({})", price_hint(devices)));
  if (missing.empty()) return;
  throw ConfigError(Complaint{.kind = ErrorKind::missing,
                              .origin = "fleet plan",
                              .problem = "a plan without a file needs " + comma_list(missing)});
}

class PlanWriter {
 public:
  PlanWriter(const PlanFlags& flags, const Catalog& catalog) : flags_(flags), catalog_(catalog) {}

  DescribedPlan write() {
    models_ = split_list(flags_.models);
    devices_ = split_list(flags_.devices);
    check_traffic(flags_.traffic);
    refuse_missing(flags_, models_, devices_);
    plan_.document.name = "fleet plan";
    root()["name"] = "fleet";
    set_traffic();
    keep_targets(parse_targets(flags_.targets), plan_.document, "--slo");
    set_models();
    set_instances();
    set_engines();
    set_splits();
    leave_out_answers();
    if (flags_.failures) {
      set("/failures", *flags_.failures, fmt::format("--failures {}", *flags_.failures));
    }
    for (std::string& note : unit_notes(flags_.targets)) plan_.assumed.push_back(std::move(note));
    return std::move(plan_);
  }

 private:
  [[nodiscard]] Json& root() { return plan_.document.root; }

  void set(const std::string& pointer, Json value, std::string flag) {
    root()[Json::json_pointer(pointer)] = std::move(value);
    plan_.document.overrides[pointer] = std::move(flag);
  }

  void set_traffic() {
    const TrafficFlags& traffic = flags_.traffic;
    Json& workload = root()["traffic"]["scenario"]["workload"];
    if (traffic.trace) {
      workload["trace"]["file"] = *traffic.trace;
      plan_.document.overrides["/traffic/scenario/workload/trace/file"] =
          fmt::format("--trace {}", *traffic.trace);
      if (traffic.rate) {
        workload["arrivals"]["request_rate"] = plain_number(*traffic.rate);  // it has no times
      }
      return;
    }
    const std::int64_t output = output_tokens(traffic);
    const double tokens_s = kTrafficSPerToken * static_cast<double>(output);
    const double requests_s = static_cast<double>(ask_requests(output)) / *traffic.rate;
    const double duration_s = std::ceil(std::max({kLeastTrafficS, tokens_s, requests_s}));
    workload["arrivals"] = {{"request_rate", plain_number(*traffic.rate)}};
    workload["duration_s"] = plain_number(duration_s);
    workload["prompt"] = {{"tokens", prompt_tokens(traffic)}};
    workload["output"] = {{"tokens", output}};
    workload["max_tokens"] = declared_lengths();
    workload["max_tokens"]["times_output"] = 1;  // a saved plan is edited: the factor is shown
    if (traffic.prompt.empty() || traffic.output.empty()) {
      plan_.assumed.push_back(usual_lengths(traffic));
    }
  }

  void set_models() {
    for (std::size_t i = 0; i < models_.size(); ++i) {
      set(fmt::format("/models/{}", i), models_[i], "--model " + models_[i]);
    }
  }

  void set_instances() {
    const std::vector<std::string> prices = split_list(flags_.prices);
    if (prices.size() != devices_.size()) {
      throw ConfigError(Complaint{
          .origin = "--price",
          .value = fmt::format("{}", fmt::join(flags_.prices, ",")),
          .problem = fmt::format("expected $ per hour of each instance, so {} of them: {}",
                                 devices_.size(), comma_list(devices_))});
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const std::string place = fmt::format("/instances/{}", i);
      const std::optional<CountedDevice> counted = counted_device(devices_[i]);
      const std::int64_t gpus = counted ? counted->count : 1;
      const std::string flag = "--device " + devices_[i];
      most_gpus_ = std::max(most_gpus_, gpus);
      set(place + "/name", devices_[i], flag);
      set(place + "/device", counted ? counted->name : devices_[i], flag);
      set(place + "/gpus", gpus, flag);
      const std::optional<double> price = decimal_number(prices[i]);
      set(place + "/price_per_hour", price ? plain_number(*price) : Json(prices[i]),
          "--price " + prices[i]);
      root()["instances"][i]["price_source"] = "--price";
    }
  }

  void add_engine(const Json& engine, const std::string& flag) {
    const Json& known = root()["engines"];
    if (std::ranges::find(known, engine) != known.end()) return;
    set(fmt::format("/engines/{}", known.size()), engine, flag);
  }

  // Those that are named; else those that `ask` takes for the devices.
  void set_engines() {
    root()["engines"] = Json::array();
    for (const std::string& text : split_list(flags_.engines)) {
      const SaidEngine said = said_engine(text, "--engine");
      Json engine = {{"name", said.name}};
      if (!said.version.empty()) engine["version"] = said.version;
      add_engine(engine, "--engine " + text);
    }
    if (!root()["engines"].empty()) return;
    for (const std::string& device : devices_) {
      Json system = Json::object();
      std::string note = set_engine_of_device(device, system, catalog_);
      if (!note.empty()) plan_.assumed.push_back(std::move(note));
      const Json usual = {{"name", Scenario{}.engine.name}};
      add_engine(system.value("engine", usual), "--device " + device);
    }
  }

  // Replicas of 1, 2, 4, ... devices, as far as an instance has them.
  void set_splits() {
    Json& sizes = root()["tensor_parallel_size"] = Json::array();
    for (std::int64_t size = 1; size <= std::max<std::int64_t>(most_gpus_, 1); size *= 2) {
      sizes.push_back(size);
    }
  }

  // False also of a model that cannot run like this: the planner says why.
  [[nodiscard]] bool makes_only_vectors(const std::string& model) {
    Json system = {{"model", model},
                   {"device", root()["instances"][0]["device"]},
                   {"engine", root()["engines"][0]}};
    try {
      const ScenarioDocument document{{"fleet plan", std::move(system), {}}, ""};
      return makes_vectors(with_settings(document, {}), catalog_);
    } catch (const UserError&) {
      return false;
    }
  }

  // For models that make vectors prompts alone count, as `ask` simulates them.
  void leave_out_answers() {
    if (flags_.traffic.trace || output_tokens(flags_.traffic) == 1) return;
    const auto all = std::ssize(models_);
    const auto vectors = std::ranges::count_if(
        models_, [this](const std::string& model) { return makes_only_vectors(model); });
    if (vectors == 0) return;
    if (vectors < all || !flags_.traffic.output.empty()) {
      throw ConfigError(Complaint{
          .kind = ErrorKind::unsupported,
          .origin = vectors < all ? "--model" : "--out",
          .value = vectors < all ? comma_list(models_) : flags_.traffic.output,
          .problem = vectors < all
                         ? "some make vectors of prompts, and some tokens: plan them apart"
                         : "vectors are made of prompts, and no tokens: leave it out"});
    }
    root()["traffic"]["scenario"]["workload"]["output"] = {{"tokens", 1}};
    std::erase(plan_.assumed, usual_lengths(flags_.traffic));
    plan_.assumed.push_back(
        fmt::format("{}: vectors, and no tokens; prompts alone are simulated ({} tokens in, 1 out)",
                    comma_list(models_), prompt_tokens(flags_.traffic)));
  }

  const PlanFlags& flags_;
  const Catalog& catalog_;
  std::vector<std::string> models_;
  std::vector<std::string> devices_;
  std::int64_t most_gpus_ = 0;
  DescribedPlan plan_;
};

}  // namespace

std::vector<std::string> given_flags(const PlanFlags& flags) {
  std::vector<std::string> given;
  const auto add = [&given](bool is_given, const char* flag) {
    if (is_given) given.emplace_back(flag);
  };
  add(!flags.models.empty(), "--model");
  add(!flags.devices.empty(), "--device");
  add(!flags.prices.empty(), "--price");
  add(!flags.engines.empty(), "--engine");
  add(flags.traffic.rate.has_value(), "--rate");
  add(!flags.traffic.prompt.empty(), "--in");
  add(!flags.traffic.output.empty(), "--out");
  add(!flags.targets.empty(), "--slo");
  add(flags.failures.has_value(), "--failures");
  return given;
}

DescribedPlan plan_of_flags(const PlanFlags& flags, const Catalog& catalog) {
  return PlanWriter(flags, catalog).write();
}

}  // namespace headroom
