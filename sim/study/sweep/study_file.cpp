#include "sim/study/sweep/study_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/kernel/digest.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/scenario/short_paths.hpp"
#include "sim/study/search/search_file.hpp"
#include "sim/study/sweep/study_axes.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kKeys{"$schema", "name",    "description",  "base",  "vary",
                                     "skip_if", "only_if", "replications", "seeds", "search"};

std::string stem_of(std::string_view file) { return fs::path(file).stem().string(); }

class StudyReader {
 public:
  StudyReader(const JsonDocument& document, const std::string& directory)
      : document_(document), directory_(directory) {}

  Study read(const std::vector<std::string>& set, const std::string& trace) {
    expect_keys(document_, "", document_.root, kKeys);
    study_.file = document_.name;
    study_.name = text("name", stem_of(document_.name));
    if (study_.name.empty()) throw key_error(document_, "/name", "an empty name", ErrorKind::value);
    static_cast<void>(text("description", ""));
    read_base();
    place_short_keys(study_.base);
    study_.groups = read_axes(document_);
    study_.skip_if = read_conditions(document_, "/skip_if", study_.groups);
    study_.only_if = read_conditions(document_, "/only_if", study_.groups);
    read_replications();
    study_.searches = read_searches(document_, study_.groups, study_.replications);
    if (!trace.empty()) set_trace(study_.base, trace);
    for (const std::string& assignment : set) lay_over(assignment);
    study_.text = resolved_text();
    study_.sha256 = sha256_hex(study_.text);
    return std::move(study_);
  }

 private:
  [[nodiscard]] std::string text(const char* key, std::string otherwise) const {
    if (!document_.root.contains(key)) return otherwise;
    const Json& value = document_.root[key];
    if (!value.is_string()) {
      throw value_error(document_, fmt::format("/{}", key), value, "expected text");
    }
    return value.get<std::string>();
  }

  void read_base() {
    if (!document_.root.contains("base")) {
      throw missing_key(document_, "", "base",
                        "a scenario: a file, a name from `headroom list scenarios`, or an object");
    }
    const Json& base = document_.root["base"];
    if (base.is_object()) {
      study_.base = {fmt::format("{}: /base", document_.name), base, {}};
      study_.directory = directory_;
      study_.base_name = study_.name;
      return;
    }
    if (!base.is_string()) {
      throw value_error(document_, "/base", base, "expected a file, a name or an object");
    }
    const auto name = base.get<std::string>();
    try {
      ScenarioDocument scenario = read_scenario_document(name, directory_);
      study_.base = std::move(scenario.json);
      study_.directory = std::move(scenario.directory);
    } catch (const ConfigError& error) {
      throw error.at(document_.name, "/base");
    }
    study_.base_name = stem_of(name);
    if (!study_.base.root.is_object()) {
      throw value_error(study_.base, "", study_.base.root, "expected an object");
    }
  }

  void read_replications() {
    const Json& root = document_.root;
    if (root.contains("replications") && root.contains("seeds")) {
      throw key_error(document_, "/seeds", "set replications or seeds, not both",
                      ErrorKind::conflict);
    }
    if (root.contains("replications")) {
      const Json& value = root["replications"];
      const bool whole = value.is_number_integer();
      if (!whole || value.get<double>() < 1 || value.get<double>() > kMaxReplications) {
        throw value_error(document_, "/replications", value,
                          fmt::format("expected an integer from 1 to {}", kMaxReplications));
      }
      study_.replications = value.get<std::int64_t>();
    }
    if (root.contains("seeds")) read_seeds(root["seeds"]);
  }

  void read_seeds(const Json& seeds) {
    const std::string allowed = "expected a list of different integers >= 0";
    if (!seeds.is_array() || seeds.empty() || seeds.size() > kMaxReplications) {
      throw value_error(document_, "/seeds", seeds, allowed);
    }
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      const bool whole = seeds[i].is_number_integer() && seeds[i].get<double>() >= 0 &&
                         seeds[i].get<double>() <= 9007199254740992.0;
      const bool twice = whole && std::ranges::find(study_.seeds, seeds[i].get<std::int64_t>()) !=
                                      study_.seeds.end();
      if (!whole || twice) {
        throw value_error(document_, fmt::format("/seeds/{}", i), seeds[i], allowed);
      }
      study_.seeds.push_back(seeds[i].get<std::int64_t>());
    }
    study_.replications = static_cast<std::int64_t>(study_.seeds.size());
  }

  // A flag on what the study varies would have no effect, or undo it.
  void lay_over(const std::string& assignment) {
    const std::string flag = "--set " + assignment;
    const std::size_t equals = assignment.find('=');
    if (equals != std::string::npos && equals > 0) {
      const std::string path =
          dotted_path(path_keys(whole_path(assignment.substr(0, equals), flag), flag));
      for (const AxisGroup& group : study_.groups) {
        for (const StudyAxis& axis : group) {
          if (axis.path != path && !path.starts_with(axis.path + ".")) continue;
          throw ConfigError(Complaint{
              .kind = ErrorKind::no_effect,
              .origin = flag,
              .problem = fmt::format("has no effect: {} varies {}", document_.name, axis.path)});
        }
      }
      for (const Search& search : study_.searches) {
        if (search.is_front() || search.value.path != path) continue;
        throw ConfigError(Complaint{
            .kind = ErrorKind::no_effect,
            .origin = flag,
            .problem = fmt::format("has no effect: {} searches {}", document_.name, path)});
      }
      if (path == "seed" && !study_.seeds.empty()) {
        throw ConfigError(
            Complaint{.kind = ErrorKind::no_effect,
                      .origin = flag,
                      .problem = fmt::format("has no effect: {} lists its seeds", document_.name)});
      }
    }
    set_option(study_.base, assignment);
  }

  // Texts for people are left out: they change no result.
  [[nodiscard]] std::string resolved_text() const {
    Json base = study_.base.root;
    base.erase("$schema");
    base.erase("description");
    Json json = {{"name", study_.name}, {"base", std::move(base)}, {"vary", Json::array()}};
    for (const AxisGroup& group : study_.groups) {
      Json axes = Json::array();
      for (const StudyAxis& axis : group) {
        axes.push_back({{"path", axis.path}, {"values", axis.values}});
      }
      json["vary"].push_back(group.size() == 1 ? axes[0] : Json{{"zip", axes}});
    }
    for (const char* key : {"skip_if", "only_if", "seeds", "search"}) {
      if (document_.root.contains(key)) json[key] = document_.root[key];
    }
    if (study_.seeds.empty()) json["replications"] = study_.replications;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  const JsonDocument& document_;
  const std::string& directory_;
  Study study_;
};

}  // namespace

bool Study::runs_points() const {
  return searches.empty() || std::ranges::any_of(searches, &Search::is_front);
}

Study parse_study(const JsonDocument& document, const std::string& directory,
                  const std::vector<std::string>& set, const std::string& trace) {
  return StudyReader(document, directory).read(set, trace);
}

Study load_study(const std::string& name, const std::vector<std::string>& set,
                 const std::string& trace) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(name, ignored);
  if (fs::exists(name, ignored) && !is_folder) {
    return parse_study(read_json_file(name), fs::path(name).parent_path().string(), set, trace);
  }
  std::vector<std::string> known;
  for (const EmbeddedFile& file : study_files()) {
    if (stem_of(file.name) == name)
      return parse_study(parse_json(file.content, name), "", set, trace);
    known.push_back(stem_of(file.name));
  }
  if (is_folder) return parse_study(read_json_file(name), "", set, trace);  // says what it is
  const bool is_scenario = std::ranges::any_of(
      scenario_files(), [&](const EmbeddedFile& file) { return stem_of(file.name) == name; });
  const std::string nearest = is_scenario ? "" : nearest_name(name, known);
  throw ConfigError(Complaint{
      .kind = ErrorKind::unreadable,
      .origin = name,
      .problem = is_scenario
                     ? "a scenario, where a study is expected: a file that names a scenario "
                       "as its base and what varies"
                     : "no such file, and no built-in study of this name",
      .nearest = nearest,
      .context = nearest.empty() ? "see `headroom list studies`" : ""});
}

}  // namespace headroom
