#pragma once
// Values drawn for each row of a trace, for rows that were dropped as well: what is dropped moves
// no other row's draw.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/length_options.hpp"
#include "workloads/traces/trace.hpp"

namespace headroom {

// The rows of a trace among those that it had. Flags in the order of all rows; none: all are there.
class RowsThere {
 public:
  RowsThere(const Trace& trace, const std::vector<bool>& kept);

  [[nodiscard]] std::size_t all() const { return kept_.empty() ? there_ : kept_.size(); }
  [[nodiscard]] bool has(std::size_t row) const { return kept_.empty() || kept_[row]; }
  // Of values for all rows, those of the rows that are there.
  template <typename T>
  [[nodiscard]] std::vector<T> only(std::vector<T> values) const {
    if (kept_.empty()) return values;
    std::size_t count = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i]) values[count++] = values[i];
    }
    values.resize(count);
    return values;
  }

 private:
  const std::vector<bool>& kept_;
  std::size_t there_;
};

// A length for each row that is there, of the stream `stream`.
[[nodiscard]] std::vector<std::int32_t> drawn_lengths(const RowsThere& rows,
                                                      const LengthOptions& options,
                                                      std::uint64_t seed, std::string_view stream);

// A uniform for each row that is there, of the stream `stream`.
[[nodiscard]] std::vector<double> drawn_uniforms(const RowsThere& rows, std::uint64_t seed,
                                                 std::string_view stream);

}  // namespace headroom
