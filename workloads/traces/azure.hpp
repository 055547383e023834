#pragma once
// Azure LLM inference traces of 2023 and 2024, and the multimodal one of 2025
// (https://github.com/Azure/AzurePublicDataset; TRACES.md 3.1). Comma-separated, no quoting;
// columns go by the name in the header: TIMESTAMP, ContextTokens, GeneratedTokens, and NumImages,
// which is checked and otherwise not used.

#include <string_view>

#include "workloads/traces/line_reader.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

[[nodiscard]] bool is_azure_header(std::string_view line);
void read_azure(std::string_view header, LineReader& lines, TraceBuilder& rows);

}  // namespace headroom
