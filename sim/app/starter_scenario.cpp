#include "sim/app/starter_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sim/app/system_source.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/scenario/option_value.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/ask/ask_load.hpp"
#include "sim/study/ask/ask_target.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kStarterRequests = 2000;
constexpr double kStarterRate = 1;

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kComments{
    {{"/model", "of `headroom list models`, of Hugging Face, or the path of a config.json"},
     {"/device", "`headroom list devices`"},
     {"/engine/name", "`headroom list engines`"},
     {"/engine/version", "the release whose rules apply"},
     {"/workload/num_requests", "twenty of 2000 lie beyond p99"},
     {"/workload/duration_s", "users send for five minutes"},
     {"/workload/arrivals/request_rate", "requests per second; Poisson arrivals"},
     {"/workload/closed_loop/users", "each waits for its answer"},
     {"/workload/prompt/tokens",
      "or draw them: law: lognormal, median: 1020, sigma: 0.8, max: 12000"},
     {"/workload/output/tokens", "likewise"},
     {"/slo", "99 % of the requests must keep ttft, tpot and e2el; all together the rest"}}};

// "ttft=2s" is a target of each request, "p99_ttft=2s" a limit on all of them.
void set_targets(Json& root, const std::vector<std::string>& texts) {
  constexpr std::array<std::string_view, 3> kOfEach{"ttft", "tpot", "e2el"};
  for (const std::string& text : texts) {
    for (const std::string_view part : split(text, ',')) {
      const std::string_view target = trimmed(part);
      if (target.empty()) continue;
      const std::string_view name = trimmed(target.substr(0, target.find_first_of("=<:")));
      const bool of_each = std::ranges::any_of(kOfEach, [&](std::string_view latency) {
        return name == latency || name == std::string(latency) + "_ms";
      });
      const Limit limit =
          parse_targets({of_each ? fmt::format("p99_{}", target) : std::string(target)}).front();
      const std::string option =
          of_each ? limit.metric.substr(std::string_view("p99_").size()) : limit.metric;
      if (find_option("/slo/" + option) == nullptr) {
        throw ConfigError(Complaint{.kind = ErrorKind::unsupported,
                                    .origin = "--slo",
                                    .value = std::string(target),
                                    .problem = "expected ttft, tpot, e2el, or mean, median, p90, "
                                               "p95 or p99 of them: p99_ttft=2s"});
      }
      if (root.contains("slo") && root["slo"].contains(option)) {
        throw ConfigError(Complaint{.kind = ErrorKind::conflict,
                                    .origin = "--slo",
                                    .value = std::string(target),
                                    .problem = option + " stands twice"});
      }
      root["slo"][option] = limit.bound;
    }
  }
}

void set_starter_traffic(JsonDocument& document, const StarterFlags& flags) {
  check_traffic(flags.traffic);
  Json& workload = document.root["workload"] = Json::object();
  if (flags.traffic.users) {
    set_closed_loop(document, *flags.traffic.users);
  } else {
    workload["arrivals"] = {{"process", "poisson"},
                            {"request_rate", flags.traffic.rate.value_or(kStarterRate)}};
    workload["num_requests"] = kStarterRequests;
  }
  Json& traffic = document.root["workload"];
  traffic["prompt"] = {{"tokens", prompt_tokens(flags.traffic)}};
  traffic["output"] = {{"tokens", output_tokens(flags.traffic)}};
}

// A text that YAML reads as that text.
std::string yaml_scalar(const Json& value) {
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  const bool is_plain =
      !text.empty() && text != "true" && text != "false" && text != "null" &&
      std::ranges::all_of(text, [&text](const char& c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool other = (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/';
        return letter || (other && &c != text.data());
      });
  return is_plain ? text : value.dump();
}

class YamlWriter {
 public:
  explicit YamlWriter(const Resolved& system) : system_(system) {}

  void add(const Json& object, const std::string& pointer, std::size_t indent) {
    for (const auto& [key, value] : object.items()) {
      const std::string at = fmt::format("{}/{}", pointer, key);
      const bool is_section = value.is_object();
      const std::string line =
          fmt::format("{:{}}{}:{}", "", indent, key, is_section ? "" : " " + yaml_scalar(value));
      add_line(line, comment_of(at));
      if (is_section) add(value, at, indent + 2);
      if (at == "/engine") add_levers(object.at(key));
    }
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kCommentColumn = 36;

  [[nodiscard]] static std::string_view comment_of(std::string_view pointer) {
    const auto found = std::ranges::find(kComments, pointer, [](const auto& c) { return c.first; });
    return found == kComments.end() ? "" : found->second;
  }

  void add_line(const std::string& line, std::string_view comment) {
    text_ += comment.empty() ? line + "\n"
                             : fmt::format("{:<{}}  # {}\n", line, kCommentColumn, comment);
  }

  // What the engine's users change most, with the values that are in use.
  void add_levers(const Json& given) {
    std::vector<std::string_view> known;
    for (const FixCandidate& fix : system_.engine->fixes()) {
      const OptionRow* row = find_option(fix.pointer);
      if (row == nullptr || std::ranges::find(known, fix.pointer) != known.end()) continue;
      known.push_back(fix.pointer);
      const std::string key(fix.pointer.substr(std::string_view("/engine/").size()));
      Json value = option_value(system_.scenario, fix.pointer);
      if (value.is_null() || given.contains(key)) continue;
      if (!is_choice(*row, value)) value = "auto";
      if (!is_choice(*row, value)) continue;
      const std::string_view doc = row->doc.substr(0, row->doc.find(';'));
      add_line(fmt::format("  # {}: {}", key, yaml_scalar(value)), doc);
    }
  }

  [[nodiscard]] static bool is_choice(const OptionRow& row, const Json& value) {
    const std::vector<std::string> choices = choices_of(row);
    return choices.empty() || !value.is_string() ||
           std::ranges::find(choices, value.get<std::string>()) != choices.end();
  }

  const Resolved& system_;
  std::string text_;
};

}  // namespace

Json starter_scenario(const StarterFlags& flags) {
  SystemFlags system;
  system.models = {flags.model};
  system.engine = flags.engine;
  system.device_count = flags.device_count;
  JsonDocument document = described_system(system, "init").document.json;
  set_device(flags.device, document);
  Json root = Json::object();
  root["name"] = flags.name;
  root["model"] = flags.model;
  root["device"] = document.root.value("device", flags.device);
  root["engine"] = document.root.value("engine", Json::object());
  if (!root["engine"].contains("name")) root["engine"]["name"] = Scenario{}.engine.name;
  document.root = std::move(root);
  set_starter_traffic(document, flags);
  set_targets(document.root, flags.targets);
  return std::move(document.root);
}

std::string starter_yaml(const Json& scenario, const Resolved& system, const std::string& file) {
  std::string text = fmt::format(
      "# {} on {}.\n"
      "#   headroom run {}     latency, throughput and memory\n"
      "#   headroom ask {}     does it hold, by how much, and what helps most\n"
      "# Every option: `headroom list options`, with words to search for.\n",
      system.model.id, system.device.name, file, file);
  YamlWriter writer(system);
  writer.add(scenario, "", 0);
  return text + writer.take();
}

}  // namespace headroom
