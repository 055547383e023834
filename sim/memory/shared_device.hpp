#pragma once
// Several engines that share devices: what each one finds taken when it starts, who fails and
// where, and which one option lets all of them start.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/memory/audit_fixes.hpp"
#include "sim/resolve/start_verdict.hpp"

namespace headroom {

struct SharingEngine {
  std::string name;  // of the service
  Scenario scenario;
  std::vector<std::string> devices;  // ids that it sees, of which it takes the first; empty: all
  std::optional<BudgetedSystem> alone = {};  // budget of the scenario, where it is known already
};

struct SharedStart {
  std::string name;
  Scenario scenario;                 // with what the engines before it hold
  BudgetedSystem system;             // of that scenario
  std::vector<std::string> devices;  // ids that it takes
  ByteCount taken_bytes = 0;         // of the fullest of its devices, by engines before it
  // On each of its devices once it serves; 0 where it does not start. Weights that are used in
  // place from the page cache count.
  ByteCount held_bytes = 0;
  StartVerdict verdict = StartVerdict::starts;
};

// Whether both take one of the devices.
[[nodiscard]] bool share_a_device(const SharedStart& a, const SharedStart& b);

// One option of one engine with which the first engine that fails, and all before it, start.
struct SharedChange {
  std::string name;
  Fix fix;
  std::string stops = {};  // the first engine that does not start with it; empty: all do
};

struct SharedStarts {
  std::vector<SharedStart> starts;    // in the order of the starts
  std::optional<std::size_t> failed;  // the first that does not start
  std::vector<SharedChange> changes;  // for it; those with which all start first, then its own
};

// `engines` in the order in which they start: each has its memory before the next one looks.
// ConfigError as resolve_system; an engine that spreads over more devices than its service sees.
[[nodiscard]] SharedStarts start_together(const std::vector<SharingEngine>& engines,
                                          const Catalog& catalog);

}  // namespace headroom
