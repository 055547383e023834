// Which rule, constant or word each purpose's bytes come from.

#include <fmt/format.h>

#include "sim/memory/audit.hpp"

namespace headroom {
namespace {

struct Origin {
  TermOrigin origin = TermOrigin::rule;
  std::string why;
};

class TermSources {
 public:
  explicit TermSources(const BudgetedSystem& system) : r_(system.resolved), b_(system.budget) {}

  [[nodiscard]] Origin of(MemoryPurpose purpose) const {
    switch (purpose) {
      case MemoryPurpose::weights: return weights();
      case MemoryPurpose::drafter: return drafter();
      case MemoryPurpose::adapters:
        return {TermOrigin::rule,
                fmt::format("max_loras = {} slots for LoRA adapters of rank {}",
                            r_.scenario.engine.max_loras, r_.scenario.engine.max_lora_rank)};
      case MemoryPurpose::activations: return activations();
      case MemoryPurpose::context: return outside("device context and growth outside torch");
      case MemoryPurpose::communication: return outside("buffers between the ranks");
      case MemoryPurpose::graphs:
        return {TermOrigin::estimate, "captured graphs, by layers and batch sizes"};
      case MemoryPurpose::others: return others();
      case MemoryPurpose::page_cache:
        return {
            TermOrigin::given,
            fmt::format("environment {}: this engine counts files in the page cache as used memory",
                        r_.environment.id)};
      case MemoryPurpose::engine_host:
        return {TermOrigin::given,
                fmt::format("environment {}: the engine's own host memory", r_.environment.id)};
      case MemoryPurpose::kv_pool: return pool();
      case MemoryPurpose::margin: return margin();
    }
    return {};
  }

 private:
  // On what the constants of the engine's rule were fitted; empty: on other systems.
  [[nodiscard]] std::string_view fitted_on() const {
    return r_.engine->fitted_on == nullptr ? "" : r_.engine->fitted_on(r_);
  }
  [[nodiscard]] bool fitted() const { return !fitted_on().empty(); }

  [[nodiscard]] Origin weights() const {
    const std::int64_t ranks = r_.sharding.tensor * r_.sharding.pipeline;
    const bool by_layers = r_.engine->traits.devices_share_layers;
    const std::string part = ranks == 1  ? ""
                             : by_layers ? fmt::format(", of the fullest of {} devices", ranks)
                                         : fmt::format(", the share of one of {} ranks", ranks);
    return {TermOrigin::rule, fmt::format("geometry of {} in {}{}", r_.model.id,
                                          name_of(main_dtype(r_.model)), part)};
  }

  [[nodiscard]] Origin drafter() const {
    const std::string id = r_.drafter ? r_.drafter->id : std::string();
    if (r_.scenario.engine.speculative.method == "draft_model") {
      return {TermOrigin::rule, fmt::format("geometry of {}; its KV comes from the pool", id)};
    }
    return {TermOrigin::estimate,
            fmt::format("{}, one layer like the model's last one; its KV comes from the pool", id)};
  }

  [[nodiscard]] Origin activations() const {
    if (r_.engine->explain_activations == nullptr) {
      return {TermOrigin::estimate, "closed form of the widest layer and the logits"};
    }
    return {fitted() ? TermOrigin::measured : TermOrigin::estimate,
            r_.engine->explain_activations(r_, fitted())};
  }

  [[nodiscard]] Origin outside(std::string_view what) const {
    return {fitted() ? TermOrigin::measured : TermOrigin::estimate,
            fitted() ? fmt::format("{}; start-up logs of {}", what, fitted_on())
                     : fmt::format("{}; constants from other machines (docs/model-card.md)", what)};
  }

  [[nodiscard]] Origin others() const {
    if (r_.device.memory_model == MemoryModel::unified) {
      return {TermOrigin::given,
              fmt::format("environment {}: system, processes, tmpfs ({})", r_.environment.id,
                          r_.environment.scored ? "measured" : "assumptions")};
    }
    return {fitted() ? TermOrigin::measured : TermOrigin::estimate,
            "driver, context and communicators before the engine first reads free memory"};
  }

  [[nodiscard]] Origin pool() const {
    const EngineSection& e = r_.scenario.engine;
    if (e.kv_cache_memory_bytes) return {TermOrigin::given, "kv_cache_memory_bytes"};
    if (e.num_gpu_blocks_override) return {TermOrigin::given, "num_gpu_blocks_override"};
    return {TermOrigin::rule, fmt::format("the rest by the rule of {}, in whole blocks of {} bytes",
                                          r_.engine->name, with_commas(b_.layout.block_bytes))};
  }

  [[nodiscard]] Origin margin() const {
    if (b_.failure) return {TermOrigin::rule, "unused when the start failed"};
    if (r_.engine->explain_margin != nullptr) {
      return {TermOrigin::rule, r_.engine->explain_margin(r_.scenario.engine)};
    }
    return {TermOrigin::rule, "not used by the engine's rule"};
  }

  const Resolved& r_;
  const MemoryBudget& b_;
};

}  // namespace

std::vector<AuditTerm> audit_terms(const BudgetedSystem& system) {
  const TermSources sources(system);
  std::vector<AuditTerm> terms;
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    const auto purpose = static_cast<MemoryPurpose>(i);
    const ByteCount bytes = system.budget.terms[purpose];
    if (bytes == 0) continue;
    Origin origin = sources.of(purpose);
    terms.push_back({purpose, bytes, origin.origin, std::move(origin.why)});
  }
  return terms;
}

}  // namespace headroom
