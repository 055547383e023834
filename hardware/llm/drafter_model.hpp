#pragma once
// The small model that drafts for another one, as far as memory goes: what it adds to the weights
// of a rank and to the KV of a token.
//   EAGLE    one decoder layer as wide as the target's and a projection fc of two hidden vectors to
//            one; the target's tables are used (vLLM pull request 17326)
//   EAGLE-3  fc of three hidden vectors, a layer that reads embedding and hidden state side by
//            side, and a head of its own over a short vocabulary (EAGLE-3, section 3)
//   MTP      the module that a checkpoint ships: one layer as the target's last one and eh_proj of
//            two hidden vectors (DeepSeek V3 report, 2.2); the target's tables are used
//   DFlash   a few decoder layers as wide as the target, with keys as wide as the target's, which
//            draft a whole block in one pass, and fc of as many hidden vectors as they are
//            (z-lab/dflash)
// Shapes are those of the target, which a trained head need not keep: an estimate, but for MTP.

#include "hardware/llm/model_spec.hpp"

namespace headroom {

// ConfigError where no layer of `target` attends. EAGLE heads are not quantised; where the target
// has experts, they have a dense MLP of the width that is active for a token.
[[nodiscard]] ModelSpec eagle_head(const ModelSpec& target);
[[nodiscard]] ModelSpec eagle3_head(const ModelSpec& target);
[[nodiscard]] ModelSpec mtp_module(const ModelSpec& target);
// Five layers for dense targets, eight for those with experts, in 16 bit.
[[nodiscard]] ModelSpec dflash_head(const ModelSpec& target);

// How a drafter is split beside a target of `sharding`: over its tensor ranks, in one stage.
[[nodiscard]] Sharding drafter_sharding(const Sharding& sharding);
// The drafter runs behind the target, on the last stage.
[[nodiscard]] bool holds_drafter(const Sharding& sharding, std::int64_t stage);

// The layers of `target` on `stage` and all of `drafter`, as a model of one stage: what the KV pool
// of a rank is laid out for.
[[nodiscard]] ModelSpec with_drafter_layers(const ModelSpec& target, const Sharding& sharding,
                                            std::int64_t stage, const ModelSpec& drafter);

}  // namespace headroom
