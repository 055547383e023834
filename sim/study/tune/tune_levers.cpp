#include "sim/study/tune/tune_levers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/option_value.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/short_paths.hpp"

namespace headroom {
namespace {

constexpr std::string_view kWeightFormat = "engine.quantization";
constexpr std::string_view kDrafts = "/engine/speculative_config";
constexpr std::string_view kDraftTokens = "/engine/speculative_config/num_speculative_tokens";
constexpr std::int64_t kMostDraftTokens = 8;
constexpr std::int64_t kMostRoleSplits = 16;

std::string shown_level(const Json& value) {
  return value.is_null() ? "the engine's default" : shown_setting(value);
}

TuneLevel level_of(const std::string& path, Json value) {
  TuneLevel level;
  level.text = shown_level(value);
  level.settings.push_back({path, std::move(value)});
  return level;
}

// "engine/max_num_seqs" of a path.
std::string pointer_part(std::string path) {
  std::ranges::replace(path, '.', '/');
  return path;
}

class Levers {
 public:
  Levers(std::vector<TuneLever>& levers, const RunResult& run, const TuneChoice& choice)
      : levers_(levers), run_(run), system_(run.resolved), choice_(choice) {}

  void add_tries() {
    for (const TriedValues& tried : choice_.tries) {
      for (const Json& value : tried.values) add(tried.path, level_of(tried.path, value));
    }
  }

  void add_proposed(const Catalog& catalog) {
    for (AskCandidate& one : ask_candidates(run_, longest_asked(run_), catalog)) {
      const std::string& path = one.setting.path;
      if (one.cost == FixCost::hardware || path == kWeightFormat || is_user_s(path)) continue;
      TuneLevel level = level_of(path, one.setting.value);
      level.cost = one.cost;
      level.cost_text = std::move(one.cost_text);
      add(path, std::move(level));
    }
  }

  // Fewer or more tokens a draft, and none at all, where the scenario has drafts.
  void add_drafts() {
    const Json tokens = option_value(system_.scenario, kDraftTokens);
    if (!tokens.is_number_integer()) return;
    const std::string path = option_path(kDraftTokens);
    for (std::int64_t count = 1; count <= kMostDraftTokens; count *= 2) {
      if (Json(count) != tokens) add(path, level_of(path, count));
    }
    TuneLevel none = level_of(option_path(kDrafts), nullptr);
    none.text = "no drafts";
    add(path, std::move(none));
  }

  // How the devices of a scenario without groups are divided.
  void add_devices() {
    const FleetSection& fleet = system_.scenario.fleet;
    const EngineSection& engine = system_.scenario.engine;
    if (is_user_s(std::string(kDevicesLever))) return;
    if (!fleet.groups.empty()) return add_role_counts(fleet);
    const std::int64_t all = fleet.replicas.value_or(1) * system_.sharding.devices();
    const std::int64_t stages = engine.pipeline_parallel_size;
    for (std::int64_t devices = all; devices >= 1; devices /= 2) {
      for (std::int64_t tp = 1; tp * stages <= devices; tp *= 2) {
        if (devices % (tp * stages) == 0) add_split(tp, devices / (tp * stages));
      }
      if (!choice_.may_use_less || devices % 2 != 0) break;
    }
  }

  // The engine's own value beside one that the scenario gives.
  void add_defaults() {
    for (TuneLever& lever : levers_) {
      if (lever.name == kDevicesLever) continue;
      const std::string pointer = "/" + pointer_part(lever.name);
      if (!system_.scenario.is_given(pointer)) continue;
      lever.levels.push_back(level_of(lever.name, nullptr));
      lever.default_level = lever.levels.size() - 1;
    }
  }

 private:
  // Kept, or given by --try.
  [[nodiscard]] bool is_user_s(const std::string& path) const {
    return std::ranges::find(choice_.keep, path) != choice_.keep.end() ||
           std::ranges::find(choice_.tries, path, &TriedValues::path) != choice_.tries.end();
  }

  // Not twice, and not as it stands.
  void add(const std::string& name, TuneLevel level) {
    if (std::ranges::find(choice_.keep, name) != choice_.keep.end()) return;
    auto lever = std::ranges::find(levers_, name, &TuneLever::name);
    if (lever == levers_.end()) {
      levers_.push_back({name, {as_it_stands(name)}, 0});
      lever = levers_.end() - 1;
    }
    if (std::ranges::find(lever->levels, level.text, &TuneLevel::text) == lever->levels.end()) {
      lever->levels.push_back(std::move(level));
    }
  }

  [[nodiscard]] TuneLevel as_it_stands(const std::string& name) const {
    TuneLevel level;
    if (name == kDevicesLever && !system_.scenario.fleet.groups.empty()) {
      level.text = "as the groups are";
      return level;
    }
    level.text = name == kDevicesLever
                     ? split_text(system_.sharding.tensor, system_.sharding.data,
                                  system_.scenario.fleet.replicas.value_or(1), is_expert_parallel())
                     : shown_setting(option_value(system_.scenario, "/" + pointer_part(name)));
    return level;
  }

  [[nodiscard]] bool is_expert_parallel() const {
    const Json on = option_value(system_.scenario, "/engine/enable_expert_parallel");
    return on.is_boolean() && on.get<bool>();
  }

  [[nodiscard]] static std::string split_text(std::int64_t tp, std::int64_t dp, std::int64_t count,
                                              bool ep) {
    std::string text = fmt::format("tp {}", tp);
    if (dp > 1) text += fmt::format(" x dp {}", dp);
    if (ep) text += " with ep";
    if (count > 1) text += fmt::format(" x {} replicas", count);
    return text;
  }

  // Replicas that change between prefill and decode, where there is a group of each.
  void add_role_counts(const FleetSection& fleet) {
    const auto group_of = [&fleet](std::string_view role) {
      return std::ranges::find(fleet.groups, role, &GroupSection::role) - fleet.groups.begin();
    };
    const auto prefill = group_of("prefill");
    const auto decode = group_of("decode");
    const std::ptrdiff_t groups = std::ssize(fleet.groups);
    if (groups != 2 || prefill == groups || decode == groups) return;
    const std::int64_t now = fleet.groups[static_cast<std::size_t>(prefill)].count;
    const std::int64_t all = now + fleet.groups[static_cast<std::size_t>(decode)].count;
    const std::int64_t step = std::max<std::int64_t>(1, all / kMostRoleSplits);
    for (std::int64_t count = 1; count < all; count += step) {
      if (count == now) continue;
      TuneLevel level;
      level.text = apart_text(count, all - count);
      level.settings = {{fmt::format("fleet.groups.{}.count", prefill), count},
                        {fmt::format("fleet.groups.{}.count", decode), all - count}};
      add_devices_level(std::move(level));
    }
  }

  [[nodiscard]] static std::string apart_text(std::int64_t prefill, std::int64_t decode) {
    return fmt::format("{} for prefill and {} for decode", prefill, decode);
  }

  // `tp` devices in each of `parts`, which are replicas, data ranks or, apart, prefill and decode.
  void add_split(std::int64_t tp, std::int64_t parts) {
    const bool moe = has_experts(system_.model);
    for (const bool ep : {false, true}) {
      if (ep && (!moe || tp * parts == 1)) continue;
      add_division(tp, 1, parts, ep && tp > 1);
      if (parts > 1 && moe) add_division(tp, parts, 1, ep);
    }
    for (const std::int64_t prefill : {std::int64_t{1}, parts / 2, parts - 1}) {
      if (prefill >= 1 && prefill < parts) add_apart(tp, prefill, parts - prefill);
    }
  }

  void add_division(std::int64_t tp, std::int64_t dp, std::int64_t count, bool ep) {
    TuneLevel level;
    level.text = split_text(tp, dp, count, ep);
    level.settings = {{"engine.tensor_parallel_size", tp}};
    if (dp > 1 || system_.sharding.data > 1) {
      level.settings.push_back({"engine.data_parallel_size", dp});
    }
    if (ep || is_expert_parallel()) level.settings.push_back({"engine.enable_expert_parallel", ep});
    if (count > 1 || system_.scenario.fleet.replicas) {
      level.settings.push_back({"fleet.replicas", count});
    }
    add_devices_level(std::move(level));
  }

  void add_apart(std::int64_t tp, std::int64_t prefill, std::int64_t decode) {
    TuneLevel level;
    level.text = fmt::format("tp {}, {}", tp, apart_text(prefill, decode));
    const Json groups = Json::array({{{"name", "prefill"}, {"count", prefill}, {"role", "prefill"}},
                                     {{"name", "decode"}, {"count", decode}, {"role", "decode"}}});
    level.settings = {{"engine.tensor_parallel_size", tp},
                      {"fleet.replicas", nullptr},
                      {"fleet.cost_per_hour", nullptr},
                      {"fleet.groups", groups}};
    if (system_.sharding.data > 1) level.settings.push_back({"engine.data_parallel_size", 1});
    add_devices_level(std::move(level));
  }

  void add_devices_level(TuneLevel level) { add(std::string(kDevicesLever), std::move(level)); }

  std::vector<TuneLever>& levers_;
  const RunResult& run_;
  const Resolved& system_;
  const TuneChoice& choice_;
};

void check_choice(const std::vector<std::string>& paths, const std::vector<TuneLever>& levers) {
  std::vector<std::string> known;
  for (const TuneLever& lever : levers) known.push_back(lever.name);
  for (const std::string& path : paths) {
    if (std::ranges::find(known, path) != known.end()) continue;
    throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                                .origin = "--keep",
                                .value = path,
                                .problem = "expected one of " + comma_list(known),
                                .nearest = nearest_name(path, known)});
  }
}

}  // namespace

TriedValues parse_tried_values(const std::string& text) {
  const std::size_t equals = text.find('=');
  TriedValues tried;
  tried.path = std::string(trimmed(std::string_view(text).substr(0, equals)));
  if (equals != std::string::npos) {
    for (const std::string_view part : split(std::string_view(text).substr(equals + 1), ',')) {
      const std::string word(trimmed(part));
      if (word.empty()) continue;
      Json value = Json::parse(word, nullptr, false);
      tried.values.push_back(value.is_discarded() ? Json(word) : std::move(value));
    }
  }
  if (tried.path.empty() || tried.values.empty()) {
    throw ConfigError(Complaint{.kind = ErrorKind::missing,
                                .origin = "--try",
                                .value = text,
                                .problem = "expected path=value,value,...: "
                                           "engine.max_num_seqs=16,64,256"});
  }
  tried.path = whole_path(tried.path, "--try");
  if (find_option("/" + pointer_part(tried.path)) == nullptr) {
    std::vector<std::string> known;
    for (const OptionRow& row : all_options()) known.push_back(option_path(row.pointer));
    throw ConfigError(Complaint{.kind = ErrorKind::unknown,
                                .origin = "--try",
                                .value = tried.path,
                                .problem = "no option of `headroom list options`",
                                .nearest = nearest_name(tried.path, known)});
  }
  return tried;
}

std::vector<TuneLever> tune_levers(const RunResult& run, const TuneChoice& choice,
                                   const Catalog& catalog) {
  std::vector<TuneLever> levers;
  if (!choice.keep.empty()) {
    TuneChoice all = choice;
    all.keep.clear();
    check_choice(choice.keep, tune_levers(run, all, catalog));
  }
  Levers builder(levers, run, choice);
  builder.add_tries();
  if (!choice.only_tries) {
    builder.add_proposed(catalog);
    builder.add_drafts();
    builder.add_devices();
    builder.add_defaults();
  }
  std::erase_if(levers, [](const TuneLever& lever) { return lever.levels.size() < 2; });
  return levers;
}

bool extend_levers(std::vector<TuneLever>& levers, const RunResult& run, const TuneChoice& choice,
                   const Catalog& catalog) {
  if (choice.only_tries) return false;
  const auto count = [&levers] {
    std::size_t levels = 0;
    for (const TuneLever& lever : levers) levels += lever.levels.size();
    return levels;
  };
  const std::size_t before = count();
  std::vector<TuneLever> found;
  Levers(found, run, choice).add_proposed(catalog);
  for (TuneLever& lever : found) {
    const auto known = std::ranges::find(levers, lever.name, &TuneLever::name);
    if (known == levers.end()) continue;
    for (std::size_t i = 1; i < lever.levels.size(); ++i) {
      const std::string& text = lever.levels[i].text;
      if (std::ranges::find(known->levels, text, &TuneLevel::text) == known->levels.end()) {
        known->levels.push_back(std::move(lever.levels[i]));
      }
    }
  }
  return count() > before;
}

std::vector<Setting> settings_of(const std::vector<TuneLever>& levers, const TuneConfig& config) {
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < levers.size(); ++i) {
    const std::size_t level = i < config.size() ? config[i] : 0;
    const std::vector<Setting>& own = levers[i].levels[level].settings;
    settings.insert(settings.end(), own.begin(), own.end());
  }
  return settings;
}

}  // namespace headroom
