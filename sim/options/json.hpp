#pragma once
// JSON of scenarios and of what is read from commands: keys stay in the order they were written.

#include <nlohmann/json.hpp>

namespace headroom {

using Json = nlohmann::ordered_json;

}  // namespace headroom
