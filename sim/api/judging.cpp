// Answers that judge a scenario by many runs of it: tuned flags, and assertions.

#include <atomic>
#include <string>
#include <utility>

#include "sim/api/control.hpp"
#include "sim/api/door.hpp"
#include "sim/api/scenario_document.hpp"
#include "sim/api/simulator_data.hpp"
#include "sim/report/json/assert_json.hpp"
#include "sim/report/json/tune_json.hpp"
#include "sim/study/ask/ask_target.hpp"
#include "sim/study/assert/assert_runs.hpp"
#include "sim/study/tune/tune_query.hpp"

namespace headroom::api {

TuneAnswer Simulator::tune(const Scenario& scenario, const TuneChoices& choices,
                           const Control& control) const {
  return behind_door([&] {
    TuneQuery query = tune_query({.objective = choices.objective,
                                  .price = choices.price,
                                  .keep = choices.keep,
                                  .tries = choices.tries,
                                  .only_tries = choices.only_tries,
                                  .budget = choices.budget,
                                  .seed = choices.seed},
                                 scenario.document_->written);
    if (!choices.targets.empty()) query.targets = parse_targets({choices.targets}, "targets");
    const StopFlag stop(control.stop);
    const std::atomic<std::uint64_t> done{0};  // how many runs a search takes shows at its end
    headroom::TuneAnswer found;
    with_reports(control, done, 0, [&] {
      found = headroom::tune(query, data_->catalog,
                             {.threads = control.threads, .interrupted = &stop.flag()});
    });
    TuneAnswer answer;
    if (found.interrupted || stop.is_set()) return answer;
    const TunedScenario best = tuned_scenario(query, found);
    answer.found = found.best.merit.has_value();
    answer.merit = found.best.merit;
    answer.gain = found.gain;
    answer.gain_half_width = found.gain_half_width;
    for (const Setting& setting : found.settings) {
      answer.settings.push_back({.option = setting.path, .to = setting.value.dump()});
    }
    answer.scenario = json_text(best.root);
    answer.command = best.command;
    answer.json = json_text(tune_json(found, best.root, best.command, std::string(version())));
    return answer;
  });
}

CheckAnswer Simulator::check(const std::vector<Scenario>& scenarios,
                             const std::vector<std::string>& assertions,
                             const Control& control) const {
  return behind_door([&] {
    const std::vector<Assertion> texts = parse_assertions(assertions);
    if (texts.empty()) throw ConfigError("check: name what must hold", ErrorKind::missing);
    if (scenarios.empty()) throw ConfigError("check: name a scenario", ErrorKind::missing);
    std::vector<AssertedScenario> all;
    for (const Scenario& one : scenarios) {
      all.push_back({one.document_->written.json.name, one.document_->read()});
    }
    const StopFlag stop(control.stop);
    const std::atomic<std::uint64_t> done{0};
    std::vector<CheckedScenario> checked;
    with_reports(control, done, all.size(), [&] {
      checked = assert_runs(all, texts, data_->catalog,
                            {.threads = control.threads, .interrupted = &stop.flag()});
    });
    CheckAnswer answer;
    if (stop.is_set()) return answer;
    answer.holds = true;
    for (const CheckedScenario& one : checked) {
      for (const CheckedAssertion& assertion : one.assertions) {
        answer.holds = answer.holds && assertion.verdict != AssertionVerdict::broken;
        answer.assertions.push_back({.scenario = one.name,
                                     .text = assertion.assertion.text,
                                     .verdict = std::string(name_of(assertion.verdict)),
                                     .value = assertion.value,
                                     .low = assertion.low,
                                     .high = assertion.high});
      }
    }
    answer.json = json_text(assert_json(checked, std::string(version())));
    return answer;
  });
}

}  // namespace headroom::api
