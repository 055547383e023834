#include "sim/study/sweep/study_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/setup/options.hpp"
#include "sim/setup/resolve.hpp"
#include "sim/study/sweep/study_axes.hpp"

namespace headroom {
namespace {

std::int64_t whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? value : 0;
}

}  // namespace

StudyShard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  StudyShard shard{0, 0};
  if (slash != std::string::npos) {
    shard.index = whole_number(std::string_view(text).substr(0, slash));
    shard.count = whole_number(std::string_view(text).substr(slash + 1));
  }
  if (shard.index < 1 || shard.index > shard.count) {
    throw ConfigError(
        fmt::format("--shard {}: expected i/n with 1 <= i <= n, e.g. --shard 2/8", text));
  }
  return shard;
}

StudyPlan::StudyPlan(Study study) : study_(std::move(study)) {
  for (const AxisGroup& group : study_.groups) {
    combinations_ *= static_cast<std::int64_t>(group[0].values.size());
    if (combinations_ > kMaxCombinations) {
      throw ConfigError(
          fmt::format("{}: /vary: more than {} combinations", study_.file, kMaxCombinations));
    }
  }
  for (std::int64_t i = 0; i < combinations_; ++i) {
    if (is_kept(choice_of(i))) points_.push_back(i);
  }
  if (points_.empty()) {
    throw ConfigError(fmt::format("{}: no point is left: the conditions leave out all {} of them",
                                  study_.file, combinations_));
  }
}

std::vector<std::size_t> StudyPlan::choice_of(std::int64_t combination) const {
  std::vector<std::size_t> choice(study_.groups.size());
  auto rest = static_cast<std::size_t>(combination);
  for (std::size_t g = study_.groups.size(); g-- > 0;) {
    const std::size_t values = study_.groups[g][0].values.size();
    choice[g] = rest % values;
    rest /= values;
  }
  return choice;
}

bool StudyPlan::is_kept(const std::vector<std::size_t>& choice) const {
  const auto is_true = [&](const StudyCondition& condition) {
    return holds(condition, study_.groups, choice);
  };
  return std::ranges::none_of(study_.skip_if, is_true) &&
         std::ranges::all_of(study_.only_if, is_true);
}

std::vector<StudyParameter> StudyPlan::parameters(std::int64_t point) const {
  const std::vector<std::size_t> choice = choice_of(points_.at(static_cast<std::size_t>(point)));
  std::vector<StudyParameter> parameters;
  for (std::size_t g = 0; g < choice.size(); ++g) {
    for (const StudyAxis& axis : study_.groups[g]) {
      parameters.push_back(
          {axis.path, axis.values[choice[g]].dump(-1, ' ', false, Json::error_handler_t::replace)});
    }
  }
  return parameters;
}

Scenario StudyPlan::scenario(std::int64_t run) const {
  const std::int64_t point = run / study_.replications;
  const std::int64_t replication = run % study_.replications;
  const std::vector<std::size_t> choice = choice_of(points_.at(static_cast<std::size_t>(point)));
  JsonDocument document = study_.base;
  for (std::size_t g = 0; g < choice.size(); ++g) {
    for (const StudyAxis& axis : study_.groups[g]) {
      set_at(document, axis.keys, axis.values[choice[g]], axis.origins[choice[g]]);
    }
  }
  Scenario scenario = parse_scenario(document);
  scenario.directory = study_.directory;
  if (scenario.name.empty()) scenario.name = study_.base_name;
  if (!study_.seeds.empty()) {
    scenario.seed = study_.seeds[static_cast<std::size_t>(replication)];
    scenario.given["/seed"] = study_.file;
  } else if (replication > 0) {
    scenario.seed += replication;
    scenario.given["/seed"] = study_.file;
  }
  return scenario;
}

std::vector<std::int64_t> StudyPlan::runs_of(const StudyShard& shard) const {
  std::vector<std::int64_t> runs;
  for (std::int64_t point = shard.index - 1; point < points(); point += shard.count) {
    for (std::int64_t i = 0; i < study_.replications; ++i) {
      runs.push_back(point * study_.replications + i);
    }
  }
  return runs;
}

void StudyPlan::check(const Catalog& catalog) const {
  for (std::int64_t point = 0; point < points(); ++point) {
    try {
      static_cast<void>(resolve(scenario(point * study_.replications), catalog));
    } catch (const ConfigError& error) {
      std::string values;
      for (const StudyParameter& parameter : parameters(point)) {
        values +=
            fmt::format("{}{} = {}", values.empty() ? "" : ", ", parameter.path, parameter.json);
      }
      if (values.empty()) throw;
      throw ConfigError(fmt::format("{} (point {}: {})", error.what(), point, values));
    }
  }
}

}  // namespace headroom
