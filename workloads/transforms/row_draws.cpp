#include "workloads/transforms/row_draws.hpp"

#include <algorithm>

#include "sim/kernel/check.hpp"
#include "sim/kernel/random.hpp"
#include "workloads/lengths.hpp"

namespace headroom {

RowsThere::RowsThere(const Trace& trace, const std::vector<bool>& kept)
    : kept_(kept), there_(trace.rows.size()) {
  const auto expected = static_cast<std::size_t>(std::ranges::count(kept, true));
  HEADROOM_CHECK(kept.empty() || expected == there_, "one flag for each row that is there");
}

std::vector<std::int32_t> drawn_lengths(const RowsThere& rows, const LengthOptions& options,
                                        std::uint64_t seed, std::string_view stream) {
  std::vector<std::int32_t> lengths(rows.all());
  LengthSampler(options, seed, stream).fill(lengths);
  return rows.only(std::move(lengths));
}

std::vector<double> drawn_uniforms(const RowsThere& rows, std::uint64_t seed,
                                   std::string_view stream) {
  RandomStream draws(seed, stream);
  std::vector<double> uniforms(rows.all());
  for (double& uniform : uniforms) uniform = draws.uniform();
  return rows.only(std::move(uniforms));
}

}  // namespace headroom
