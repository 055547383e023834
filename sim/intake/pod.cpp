#include "sim/intake/pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/intake/container.hpp"
#include "sim/intake/gpu_products.hpp"
#include "sim/intake/launch.hpp"
#include "sim/intake/values.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

// A quantity of Kubernetes ("2Gi", "16G", "1024") as Docker's words for the same bytes.
std::string docker_size(std::string_view quantity) {
  constexpr std::string_view kSuffixes = "KMGTP";
  std::string_view number = quantity;
  double factor = 1;
  const bool binary = number.ends_with('i');
  if (binary) number.remove_suffix(1);
  const std::size_t exponent = number.empty()
                                   ? std::string_view::npos
                                   : kSuffixes.find(number.back() == 'k' ? 'K' : number.back());
  if (exponent != std::string_view::npos) {
    number.remove_suffix(1);
    for (std::size_t i = 0; i <= exponent; ++i) factor *= binary ? 1024 : 1000;
  }
  const std::optional<double> value = decimal_number(number);
  if (!value) return std::string(quantity);
  return fmt::format("{:.0f}b", *value * factor);
}

std::vector<std::string> words_of(const Json& container, const std::string& key,
                                  const std::string& shown_as) {
  std::vector<std::string> words;
  for (const Json& word : member_of(container, key)) {
    if (!word.is_string()) {
      throw ConfigError(
          Complaint{.origin = shown_as, .pointer = key, .problem = "expected a list of strings"});
    }
    words.push_back(word.get<std::string>());
  }
  return words;
}

// The size of the volume of memory at /dev/shm; empty: none, or without a limit.
std::string shared_memory(const Json& pod, const Json& container) {
  for (const Json& mount : member_of(container, "volumeMounts")) {
    if (text_of(mount, "mountPath") != "/dev/shm") continue;
    for (const Json& volume : member_of(pod, "volumes")) {
      if (text_of(volume, "name") != text_of(mount, "name")) continue;
      if (text_of(volume, {"emptyDir", "medium"}) != "Memory") continue;
      const std::string limit = text_of(volume, {"emptyDir", "sizeLimit"});
      return limit.empty() ? "" : docker_size(limit);
    }
  }
  return "";
}

void add_config_files(Draft& draft, const Json& pod, const Json& container,
                      const ConfigMaps& maps) {
  for (const Json& mount : member_of(container, "volumeMounts")) {
    for (const Json& volume : member_of(pod, "volumes")) {
      if (text_of(volume, "name") != text_of(mount, "name")) continue;
      const auto map = maps.find(text_of(volume, {"configMap", "name"}));
      if (map == maps.end()) continue;
      for (const auto& [file, text] : map->second) {
        draft.files[fmt::format("{}/{}", text_of(mount, "mountPath"), file)] = text;
      }
    }
  }
}

void read_environment(Draft& draft, const Json& container) {
  for (const Json& variable : member_of(container, "env")) {
    const std::string name = text_of(variable, "name");
    if (member_of(variable, "valueFrom").is_object()) {
      draft.ignored(name);
    } else {
      draft.variables[name] = text_of(variable, "value");
    }
  }
}

FromResult read_container(const Json& pod, const Json& container, const PodQuery& query) {
  Draft draft(query.shown_as);
  read_environment(draft, container);
  if (const auto devices =
          whole_number(text_of(member_of(container, {"resources", "limits"}), "nvidia.com/gpu"))) {
    draft.devices = *devices;
    draft.devices_by = "nvidia.com/gpu";
  }
  const std::string memory = text_of(container, {"resources", "limits", "memory"});
  set_container(draft, {.shm_size = shared_memory(pod, container),
                        .memory = memory.empty() ? "" : docker_size(memory),
                        .ipc = text_of(pod, "hostIPC") == "true" ? "host" : "",
                        .unset_note = "no volume is mounted at /dev/shm, which leaves 64 MiB of "
                                      "shared memory: an emptyDir of medium Memory gives more"});
  if (query.configs != nullptr) add_config_files(draft, pod, container, *query.configs);
  read_container_launch(draft, text_of(container, "image"),
                        words_of(container, "command", query.shown_as),
                        words_of(container, "args", query.shown_as));
  return finished(std::move(draft), query.release);
}

}  // namespace

const Json& member_of(const Json& object, const std::string& key) {
  static const Json kNone;
  return object.is_object() && object.contains(key) ? object.at(key) : kNone;
}

const Json& member_of(const Json& object, std::initializer_list<const char*> keys) {
  const Json* at = &object;
  for (const char* key : keys) at = &member_of(*at, key);
  return *at;
}

std::string text_of(const Json& object, const std::string& key) {
  const Json& value = member_of(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string text_of(const Json& object, std::initializer_list<const char*> keys) {
  const Json& value = member_of(object, keys);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::int64_t count_of(const Json& object, const std::string& key, std::int64_t otherwise) {
  return whole_number(text_of(object, key)).value_or(otherwise);
}

std::string device_of_nodes(const Json& selector, const Json& terms) {
  const std::string product = text_of(selector, std::string(kGpuProductLabel));
  if (!product.empty()) return device_of_product(product);
  for (const Json& term : terms) {
    for (const Json& expression : member_of(term, "matchExpressions")) {
      const Json& values = member_of(expression, "values");
      const bool names_one = text_of(expression, "key") == kGpuProductLabel &&
                             text_of(expression, "operator") == "In" && values.is_array() &&
                             values.size() == 1 && values.front().is_string();
      if (names_one) return device_of_product(values.front().get<std::string>());
    }
  }
  return "";
}

void read_annotations(const Json& annotations, DeployedPart& part) {
  part.group = text_of(annotations, kGroupKey);
  const std::string role = text_of(annotations, kRoleKey);
  if (!role.empty()) part.role = role;
  if (part.device.empty()) part.device = text_of(annotations, kDeviceKey);
}

std::optional<DeployedPart> read_pod(const Json& pod, const Json& annotations,
                                     const PodQuery& query) {
  for (const Json& container : member_of(pod, "containers")) {
    const bool starts = container_starts_engine(text_of(container, "image"),
                                                words_of(container, "command", query.shown_as),
                                                words_of(container, "args", query.shown_as));
    if (!starts) continue;
    DeployedPart part;
    part.engine = read_container(pod, container, query);
    part.device = device_of_nodes(
        member_of(pod, "nodeSelector"),
        member_of(pod, {"affinity", "nodeAffinity",
                        "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}));
    read_annotations(annotations, part);
    return part;
  }
  return std::nullopt;
}

}  // namespace headroom
