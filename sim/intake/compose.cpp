// scenario_from_compose: the Compose specification's services.<name>.{image, command, entrypoint,
// environment, shm_size, ipc, mem_limit, gpus, scale, labels, configs, deploy.resources,
// deploy.replicas}; of several services also depends_on.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "sim/intake/container.hpp"
#include "sim/intake/deployed_part.hpp"
#include "sim/intake/draft.hpp"
#include "sim/intake/launch.hpp"
#include "sim/intake/shell_words.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "sim/scenario/yaml.hpp"

namespace headroom {
namespace {

// Keys that touch neither memory nor scheduling, and those that are read.
constexpr std::array<std::string_view, 34> kHarmless{
    "image",       "command",     "entrypoint",   "environment",    "shm_size",     "ipc",
    "mem_limit",   "gpus",        "deploy",       "container_name", "ports",        "volumes",
    "restart",     "networks",    "depends_on",   "healthcheck",    "labels",       "logging",
    "hostname",    "working_dir", "user",         "expose",         "network_mode", "stdin_open",
    "tty",         "init",        "profiles",     "platform",       "pull_policy",  "secrets",
    "extra_hosts", "cap_add",     "security_opt", "privileged"};
constexpr std::array<std::string_view, 8> kHarmlessToo{
    "runtime", "ulimits", "stop_grace_period", "build", "configs", "devices", "annotations", "dns"};

class ServiceReader {
 public:
  // `root`: the whole file, for its configs.
  ServiceReader(const Json& root, const std::string& file, std::string name)
      : root_(root), service_(root.at("services").at(name)), file_(file), name_(std::move(name)) {}

  std::string image_name() { return image(); }

  // One replica of a fleet, as `headroom emit` labels it.
  bool is_replica() { return !label(kReplicaLabel).empty(); }

  DeployedPart part(std::string_view release) {
    DeployedPart part;
    part.engine = read(release);
    part.group = label(dotted(kGroupKey));
    part.role = label(dotted(kRoleKey));
    part.device = label(dotted(kDeviceKey));
    return part;
  }

  // Ids of the GPUs that the engine sees, in its order; empty: all of them. Docker gives a `count`
  // the first ones (daemon/nvidia_linux.go: countToDevices).
  std::vector<std::string> devices() {
    std::vector<std::string> seen;
    const Json& reservations = member(member(at("deploy"), "resources"), "reservations");
    for (const Json& device : member(reservations, "devices")) {
      for (const Json& id : member(device, "device_ids")) {
        if (id.is_string()) seen.push_back(expanded(id));
      }
      if (seen.empty()) seen = first_devices(text(device, "count"));
    }
    if (const Json& gpus = at("gpus"); seen.empty() && gpus.is_string()) {
      seen = first_devices(expanded(gpus));
    }
    if (seen.empty()) seen = device_list(variable("NVIDIA_VISIBLE_DEVICES"));
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
      seen = chosen_devices(std::move(seen), device_list(variable(name)));
    }
    return seen;
  }

  // Services that must have started before; `healthy`: of them, those that must be ready, too.
  std::vector<std::string> starts_after(std::set<std::string>& healthy) {
    std::vector<std::string> names;
    const Json& needed = at("depends_on");
    for (const auto& [key, value] : needed.items()) {
      if (!value.is_string() && !value.is_object()) throw error("depends_on", "expected names");
      const std::string name = value.is_string() ? value.get<std::string>() : key;
      names.push_back(name);
      if (value.is_object() && text(value, "condition") == "service_healthy") healthy.insert(name);
    }
    return names;
  }

  // Whether it asks for GPUs, as NVIDIA's runtime or ROCm's devices give them.
  bool takes_devices() {
    if (!service_.is_object()) return false;
    const Json& reserved = member(member(at("deploy"), "resources"), "reservations");
    const Json& mapped = at("devices");
    const auto is_gpu = [this](const Json& device) {
      const std::string path = device.is_string() ? expanded(device) : std::string();
      return path.starts_with("/dev/kfd") || path.starts_with("/dev/nvidia");
    };
    return at("gpus").is_string() || member(reserved, "devices").is_array() ||
           text(service_, "runtime") == "nvidia" ||
           (mapped.is_array() && std::ranges::any_of(mapped, is_gpu));
  }

  bool starts_engine() {
    return service_.is_object() &&
           container_starts_engine(image(), words("entrypoint"), words("command"));
  }

  FromResult read(std::string_view release) {
    Draft draft(fmt::format("{}: services/{}", file_, name_));
    read_variables(draft);
    read_devices(draft);
    read_configs(draft);
    set_container(draft, {.shm_size = text(service_, "shm_size"),
                          .memory = memory_limit(),
                          .ipc = text(service_, "ipc")});
    for (const auto& [key, value] : service_.items()) {
      if (key == "env_file") draft.unknown("env_file: not read");
      if (key == "scale") note_replicas(draft, text(service_, "scale"));
      const bool known =
          std::ranges::count(kHarmless, key) + std::ranges::count(kHarmlessToo, key) > 0;
      if (!known && key != "env_file" && key != "scale" && !key.starts_with("x-"))
        draft.unknown(key);
    }
    note_replicas(draft, text(at("deploy"), "replicas"));
    read_container_launch(draft, image(), words("entrypoint"), words("command"));
    for (const std::string& name : unresolved_) {
      draft.note(fmt::format("{} has no value here and is left as written", name));
    }
    return finished(std::move(draft), release);
  }

  // ConfigError: more than anybody starts on one machine.
  [[nodiscard]] std::int64_t replicas() {
    constexpr std::int64_t kMostReplicas = 64;
    const std::string scale = text(service_, "scale");
    const std::string count = scale.empty() ? text(at("deploy"), "replicas") : scale;
    const std::optional<std::int64_t> number = whole_number(count);
    if (number && (*number < 0 || *number > kMostReplicas)) {
      throw ConfigError(Complaint{
          .origin = fmt::format("{}: services/{}", file_, name_),
          .value = count,
          .problem = fmt::format("expected 0 to {} replicas on one machine", kMostReplicas)});
    }
    return number.value_or(1);
  }

 private:
  static constexpr const char* kReplicaLabel = "headroom.replica";

  static std::string dotted(std::string key) {
    std::ranges::replace(key, '/', '.');
    return key;
  }

  // Labels are an object, or a list of "key=value".
  std::string label(const std::string& key) {
    const Json& labels = at("labels");
    if (labels.is_object()) return text(labels, key);
    for (const Json& one : labels) {
      if (!one.is_string()) continue;
      const std::string word = one.get<std::string>();
      if (word.starts_with(key + "=")) return word.substr(key.size() + 1);
    }
    return "";
  }

  // Files whose text stands in the compose file itself.
  void read_configs(Draft& draft) {
    for (const Json& one : at("configs")) {
      const Json& config = member(member(root_, "configs"), text(one, "source"));
      const Json& content = member(config, "content");
      if (content.is_string()) draft.files[text(one, "target")] = expanded(content);
    }
  }

  ConfigError error(std::string_view key, std::string_view problem) const {
    return ConfigError(Complaint{.origin = file_,
                                 .pointer = fmt::format("services/{}/{}", name_, key),
                                 .problem = std::string(problem)});
  }

  // The value of `key` in an object, else null.
  static const Json& member(const Json& object, const std::string& key) {
    static const Json kNull;
    return object.is_object() && object.contains(key) ? object.at(key) : kNull;
  }
  const Json& at(const std::string& key) const { return member(service_, key); }

  std::string expanded(const Json& value) {
    return expand_variables(value.get<std::string>(), {}, unresolved_);
  }

  std::string text(const Json& object, const std::string& key) {
    const Json& value = member(object, key);
    if (value.is_null()) return {};
    if (!value.is_string()) throw error(key, "expected a string");
    return expanded(value);
  }

  std::string image() { return text(service_, "image"); }

  // A list of words, or a text that is split like a shell's.
  std::vector<std::string> words(const std::string& key) {
    const Json& value = at(key);
    std::vector<std::string> result;
    if (value.is_string()) return split_words(expanded(value), fmt::format("{}: {}", file_, key));
    for (const Json& item : value) {
      if (!item.is_string()) throw error(key, "expected a list of strings");
      result.push_back(expanded(item));
    }
    return result;
  }

  static std::vector<std::string> first_devices(std::string_view count) {
    std::vector<std::string> ids;
    for (std::int64_t i = 0; i < device_count(count).value_or(0); ++i) {
      ids.push_back(std::to_string(i));
    }
    return ids;
  }

  // "0,1" as its ids; nothing for "all" and the like.
  static std::vector<std::string> device_list(const std::string& text) {
    std::vector<std::string> ids;
    if (!device_count(text)) return ids;
    std::istringstream in(text);
    for (std::string id; std::getline(in, id, ',');) ids.push_back(id);
    return ids;
  }

  // CUDA counts those that the container sees; ids of another kind name a device themselves.
  static std::vector<std::string> chosen_devices(std::vector<std::string> seen,
                                                 const std::vector<std::string>& chosen) {
    if (chosen.empty() || seen.empty()) return chosen.empty() ? seen : chosen;
    std::vector<std::string> ids;
    for (const std::string& id : chosen) {
      const bool counts = id.size() < 4 && id.find_first_not_of("0123456789") == std::string::npos;
      const std::size_t at = counts ? std::stoul(id) : seen.size();
      ids.push_back(at < seen.size() ? seen[at] : id);
    }
    return ids;
  }

  std::string variable(const std::string& name) {
    const Json& variables = at("environment");
    if (variables.is_object()) return text(variables, name);
    for (const Json& one : variables) {
      if (!one.is_string()) continue;
      const std::string word = expanded(one);
      if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
    }
    return "";
  }

  void read_variables(Draft& draft) {
    const Json& variables = at("environment");
    for (const auto& [key, value] : variables.items()) {
      if (!value.is_string() && !value.is_null()) throw error("environment", "expected strings");
      const std::string set_to = value.is_null() ? std::string() : expanded(value);
      if (variables.is_object()) {
        draft.variables[key] = set_to;
      } else if (const std::size_t equals = assignment_at(set_to); equals > 0) {
        draft.variables[set_to.substr(0, equals)] = set_to.substr(equals + 1);
      } else {
        draft.ignored(set_to);  // handed on from the caller's own environment
      }
    }
  }

  void read_devices(Draft& draft) {
    if (const Json& gpus = at("gpus"); gpus.is_string()) {
      draft.devices = device_count(expanded(gpus));
      draft.devices_by = "gpus";
    }
    const Json& reservations = member(member(at("deploy"), "resources"), "reservations");
    for (const Json& device : member(reservations, "devices")) {
      const Json& ids = member(device, "device_ids");
      const std::string count = text(device, "count");
      if (ids.is_array()) draft.devices = static_cast<std::int64_t>(ids.size());
      if (!count.empty()) draft.devices = device_count(count);
      draft.devices_by = "deploy.resources.reservations.devices";
    }
  }

  std::string memory_limit() {
    std::string short_form = text(service_, "mem_limit");
    if (!short_form.empty()) return short_form;
    return text(member(member(at("deploy"), "resources"), "limits"), "memory");
  }

  static void note_replicas(Draft& draft, const std::string& count) {
    if (count.empty() || count == "1") return;
    draft.note(fmt::format("the service has {} replicas: this is one of them", count));
  }

  const Json& root_;
  const Json& service_;
  const std::string& file_;
  std::string name_;
  std::vector<std::string> unresolved_;
};

// The service by its name, or the only one that starts an engine.
std::string chosen_service(const Json& root, const std::string& file, const std::string& wanted) {
  const Json& services = root.at("services");
  std::vector<std::string> all;
  std::vector<std::string> engines;
  for (const auto& [key, service] : services.items()) {
    all.push_back(key);
    if (ServiceReader(root, file, key).starts_engine()) engines.push_back(key);
  }
  if (!wanted.empty()) {
    if (services.contains(wanted)) return wanted;
    const std::string nearest = nearest_name(wanted, all);
    throw ConfigError(
        Complaint{.origin = file,
                  .problem = fmt::format("no service '{}': one of {}{}", wanted, comma_list(all),
                                         nearest.empty() ? "" : " (nearest: " + nearest + ")")});
  }
  if (engines.size() == 1) return engines.front();
  if (engines.empty()) {
    throw ConfigError(
        Complaint{.origin = file,
                  .problem = fmt::format("no service starts a known engine ({}); supported: {}",
                                         comma_list(all), understood_commands())});
  }
  throw ConfigError(Complaint{
      .origin = file,
      .problem =
          fmt::format("several services start an engine: choose one of {} with --service, or see "
                      "how they share a device: headroom audit {} --device DEVICE",
                      comma_list(engines), file)});
}

// Services that are replicas of one fleet.
std::vector<DeployedPart> replicas_of(const Json& root, const std::string& file,
                                      std::string_view release) {
  std::vector<DeployedPart> parts;
  for (const auto& [key, service] : root.at("services").items()) {
    ServiceReader reader(root, file, key);
    if (reader.is_replica() && reader.starts_engine()) parts.push_back(reader.part(release));
  }
  return parts;
}

// Services that may take memory of the devices, of which nothing is known.
std::vector<std::string> uncounted_notes(const Json& root, const std::string& file) {
  std::vector<std::string> notes;
  for (const auto& [key, service] : root.at("services").items()) {
    ServiceReader reader(root, file, key);
    if (!reader.takes_devices() || reader.starts_engine()) continue;
    notes.push_back(
        fmt::format("{} takes GPUs, too, but starts no known engine ({}): its memory is not "
                    "counted (device.used_by_others_gib)",
                    key, reader.image_name()));
  }
  return notes;
}

Json compose_root(std::istream& text, const std::string& name) {
  const std::string content(std::istreambuf_iterator<char>(text), {});
  Json root = read_yaml(content, name);
  const bool has_services =
      root.is_object() && root.contains("services") && root.at("services").is_object();
  if (!has_services)
    throw ConfigError(
        Complaint{.origin = name, .problem = "not a compose file: it has no \"services\""});
  return root;
}

// What depends_on says of all services.
class StartOrder {
 public:
  StartOrder(const Json& root, const std::string& file) {
    for (const auto& [key, service] : root.at("services").items()) {
      if (service.is_object()) after_[key] = ServiceReader(root, file, key).starts_after(healthy_);
      names_.push_back(key);
    }
    place(file);
  }

  // Each after those that it waits for, else in the order of the file.
  [[nodiscard]] const std::vector<std::string>& order() const { return order_; }
  [[nodiscard]] bool is_healthy_first(const std::string& name) const {
    return healthy_.contains(name);
  }

  // Whether depends_on, directly or through others, starts `first` before `second`.
  [[nodiscard]] bool orders(const std::string& first, const std::string& second) const {
    const auto needed = after_.find(second);
    return needed != after_.end() &&
           std::ranges::any_of(needed->second, [&](const std::string& name) {
             return name == first || orders(first, name);
           });
  }

 private:
  void place(const std::string& file) {
    while (order_.size() < names_.size()) {
      const auto next = std::ranges::find_if(names_, [this](const std::string& name) {
        const auto is_in = [](const std::vector<std::string>& list, const std::string& other) {
          return std::ranges::find(list, other) != list.end();
        };
        // A service of another file, as of an override, says nothing here.
        const auto placed = [&](const std::string& other) {
          return is_in(order_, other) || !is_in(names_, other);
        };
        const auto needed = after_.find(name);
        return !is_in(order_, name) &&
               (needed == after_.end() || std::ranges::all_of(needed->second, placed));
      });
      if (next == names_.end()) {
        throw ConfigError(
            Complaint{.origin = file, .problem = "depends_on goes in a circle: nothing starts"});
      }
      order_.push_back(*next);
    }
  }

  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::string>> after_;
  std::set<std::string> healthy_;
  std::vector<std::string> order_;
};

std::vector<std::string> order_notes(const StartOrder& order,
                                     const std::vector<ComposeService>& services) {
  std::vector<std::string> notes;
  for (std::size_t i = 1; i < services.size(); ++i) {
    const std::string& first = services[i - 1].service;
    const std::string& second = services[i].service;
    if (first == second) {
      notes.push_back(
          fmt::format("{} and {} are replicas, which start at once: taken one after the other",
                      services[i - 1].name, services[i].name));
    } else if (!order.orders(first, second)) {
      notes.push_back(fmt::format(
          "{} before {} is the order of the file: depends_on says nothing, and without it both "
          "start at once",
          first, second));
    } else if (!order.is_healthy_first(first)) {
      notes.push_back(fmt::format(
          "{} is taken to have its memory when {} starts: only `condition: service_healthy` of "
          "depends_on waits for that",
          first, second));
    }
  }
  return notes;
}

}  // namespace

ComposeServices engines_of_compose(std::istream& text, const std::string& name,
                                   std::string_view release, std::string_view wanted) {
  const Json root = compose_root(text, name);
  const StartOrder order(root, name);
  ComposeServices found;
  const auto read_replicas = [&](const std::string& service) {
    ServiceReader reader(root, name, service);
    if (!reader.starts_engine()) return;
    found.is_fleet |= reader.is_replica();
    const std::int64_t replicas = reader.replicas();
    for (std::int64_t i = 1; i <= replicas; ++i) {
      const std::string one = replicas > 1 ? fmt::format("{}-{}", service, i) : service;
      found.services.push_back({one, service, reader.read(release), reader.devices()});
    }
  };
  for (const std::string& service : order.order()) {
    try {
      read_replicas(service);
    } catch (const ConfigError& error) {
      // "chat-1" may be a replica of it, or another service.
      const bool is_wanted = wanted == service || (wanted.starts_with(service + "-") &&
                                                   !root.at("services").contains(wanted));
      if (wanted.empty() || is_wanted) throw;
      found.left_out.push_back(left_out_note(service, error));
    }
  }
  found.notes = order_notes(order, found.services);
  std::ranges::move(uncounted_notes(root, name), std::back_inserter(found.notes));
  return found;
}

FromResult scenario_from_compose(std::istream& text, const std::string& name,
                                 const std::string& service, std::string_view release) {
  const Json root = compose_root(text, name);
  if (service.empty()) {
    std::vector<DeployedPart> replicas = replicas_of(root, name, release);
    if (!replicas.empty()) return scenario_of_parts(std::move(replicas));
  }
  const std::string chosen = chosen_service(root, name, service);
  FromResult result = ServiceReader(root, name, chosen).read(release);
  std::ranges::move(uncounted_notes(root, name), std::back_inserter(result.notes));
  return result;
}

}  // namespace headroom
