#pragma once
// The YAML file that belongs to the table of a BLIS trace (blis.hpp): what of it decides how the
// table is read.

#include <string>

namespace headroom {

struct BlisHeader {
  // session_context_growth: accumulate. A later round of a session states only what it adds to the
  // rounds before it.
  bool accumulates = false;
};

// Of the table at `csv_path`: x.csv belongs to x.yaml, trace_data.csv to trace_header.yaml.
// Defaults where there is no such file; DataError when it states what is not known.
[[nodiscard]] BlisHeader read_blis_header(const std::string& csv_path);

}  // namespace headroom
