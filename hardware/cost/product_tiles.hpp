#pragma once
// Products of few tokens: kernels for vectors, and for tiles of a matrix.

#include <algorithm>
#include <cmath>

#include "hardware/calibration.hpp"

namespace headroom {

// Columns that an expert's tile costs per token that reaches it, at most. Between 6, of gpt-oss-20b
// on an RTX 3090 (table of llama.cpp pull request 20586, 8 experts for one that is picked), and 3,
// of gpt-oss-120b on GB10 (17906, 32 for one).
inline constexpr double kExpertSpread = 4;

// What products of a batch cost beyond a rate per token. Without constants of its own (all 0) a
// batch costs as its tokens do.
struct ProductTiles {
  double vector_tokens = 0;  // batches up to this many go through kernels for vectors,
  double vector_factor = 1;  // a token of which takes so many times as long
  double tile = 0;           // larger ones go by whole tiles
  double tile_extra = 0;     // and take as long as with so many tokens more
  // Products of an expert, likewise. Up to `apart` tokens each reads its experts for itself.
  double expert_tile = 0;
  double apart = 0;

  explicit ProductTiles(const Calibration& c)
      : vector_tokens(c.vector_tokens),
        vector_factor(c.vector_compute_share > 0 ? c.compute_share / c.vector_compute_share : 1),
        tile(c.tile_tokens),
        tile_extra(c.tile_extra_tokens),
        expert_tile(c.expert_tile_tokens),
        apart(c.experts_apart_tokens) {}
  ProductTiles() = default;

  // Whether experts are priced apart from the other products.
  [[nodiscard]] bool has_experts() const { return expert_tile > 0 || apart > 0; }

  // As many tokens at the usual rate take as long as `tokens`.
  [[nodiscard]] double tokens_worked(double tokens) const {
    if (tokens <= vector_tokens) return tokens * vector_factor;
    if (tile <= 0) return tokens;
    return whole_tiles(tokens, tile) + tile_extra;
  }

  // The same of experts: a token reaches `top_k` of them, and `share` of all are reached. Kernels
  // choose a tile for the whole batch, not for the few tokens of an expert, and an expert that one
  // token reaches takes a whole tile. Tokens of an expert scatter around their mean: half a tile is
  // empty, once there are more than fill one.
  [[nodiscard]] double expert_tokens_worked(double tokens, double share, double top_k,
                                            double experts) const {
    if (tokens <= apart) return tokens * vector_factor;
    if (expert_tile <= 0) return tokens;
    constexpr double kColumns = 8;  // of a matrix instruction
    const double mean = tokens * top_k / experts;
    const double columns = std::min(
        {expert_tile, whole_tiles(tokens, kColumns), std::max(kColumns, kExpertSpread * mean)});
    const double tiles = share + std::max(0.0, mean / columns - 0.5);
    return std::max(tokens, tiles * columns * experts / top_k);
  }

  // How many times all experts are read; `share` of them are reached.
  [[nodiscard]] double experts_read(double tokens, double share, double top_k,
                                    double experts) const {
    return tokens <= apart ? tokens * top_k / experts : share;
  }

 private:
  static double whole_tiles(double tokens, double width) {
    return std::ceil(tokens / width) * width;
  }
};

}  // namespace headroom
