#pragma once
// Options under the names that other tools give them.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace headroom {

// `words` with load generators' and servers' names of options (--qps, --max-concurrency, --isl,
// --tp) as the chosen command calls them: those that it lacks itself, where it has what they mean.
[[nodiscard]] std::vector<std::string> in_own_words(const CLI::App& app,
                                                    std::vector<std::string> words);

}  // namespace headroom
