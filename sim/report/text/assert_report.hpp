#pragma once
// What `headroom assert` answers: for people, for a pull request, and for programs that read test
// results.

#include <string>
#include <vector>

#include "sim/study/assert/assert_runs.hpp"

namespace headroom {

// "BROKEN: 1 of 4 assertions", then a line for each.
[[nodiscard]] std::string assert_text(const std::vector<CheckedScenario>& scenarios);

// A table for each scenario, in the Markdown of GitHub and GitLab.
[[nodiscard]] std::string assert_markdown(const std::vector<CheckedScenario>& scenarios);

// JUnit XML: a suite for each scenario, a case for each assertion; a tight one passes, and says so
// in its output. It has no times, so equal results are equal files.
[[nodiscard]] std::string assert_junit(const std::vector<CheckedScenario>& scenarios);

}  // namespace headroom
