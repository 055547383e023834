#pragma once
// What a Scenario of the library holds.

#include "sim/api/headroom.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace headroom::api {

struct Scenario::Document {
  ScenarioDocument written;

  [[nodiscard]] headroom::Scenario read() const {
    return load_scenario(written, written.json.name, {});
  }
};

}  // namespace headroom::api
