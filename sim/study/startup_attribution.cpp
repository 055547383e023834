#include "sim/study/startup_attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/study/size_of.hpp"

namespace headroom {
namespace {

constexpr double kRoundingGib = 0.005;  // of one figure with two digits

bool within(double value, double expected, double share) {
  return size_of(value - expected) <= share * size_of(expected);
}

class Attributor {
 public:
  Attributor(const StartupLog& log, const ModelledMemory& modelled)
      : log_(log), memory_(log.memory), modelled_(modelled), pool_(reported_pool_gib(log)) {}

  std::vector<Attribution> run() {
    if (pool_) ++figures_;
    add(MemoryCause::pool, pool_, modelled_.kv_gib, 0,
        "memory for KV; the causes below explain it");
    if (log_.engine == LogEngine::vllm) {
      vllm_terms();
    } else {
      trtllm_terms();
    }
    if (pool_) add_rest();
    add_tokens();
    return std::move(found_);
  }

 private:
  // `coefficient`: GiB of pool per unit of the term.
  void add(MemoryCause cause, const FoundNumber& reported, double modelled, double coefficient,
           std::string why) {
    Attribution entry{
        .cause = cause, .reported = std::nullopt, .modelled = modelled, .why = std::move(why)};
    if (reported) {
      entry.reported = reported->value;
      entry.line = reported->line;
      entry.pool_effect_gib = coefficient * (reported->value - modelled);
      if (coefficient != 0) ++figures_;
    } else if (cause != MemoryCause::pool && coefficient != 0) {
      unreported_.emplace_back(name_of(cause));
    }
    found_.push_back(std::move(entry));
  }

  [[nodiscard]] FoundNumber reported_others() const {
    if (!memory_.total_gib || !memory_.free_gib) return std::nullopt;
    return Found<double>{memory_.total_gib->value - memory_.free_gib->value,
                         memory_.free_gib->line};
  }

  void vllm_terms() {
    add(MemoryCause::total_memory, memory_.total_gib, modelled_.total_gib, modelled_.share,
        "device memory as the driver reports it, times the utilization");
    const double total = memory_.total_gib ? memory_.total_gib->value : modelled_.total_gib;
    add(MemoryCause::share, reported_share(log_), modelled_.share, total, "gpu_memory_utilization");
    add(MemoryCause::weights, memory_.weights_gib, modelled_.weights_gib, -1, "model loading");
    add(MemoryCause::activation, memory_.activation_gib, modelled_.activation_gib, -1,
        "peak of torch in the profiling pass: sampler buffers, hidden states");
    add(MemoryCause::outside_torch, memory_.non_torch_gib, modelled_.non_torch_gib, -1,
        "growth outside torch: context, NCCL, workspaces");
    vllm_graphs();
    add(MemoryCause::others, reported_others(), modelled_.others_gib, 0,
        "not free before the start; counts in the check of free memory only");
  }

  void vllm_graphs() {
    const double in_model = modelled_.graphs_in_budget ? modelled_.graph_gib : 0;
    if (!log_.graphs_in_budget) {
      const FoundNumber& shown = memory_.graph_gib ? memory_.graph_gib : memory_.graph_estimate_gib;
      add(MemoryCause::graphs, shown, modelled_.graph_gib, 0,
          "graphs are captured outside the budget by this start-up");
      found_.back().pool_effect_gib = in_model;
      return;
    }
    add(MemoryCause::graphs, memory_.graph_estimate_gib, modelled_.graph_gib, -1,
        "estimate of the graphs, subtracted before the pool is sized");
    if (memory_.graph_estimate_gib) {
      found_.back().pool_effect_gib = in_model - memory_.graph_estimate_gib->value;
    }
  }

  // Sum of what the model expects not to be free when the pool is sized.
  [[nodiscard]] double modelled_outside() const {
    return modelled_.non_torch_gib + modelled_.graph_gib + modelled_.others_gib;
  }

  void trtllm_terms() {
    const double share = modelled_.share;
    const double peak = modelled_.weights_gib + modelled_.activation_gib + modelled_outside();
    add(MemoryCause::total_memory, memory_.total_gib, modelled_.total_gib, share,
        "device memory as the driver reports it, times the fraction");
    const bool split = memory_.weights_gib && memory_.activation_gib && memory_.non_torch_gib;
    if (split) {
      add(MemoryCause::weights, memory_.weights_gib, modelled_.weights_gib, -share,
          "weights inside torch");
      add(MemoryCause::activation, memory_.activation_gib, modelled_.activation_gib, -share,
          "allocated by torch in the profiling pass");
      add_outside(share);
    } else {
      add(MemoryCause::peak, memory_.peak_gib, peak, -share,
          "not free when the pool is sized, other processes and page cache included");
    }
    const double total = memory_.total_gib ? memory_.total_gib->value : modelled_.total_gib;
    double used = memory_.peak_gib ? memory_.peak_gib->value : peak;
    if (memory_.temporary_gib) used -= memory_.temporary_gib->value;
    add(MemoryCause::share, reported_share(log_), share, total - used, "free_gpu_memory_fraction");
  }

  void add_outside(double share) {
    FoundNumber outside = memory_.non_torch_gib;
    if (memory_.temporary_gib) outside->value -= memory_.temporary_gib->value;
    add(MemoryCause::outside_torch, outside, modelled_outside(), -share,
        "outside torch: context, graphs, other processes and page cache; the temporary pool of "
        "the profiling pass is taken off");
  }

  void add_rest() {
    double explained = 0;
    for (const Attribution& entry : found_) explained += entry.pool_effect_gib;
    const double difference = pool_->value - modelled_.kv_gib;
    const double rest = difference - explained;
    const double bound = kRoundingGib * static_cast<double>(figures_);
    const double rounding = std::clamp(rest, -bound, bound);
    Attribution rounded{.cause = MemoryCause::rounding, .reported = {}, .modelled = {}, .why = {}};
    rounded.pool_effect_gib = rounding;
    rounded.why = fmt::format("{} figures of two digits: at most {:.3f} GiB", figures_, bound);
    Attribution unexplained{
        .cause = MemoryCause::unexplained, .reported = {}, .modelled = {}, .why = {}};
    unexplained.pool_effect_gib = rest - rounding;
    unexplained.why = "what no reported term accounts for";
    if (!unreported_.empty()) {
      std::string names;
      for (const std::string& name : unreported_) names += (names.empty() ? "" : ", ") + name;
      unexplained.why += "; not in the log: " + names;
    }
    const double sum = explained + rounded.pool_effect_gib + unexplained.pool_effect_gib;
    // Absurd figures of a damaged log cancel with what double precision leaves.
    HEADROOM_CHECK(size_of(sum - difference) <= 1e-9 + 1e-12 * size_of(explained),
                   fmt::format("effects {} add up to another difference than {}", sum, difference));
    found_.push_back(std::move(rounded));
    found_.push_back(std::move(unexplained));
  }

  void add_tokens() {
    const FoundCount& tokens = log_.kv_tokens ? log_.kv_tokens : log_.max_tokens;
    if (!tokens || modelled_.kv_tokens <= 0) return;
    const auto reported = static_cast<double>(tokens->value);
    const auto expected = static_cast<double>(modelled_.kv_tokens);
    found_.push_back(Attribution{.cause = MemoryCause::token_counting,
                                 .reported = reported,
                                 .modelled = expected,
                                 .line = tokens->line,
                                 .why = token_reason(reported)});
  }

  // Which way of counting gives the reported tokens, once the pools are brought to one size.
  [[nodiscard]] std::string token_reason(double reported) const {
    constexpr double kSame = 0.01;  // blocks are rounded down once, groups once more
    const double scale = pool_ && modelled_.kv_gib > 0 ? pool_->value / modelled_.kv_gib : 1;
    if (within(reported, scale * static_cast<double>(modelled_.kv_tokens), kSame)) {
      return "follows from the memory for KV";
    }
    const auto block = static_cast<double>(modelled_.block_size);
    const auto blocks = static_cast<double>(modelled_.kv_blocks);
    const auto groups = static_cast<double>(modelled_.kv_groups);
    if (blocks > 0 && within(reported, scale * blocks / groups * block, kSame)) {
      return fmt::format(
          "counted as blocks / {} groups * {} tokens (hybrid model, up to about v0.19)",
          modelled_.kv_groups, modelled_.block_size);
    }
    const double requests =
        modelled_.max_concurrency * static_cast<double>(modelled_.max_model_len);
    if (requests > 0 && within(reported, scale * requests, kSame)) {
      return "counted as max_concurrency * max_model_len (newer releases)";
    }
    if (blocks > 0 && within(reported, scale * blocks * block, kSame)) {
      return "counted as blocks * block size, without regard to groups";
    }
    return "another layout of the pool: bytes per token or groups differ";
  }

  const StartupLog& log_;
  const RankMemory& memory_;
  const ModelledMemory& modelled_;
  FoundNumber pool_;
  std::vector<Attribution> found_;
  std::vector<std::string> unreported_;
  int figures_ = 0;  // of the log, that enter the sum
};

}  // namespace

std::string_view name_of(MemoryCause cause) {
  constexpr std::array<std::string_view, 12> kNames{
      "memory for KV", "total memory", "share", "weights",  "activation",  "outside torch",
      "graphs",        "others",       "peak",  "rounding", "unexplained", "token counting"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::vector<Attribution> attribute(const StartupLog& log, const ModelledMemory& modelled) {
  return Attributor(log, modelled).run();
}

}  // namespace headroom
