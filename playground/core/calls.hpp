#pragma once
// What the page asks the simulator: JSON in, JSON out.

#include <memory>
#include <string>
#include <string_view>

#include "sim/api/headroom.hpp"

namespace headroom::playground {

class Calls {
 public:
  // {"do": ...} and what each takes; the answer is an object.
  //   names                                   models, devices, environments, engines
  //   from      command | compose [service]   scenario (JSON text), unknown_flags, ignored_flags,
  //                                           notes
  //   scenario  scenario [set]                json: the document with what was set; command,
  //                                           no_flags: what starts its engine
  //   run       scenario [set] [charts]       summary (JSON text), digest, charts (charts.hpp)
  //   capacity  scenario [set] contexts       json
  //   audit     scenario [set] [context concurrency]   json
  //   ask       scenario [set] [targets]      json
  // `scenario` is the text of a document or the name of a ready one, `set` an object of values by
  // their dotted paths; `trace`, which all that take a scenario may have, the path of a file whose
  // requests replace its own. What goes wrong is {"error": {sentence, kind, origin, pointer, value,
  // allowed, nearest}}, never an exception.
  [[nodiscard]] std::string answer(std::string_view request);

  // After kernel times changed: what was made of the old ones is dropped.
  void forget() { simulator_.reset(); }

 private:
  [[nodiscard]] const api::Simulator& simulator();

  std::unique_ptr<api::Simulator> simulator_;
};

}  // namespace headroom::playground
