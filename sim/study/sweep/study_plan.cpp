#include "sim/study/sweep/study_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/resolve/fleet_factory.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/scenario/options.hpp"
#include "sim/study/sweep/study_axes.hpp"

namespace headroom {
namespace {

std::int64_t whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? value : 0;
}

bool has_slo(const Scenario& scenario) {
  const auto is_set = [](const SloSection& slo) {
    return slo.ttft_ms || slo.tpot_ms || slo.e2el_ms;
  };
  return is_set(scenario.slo) ||
         std::ranges::any_of(scenario.workload.classes, is_set, &WorkloadClass::slo);
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
          Complaint{.origin = study_.file,
                    .pointer = "/vary",
                    .problem = fmt::format("more than {} combinations", kMaxCombinations)});
    }
  }
  for (std::int64_t i = 0; i < combinations_; ++i) {
    if (is_kept(choice_of(i))) points_.push_back(i);
  }
  if (points_.empty()) {
    throw ConfigError(Complaint{
        .origin = study_.file,
        .problem =
            fmt::format("no point is left: the conditions exclude all {} of them", combinations_)});
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

JsonDocument StudyPlan::document(std::int64_t point) const {
  const std::vector<std::size_t> choice = choice_of(points_.at(static_cast<std::size_t>(point)));
  JsonDocument document = study_.base;
  for (std::size_t g = 0; g < choice.size(); ++g) {
    for (const StudyAxis& axis : study_.groups[g]) {
      set_at(document, axis.keys, axis.values[choice[g]], axis.origins[choice[g]]);
    }
  }
  return document;
}

Scenario StudyPlan::scenario_of(const JsonDocument& document, std::int64_t replication) const {
  Scenario scenario = parse_scenario(document);
  scenario.directory = study_.directory;
  if (scenario.name.empty()) scenario.name = study_.base_name;
  const auto listed = static_cast<std::int64_t>(study_.seeds.size());
  if (replication < listed) {
    scenario.seed = study_.seeds[static_cast<std::size_t>(replication)];
  } else if (listed > 0) {
    scenario.seed = *std::ranges::max_element(study_.seeds) + 1 + replication - listed;
  } else {
    scenario.seed += replication;
  }
  if (listed > 0 || replication > 0) scenario.given["/seed"] = study_.file;
  return scenario;
}

Scenario StudyPlan::scenario(std::int64_t run) const {
  return scenario_of(document(run / study_.replications), run % study_.replications);
}

Scenario StudyPlan::probe(std::int64_t point, const ValueSearch& search, double value,
                          std::int64_t replication) const {
  JsonDocument changed = document(point);
  Json json = value;
  if (search.whole) json = static_cast<std::int64_t>(value);
  set_at(changed, search.keys, std::move(json), study_.file + ": /search");
  return scenario_of(changed, replication);
}

std::vector<std::int64_t> StudyPlan::points_of(const StudyShard& shard) const {
  std::vector<std::int64_t> own;
  for (std::int64_t point = shard.index - 1; point < points(); point += shard.count) {
    own.push_back(point);
  }
  return own;
}

std::vector<std::int64_t> StudyPlan::runs_of(const StudyShard& shard) const {
  std::vector<std::int64_t> runs;
  if (!study_.runs_points()) return runs;
  for (const std::int64_t point : points_of(shard)) {
    for (std::int64_t i = 0; i < study_.replications; ++i) {
      runs.push_back(point * study_.replications + i);
    }
  }
  return runs;
}

namespace {

// As a run does, short of its workload.
void check_scenario(const Scenario& scenario, const Catalog& catalog) {
  static_cast<void>(resolve_groups(scenario, catalog));
}

}  // namespace

void StudyPlan::check_point(std::int64_t point, const Catalog& catalog) const {
  if (study_.runs_points()) {
    check_scenario(scenario(point * study_.replications), catalog);
  }
  for (const Search& search : study_.searches) {
    if (search.is_front()) continue;
    for (const double value : {search.value.from, search.value.to}) {
      const Scenario probed = probe(point, search.value, value, 0);
      check_scenario(probed, catalog);
      for (const Limit& limit : search.value.limits) {
        const bool is_goodput = limit.metric.find("goodput") != std::string::npos;
        if (!is_goodput || has_slo(probed)) continue;
        throw ConfigError(Complaint{
            .kind = ErrorKind::missing,
            .origin = study_.file,
            .pointer = "/search",
            .problem = fmt::format("a limit on {} needs an slo in the scenario", limit.metric)});
      }
    }
  }
}

void StudyPlan::check(const Catalog& catalog) const {
  for (std::int64_t point = 0; point < points(); ++point) {
    try {
      check_point(point, catalog);
    } catch (const ConfigError& error) {
      std::string values;
      for (const StudyParameter& parameter : parameters(point)) {
        values +=
            fmt::format("{}{} = {}", values.empty() ? "" : ", ", parameter.path, parameter.json);
      }
      if (values.empty()) throw;
      throw error.with_context(fmt::format("point {}: {}", point, values));
    }
  }
}

}  // namespace headroom
