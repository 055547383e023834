#include "sim/report/json/assert_json.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json checked_json(const CheckedAssertion& checked) {
  const Assertion& a = checked.assertion;
  Json json = {{"assertion", a.text},
               {"verdict", name_of(checked.verdict)},
               {"metric", a.metric},
               {"relation", name_of(a.relation)},
               {"bound", a.bound},
               {"unit", unit_of_metric(a.metric)},
               {"simulated", optional_json(checked.value)}};
  if (checked.value) {
    json["low"] = checked.low;
    json["high"] = checked.high;
  } else {
    json["why"] = checked.why;
  }
  return json;
}

}  // namespace

Json assert_json(const std::vector<CheckedScenario>& scenarios, const std::string& version) {
  Json list = Json::array();
  std::size_t broken = 0;
  std::size_t tight = 0;
  for (const CheckedScenario& one : scenarios) {
    Json assertions = Json::array();
    for (const CheckedAssertion& checked : one.assertions) {
      assertions.push_back(checked_json(checked));
    }
    broken += one.count(AssertionVerdict::broken);
    tight += one.count(AssertionVerdict::tight);
    list.push_back({{"scenario", one.name},
                    {"file", one.file},
                    {"digest", one.digest},
                    {"measured_runs", one.measured_runs},
                    {"assertions", std::move(assertions)}});
  }
  return {{"headroom_version", version},
          {"verdict", name_of(broken > 0  ? AssertionVerdict::broken
                              : tight > 0 ? AssertionVerdict::tight
                                          : AssertionVerdict::holds)},
          {"broken", broken},
          {"tight", tight},
          {"scenarios", std::move(list)}};
}

}  // namespace headroom
