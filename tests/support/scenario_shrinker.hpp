#pragma once
// Makes a failing scenario small, and prints it as code for a new test.

#include <functional>
#include <string>

#include "tests/oracle/oracle_types.hpp"

namespace headroom::oracle {

using ScenarioPredicate = std::function<bool(const Scenario&)>;

// Removes requests and reduces numbers as long as `fails` still holds. `scenario` must fail.
// Only legal scenarios are tried. At most `max_tries` calls of `fails`.
[[nodiscard]] Scenario shrink(Scenario scenario, const ScenarioPredicate& fails,
                              int max_tries = 20'000);

// C++ initialiser text: arrivals, and every field that differs from its default.
[[nodiscard]] std::string to_cpp(const Scenario& scenario);

}  // namespace headroom::oracle
