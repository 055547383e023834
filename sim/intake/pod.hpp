#pragma once
// The pods of Kubernetes objects, and of Helm charts whose values have the same shapes.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/intake/deployed_part.hpp"
#include "sim/scenario/json_document.hpp"

namespace headroom {

// The member of an object, else null.
[[nodiscard]] const Json& member_of(const Json& object, const std::string& key);
[[nodiscard]] const Json& member_of(const Json& object, std::initializer_list<const char*> keys);
// A scalar; empty: none. YAML's scalars are texts here.
[[nodiscard]] std::string text_of(const Json& object, const std::string& key);
[[nodiscard]] std::string text_of(const Json& object, std::initializer_list<const char*> keys);
// A whole number, else `otherwise`.
[[nodiscard]] std::int64_t count_of(const Json& object, const std::string& key,
                                    std::int64_t otherwise);

// Files of ConfigMaps: name of the map -> name of the file -> text.
using ConfigMaps = std::map<std::string, std::map<std::string, std::string>, std::less<>>;

struct PodQuery {
  std::string shown_as;  // what errors call it
  std::string release;   // of the engine, as the user gives it apart; empty: the image's
  const ConfigMaps* configs = nullptr;
};

// `pod`: a PodSpec. `annotations`: of its template. Nothing: no container of it starts an engine.
[[nodiscard]] std::optional<DeployedPart> read_pod(const Json& pod, const Json& annotations,
                                                   const PodQuery& query);

// The device that a node selector or a node affinity's terms ask for; empty: none.
[[nodiscard]] std::string device_of_nodes(const Json& selector, const Json& terms);
// The group, role and device that annotations name.
void read_annotations(const Json& annotations, DeployedPart& part);

}  // namespace headroom
