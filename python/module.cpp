// headroom._core: the library as Python functions. Each answers with a dict; headroom/ makes the
// classes that users see.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "python/answers.hpp"
#include "sim/api/headroom.hpp"
#include "sim/app/program.hpp"

namespace nb = nanobind;

namespace headroom::python {
namespace {

using api::Control;
using api::Scenario;

const api::Simulator& simulator() {
  static const api::Simulator kSimulator;
  return kSimulator;
}

// Does `work` without the interpreter's lock.
template <typename Work>
auto unlocked(Work work) {
  const nb::gil_scoped_release release;
  return work();
}

// The same of `work(control)`. Ten times a second this thread takes the lock, lets Python handle
// its signals and calls `progress(done, all)`. What either raises stops the work, and is raised
// when it has ended.
template <typename Work>
auto unlocked(const nb::object& progress, Control control, Work work) {
  std::stop_source stop;
  std::exception_ptr raised;
  control.stop = stop.get_token();
  control.progress = [&](std::uint64_t done, std::uint64_t all) {
    const nb::gil_scoped_acquire lock;
    if (raised) return;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none()) progress(done, all);
    } catch (...) {
      raised = std::current_exception();
      stop.request_stop();
    }
  };
  auto answer = unlocked([&] { return work(control); });
  if (raised) std::rethrow_exception(raised);
  return answer;
}

nb::dict run(const Scenario& scenario, const nb::object& progress, bool tables) {
  return fields_of(unlocked(progress, {.tables = tables},
                            [&](const Control& c) { return simulator().run(scenario, c); }));
}

nb::dict capacity(const Scenario& scenario, const std::vector<std::int64_t>& contexts) {
  return fields_of(unlocked([&] { return simulator().capacity(scenario, contexts); }));
}

nb::dict audit(const Scenario& scenario, std::int64_t context, std::int64_t concurrency) {
  return fields_of(unlocked([&] { return simulator().audit(scenario, context, concurrency); }));
}

nb::dict ask(const Scenario& scenario, std::string_view targets, std::size_t threads,
             const nb::object& progress) {
  return fields_of(unlocked(progress, {.threads = threads}, [&](const Control& c) {
    return simulator().ask(scenario, targets, c);
  }));
}

nb::dict compare(const Scenario& a, const Scenario& b, std::int64_t replications,
                 std::size_t threads, const nb::object& progress) {
  return fields_of(unlocked(progress, {.threads = threads}, [&](const Control& c) {
    return simulator().compare(a, b, replications, c);
  }));
}

nb::list sweep(std::string_view text, const std::string& name, const std::string& folder,
               std::size_t threads, const nb::object& progress) {
  nb::list points;
  const auto answer = unlocked(progress, {.threads = threads}, [&](const Control& c) {
    return simulator().sweep(text, c, {name, folder});
  });
  for (const api::SweepPoint& point : answer) points.append(fields_of(point));
  return points;
}

nb::dict plan(std::string_view text, const std::string& name, const std::string& folder,
              std::size_t threads, const nb::object& progress) {
  return fields_of(unlocked(progress, {.threads = threads}, [&](const Control& c) {
    return simulator().plan(text, c, {name, folder});
  }));
}

nb::dict tune(const Scenario& scenario, const std::string& targets, const std::string& objective,
              std::optional<double> price, const std::vector<std::string>& keep,
              const std::vector<std::string>& tries, bool only_tries, std::int64_t budget,
              std::int64_t seed, std::size_t threads, const nb::object& progress) {
  const api::TuneChoices choices{.targets = targets,
                                 .objective = objective,
                                 .price = price,
                                 .keep = keep,
                                 .tries = tries,
                                 .only_tries = only_tries,
                                 .budget = budget,
                                 .seed = seed};
  return fields_of(unlocked(progress, {.threads = threads}, [&](const Control& c) {
    return simulator().tune(scenario, choices, c);
  }));
}

nb::dict check(const std::vector<Scenario>& scenarios, const std::vector<std::string>& assertions,
               std::size_t threads, const nb::object& progress) {
  return fields_of(unlocked(progress, {.threads = threads}, [&](const Control& c) {
    return simulator().check(scenarios, assertions, c);
  }));
}

nb::dict emit(const Scenario& scenario, std::string_view form, const nb::object& progress) {
  return fields_of(unlocked(progress, {},
                            [&](const Control& c) { return simulator().emit(scenario, form, c); }));
}

// The program `headroom`; the process does nothing else from then on.
int run_program(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return headroom::run_program(static_cast<int>(words.size()), argv.data());
}

// Raises headroom.Error, which is written in Python.
void raise_error(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const api::Error& error) {
    const api::Error::About& about = error.about();
    const nb::object type = nb::module_::import_("headroom._error").attr("Error");
    const nb::object instance =
        type(error.what(), nb::arg("kind") = about.kind, nb::arg("origin") = about.origin,
             nb::arg("pointer") = about.pointer, nb::arg("value") = about.value,
             nb::arg("allowed") = about.allowed, nb::arg("nearest") = about.nearest);
    PyErr_SetObject(type.ptr(), instance.ptr());
  }
}

}  // namespace
}  // namespace headroom::python

NB_MODULE(_core, m) {
  using namespace headroom::python;
  namespace api = headroom::api;
  nb::register_exception_translator(raise_error);
  m.attr("__version__") = std::string(api::version());
  m.attr("OUTCOMES") = nb::tuple(nb::cast(api::outcome_names()));
  nb::class_<api::Scenario>(m, "Scenario")
      .def_static("from_json", &api::Scenario::from_json, nb::arg("text"), nb::arg("name"),
                  nb::arg("folder"))
      .def_static("ready", &api::Scenario::ready, nb::arg("name"))
      .def("set", &api::Scenario::set, nb::arg("path"), nb::arg("value"))
      .def("replay", &api::Scenario::replay, nb::arg("trace"))
      .def("json", &api::Scenario::json)
      .def("copy", [](const api::Scenario& own) { return api::Scenario(own); });
  m.def("ready_study", &api::ready_study, nb::arg("name"));
  m.def("ready_plan", &api::ready_plan, nb::arg("name"));
  m.def("deployment_forms", &api::deployment_forms);
  m.def("tune", &tune, nb::arg("scenario"), nb::arg("targets"), nb::arg("objective"),
        nb::arg("price").none(), nb::arg("keep"), nb::arg("tries"), nb::arg("only_tries"),
        nb::arg("budget"), nb::arg("seed"), nb::arg("threads"), nb::arg("progress").none());
  m.def("check", &check, nb::arg("scenarios"), nb::arg("assertions"), nb::arg("threads"),
        nb::arg("progress").none());
  m.def("emit", &emit, nb::arg("scenario"), nb::arg("form"), nb::arg("progress").none());
  m.def("run_program", &run_program, nb::arg("words"));
  m.def("run", &run, nb::arg("scenario"), nb::arg("progress").none(), nb::arg("tables"));
  m.def("capacity", &capacity, nb::arg("scenario"), nb::arg("contexts"));
  m.def("audit", &audit, nb::arg("scenario"), nb::arg("context"), nb::arg("concurrency"));
  m.def("ask", &ask, nb::arg("scenario"), nb::arg("targets"), nb::arg("threads"),
        nb::arg("progress").none());
  m.def("compare", &compare, nb::arg("a"), nb::arg("b"), nb::arg("replications"),
        nb::arg("threads"), nb::arg("progress").none());
  m.def("sweep", &sweep, nb::arg("text"), nb::arg("name"), nb::arg("folder"), nb::arg("threads"),
        nb::arg("progress").none());
  m.def("plan", &plan, nb::arg("text"), nb::arg("name"), nb::arg("folder"), nb::arg("threads"),
        nb::arg("progress").none());
}
