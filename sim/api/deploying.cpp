// Fleets as files to deploy.

#include <atomic>
#include <string>

#include "sim/api/control.hpp"
#include "sim/api/door.hpp"
#include "sim/api/scenario_document.hpp"
#include "sim/api/simulator_data.hpp"
#include "sim/deploy/emit.hpp"
#include "sim/report/json/deployment_head.hpp"
#include "sim/resolve/run.hpp"

namespace headroom::api {

std::vector<std::string> deployment_forms() { return headroom::deployment_forms(); }

EmitAnswer Simulator::emit(const Scenario& scenario, std::string_view form,
                           const Control& control) const {
  return behind_door([&] {
    const headroom::Scenario read = scenario.document_->read();
    const Catalog& catalog = data_->catalog;
    // What cannot be written is known before the run.
    static_cast<void>(emit_deployment(form, read, catalog, {}));
    const StopFlag stop(control.stop);
    std::atomic<std::uint64_t> done{0};
    RunResult result;
    with_reports(control, done, 0, [&] {
      result = headroom::run(read, catalog, {&stop.flag(), &done});
    });
    EmitAnswer answer;
    if (stop.is_set()) return answer;
    const EmittedDeployment emitted = emit_deployment(
        form, read, catalog, deployment_head(result, std::string(version()), catalog));
    for (const DeploymentText& file : emitted.files)
      answer.files.emplace_back(file.name, file.text);
    answer.not_said = emitted.not_said;
    return answer;
  });
}

}  // namespace headroom::api
