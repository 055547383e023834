#pragma once
// The KV pool behind `headroom capacity`: the engine's own start-up budget, the same with other
// bytes per token, or a share of what the weights leave.

#include <cstdint>
#include <optional>

#include "hardware/budget/budget.hpp"
#include "hardware/llm/kv_geometry.hpp"
#include "sim/resolve/resolve.hpp"

namespace headroom {

inline constexpr std::int64_t kMostContextTokens = 1'000'000'000;

struct TokenBytes {
  ByteCount rank = 0;        // by the geometry; 0 when no layer keeps anything per token
  ByteCount model = 0;       // of all ranks together
  ByteCount multi_head = 0;  // of the model, had every query head keys and values of its own
  std::optional<double> override_model;  // given instead of `model`

  // 1 - model / multi_head, in [0, 1).
  [[nodiscard]] double saved() const;
  // Given over geometry; 1 without. A rank's share of the given bytes is the geometry's: latents
  // and single heads are on every rank.
  [[nodiscard]] double scale() const;
};

// ConfigError if `override_model` is given for a model that stores nothing per token.
[[nodiscard]] TokenBytes token_bytes(const Resolved& resolved,
                                     std::optional<double> override_model);

// KV bytes of one request of `tokens` in decode, windows respected, not rounded to blocks: of the
// rank that keeps most, and of all ranks together with nothing held twice.
[[nodiscard]] ByteCount request_bytes(const Resolved& resolved, const TokenBytes& token,
                                      TokenCount tokens);
[[nodiscard]] ByteCount model_request_bytes(const Resolved& resolved, const TokenBytes& token,
                                            TokenCount tokens);

struct StartUp {
  Resolved resolved;  // with what the start decides
  MemoryBudget budget;
  TokenCount pool_tokens = 0;  // for requests
};

// With `usable_fraction` the pool is that share of device memory less weights, in single tokens,
// and no engine's rule applies.
[[nodiscard]] StartUp start_engine(Resolved resolved, const TokenBytes& token,
                                   std::optional<double> usable_fraction);

}  // namespace headroom
