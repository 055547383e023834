#pragma once
// What `headroom capacity` prints: blocks of at most 100 columns per system with tables that
// compare them; and the worksheet of seed 002.

#include <string>
#include <vector>

#include "sim/memory/capacity.hpp"
#include "sim/memory/worksheet.hpp"

namespace headroom {

inline constexpr std::size_t kCapacityWidth = 100;

[[nodiscard]] std::string capacity_text(const std::vector<CapacityRow>& rows);

[[nodiscard]] std::string worksheet_text(const std::vector<Worksheet>& sheets);

// Columns of text: the first to the left, the others to the right; the first row is the header.
// Columns beyond `width` continue in further tables that repeat the first column.
[[nodiscard]] std::string table_text(std::vector<std::vector<std::string>> rows,
                                     std::size_t width = kCapacityWidth);

}  // namespace headroom
