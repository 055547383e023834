#pragma once
// The published traces against values from an independent reader: traces/golden.json of the
// shared folder.

#include <optional>
#include <string>
#include <string_view>

#include "workloads/traces/trace.hpp"

namespace headroom {

// Checks that the published file `name` ("azure-llm-2023/...csv") is read as its values say: all
// rows, and those left without zero tokens. Returns the latter; nothing, with a warning, where the
// file is not on this machine.
std::optional<Trace> check_published(const std::string& name, std::string_view format);

}  // namespace headroom
