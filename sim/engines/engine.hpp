#pragma once
// What an engine is: one value that names its parts, its rules and its options. Each engine is a
// folder that ends in such a value; the table of all is in engines.cpp.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/cost/backend_choice.hpp"
#include "hardware/cost/capture_sizes.hpp"
#include "hardware/engine_version.hpp"
#include "hardware/environment.hpp"
#include "hardware/llm/model_spec.hpp"
#include "scheduler/batching/batch_policy.hpp"
#include "scheduler/kv/allocators.hpp"
#include "sim/engines/engine_section.hpp"
#include "sim/engines/fix_candidates.hpp"
#include "sim/serving/options.hpp"

namespace headroom {

struct Engine;
struct EngineLaunch;
struct EngineLog;
struct EngineMetrics;
struct LoadMetrics;
class EngineResolver;

// How an engine's steps draft and verify, beside what speculative_config says. The values here are
// vLLM's rules.
struct DraftRounds {
  std::int32_t verified_tokens = 0;   // of each decoding sequence; 0: 1 + its drafts, or fewer
  std::int32_t slots_ahead = 0;       // with verified_tokens: KV slots behind computed ones
  std::int32_t branches = 1;          // candidates of each level of a tree of drafts
  bool drafts_behind_prompts = true;  // a step with a prompt ends with the drafts for it
  bool hides_host = false;            // steps are synchronous, but the host works beside the device
  bool pairs_tokens = false;          // a cached token is found with the one behind it only
  bool pauses_ranks = false;          // the decodes of all data ranks pause for prompts of any
  // Conditional acceptance of the first draft, and what each further one loses; empty: the
  // method's preset.
  struct Rates {
    double first = 0;
    double decay = 0;
  };
  std::optional<Rates> preset = {};
};

// A system that will run: an engine with a model on a machine, every default filled in.
struct EngineSystem {
  const Engine* engine = nullptr;
  ModelSpec model;                   // with the formats that the engine loads
  std::optional<ModelSpec> drafter;  // whose weights and KV the start-up budget holds
  DeviceSpec device;
  Environment environment;
  bool first_start = false;
  Sharding sharding;
  EngineVersion version;  // 0.0 where the engine has none
  Dtype kv = Dtype::bf16;
  const BatchPolicy* scheduler = nullptr;
  const AllocatorPolicy* allocator = nullptr;
  bool async_scheduling = false;
  DraftRounds rounds;                       // only with speculative decoding
  std::int32_t max_model_len = 0;           // -1 until the start-up budget has found it
  std::int32_t max_num_seqs = 0;            // whatever the engine calls it
  std::int32_t max_num_batched_tokens = 0;  // else the largest step the budget assumes
  std::int32_t block_size = 1;
  std::map<std::string, std::string> rules;  // JSON pointer -> the rule that filled it
  std::vector<std::string> warnings;         // carried into every result

  // Whether a rule, and not the user, gave the option its value.
  [[nodiscard]] bool is_by_rule(const std::string& pointer) const {
    return rules.contains(pointer);
  }
  // Whether the host's work is hidden behind the device's, in calibrations.
  [[nodiscard]] bool overlaps_host() const { return async_scheduling || rounds.hides_host; }
};

struct EngineTraits {
  bool own_calibration = true;  // false: priced with another engine's constants, and results say so
  // Several devices hold whole layers each (pipeline_parallel_size); else each holds a part of all.
  bool devices_share_layers = false;
  bool forms_batches_blindly = false;   // a batch may be larger than memory: the engine dies of it
  bool ends_with_model_only = false;    // no limit of length but the model's
  bool pool_is_sized_by_hand = false;   // kv_cache_memory_bytes and the like, by no rule of its own
  bool decides_prefix_caching = false;  // whatever the batch policy's default is
  bool budgets_drafter = false;         // weights and KV of a drafter are in its start-up budget
  // Layers with a window: counted at start-up for the whole run, or kept whole if the layout is
  // uniform.
  bool counts_windows_at_start = false;
  bool keeps_windows_if_uniform = false;
  bool groups_layers = false;        // KV in groups of like layers over one pool with a null block
  bool prefills_in_fp8 = false;      // attention of prompts, where the KV cache is in 8 bit
  bool absorbs_prompts = false;      // latent attention of prompts as of decodes, on the latent
  bool allocates_with_torch = true;  // whose allocator keeps the activation peak
  // What its loader reads of quantised weights.
  bool loads_gguf = true;
  bool loads_gguf_alone = false;
  bool halves_fp32 = false;        // loads checkpoints in 32 bits as 16 unless told otherwise
  bool cuts_whole_blocks = false;  // experts in 8-bit blocks, between blocks alone
  bool names_by_tag = false;       // a model's name without a tag is its tag "latest"
};

// What Ollama's library has under a tag that names no format ("llama3.1:8b").
inline constexpr std::string_view kTagFormat = "q4_k_m";

struct Engine {
  std::string_view name = {};
  std::string_view version = {};  // modelled by default
  bool versioned = false;         // rules depend on it
  EngineVersion newest = {};      // of a versioned one: the newest whose rules are known
  std::string_view summary = {};
  // What of it was compared with measured runs; empty: it follows its specification only.
  std::string_view measured = {};
  std::string_view budget_rule = {};  // as results call it
  std::string_view scheduler = {};
  std::string_view allocator = "paged";
  std::string_view cost_family = {};  // whose calibrations price its steps
  // Whose measured kernels are its own; absent: nobody's.
  std::optional<KernelEngine> kernels = {};
  EngineTraits traits = {};
  // The release from which on it reads what is available as free memory; empty: what is free.
  std::optional<EngineVersion> counts_page_cache_free_since = {};

  // Format of weights behind a model's name that tells none. Empty: what their makers published.
  std::string_view usual_format = {};

  // Whether a release takes the format of the cache that a checkpoint of `method` declares where
  // the user names none. Null: always.
  bool (*reads_cache_format)(EngineVersion at, std::string_view method) = nullptr;

  // Options of /engine that others read, too, and its own ones.
  std::vector<std::string_view> takes = {};
  std::vector<OwnRow> (*options)() = nullptr;

  // Another batch policy or allocator than the usual one. Null: never.
  std::string_view (*scheduler_at)(EngineVersion version) = nullptr;
  std::string_view (*allocator_for)(const EngineSection& options) = nullptr;

  // How users start it. Null: `headroom from` reads no command of this engine.
  const EngineLaunch* launch = nullptr;
  // What it writes when it starts. Null: its logs are not read.
  const EngineLog* log = nullptr;
  // What it publishes at /metrics: "a:|b_", how names begin. Null: its metrics are not read.
  std::string_view metric_prefixes = {};
  const EngineMetrics* metrics = nullptr;
  // The same of its load. Null: it is not known.
  const LoadMetrics* load_metrics = nullptr;

  // Fills every option that was not given, and sets the sizes of the system.
  void (*resolve)(EngineResolver& r) = nullptr;
  // Drafts are modelled for synchronous steps only. Null: it has no other ones.
  void (*turn_async_off)(EngineResolver& r, std::string_view why) = nullptr;

  MemoryBudget (*budget)(const BudgetInputs& inputs, const EngineSection& options,
                         const EngineSystem& system) = nullptr;
  std::vector<std::string> (*budget_warnings)(const BudgetInputs& inputs,
                                              const EngineSection& options,
                                              const EngineSystem& system) = nullptr;
  // Sizes that follow from the pool. Null: none do.
  void (*after_budget)(const BudgetInputs& inputs, const MemoryBudget& budget,
                       EngineSection& options, EngineSystem& system) = nullptr;
  // Whether it keeps less of layers with a window than of others. Null: no.
  bool (*cuts_windows)(const EngineSection& options, const EngineSystem& system,
                       const KvLayout& layout) = nullptr;
  // What it refuses or cuts beyond the length of a request. Null: nothing.
  void (*limit)(const EngineSection& options, AdmissionLimits& limits) = nullptr;
  // Batch sizes that decode steps are padded to. Null: none.
  std::vector<std::int32_t> (*capture_sizes)(const EngineSection& options,
                                             const EngineSystem& system) = nullptr;
  // Which steps run inside captured graphs. Null: none do.
  CapturedSteps (*captured_steps)(const EngineSection& options,
                                  const EngineSystem& system) = nullptr;
  // Whether latents of sparse MLA in 8 bits have scales among them. Null: they do not.
  bool (*pads_sparse_latents)(const DeviceSpec& device, EngineVersion version) = nullptr;
  // Most tokens of one forward: a step of more is several of them. Null: a step is one forward.
  std::int64_t (*micro_batch)(const EngineSection& options) = nullptr;
  // The option in use that says which graphs are captured, for cost levels that know of none;
  // empty: none is.
  std::string_view (*graph_switch)(const EngineSection& options,
                                   const EngineSystem& system) = nullptr;
  // The kernels of matrix products that its options choose. Null: the fastest ones.
  BackendChoice (*backends)(const EngineSection& options, const EngineSystem& system) = nullptr;
  // Host memory per rank for blocks that the device overwrites. Null: none of its own.
  ByteCount (*host_tier)(const EngineSection& options) = nullptr;
  std::string_view host_tier_option = {};  // its JSON pointer

  // Options that may be changed to make a system fit.
  std::span<const FixCandidate> (*fixes)() = nullptr;
  // JSON pointers of what frees or sizes memory: its share, tokens of a step, the pool itself.
  // Empty: it has none.
  std::string_view share_option = {};
  std::string_view step_option = {};
  std::string_view pool_option = {};
  // Where figures of the budget come from, for `audit`. Null: closed forms, and the rest. On what
  // the constants of the memory rule were fitted; empty: not on systems like this one.
  std::string_view (*fitted_on)(const EngineSystem& system) = nullptr;
  std::string (*explain_activations)(const EngineSystem& system, bool fitted) = nullptr;
  std::string (*explain_margin)(const EngineSection& options) = nullptr;
  // How it names its releases. Null: major.minor.
  EngineVersion (*read_version)(std::string_view text) = nullptr;

  // ConfigError when `text` is no name of a release.
  [[nodiscard]] EngineVersion release(std::string_view text) const {
    return read_version != nullptr ? read_version(text) : parse_engine_version(text);
  }
  // Whether rows of constants for certain releases mean releases of this engine.
  [[nodiscard]] bool releases_are_of_constants() const { return versioned && name == cost_family; }

  [[nodiscard]] FreeMetric free_metric(EngineVersion at, const DeviceSpec& device) const {
    const auto& since = counts_page_cache_free_since;
    return headroom::free_metric(since && at >= *since, device);
  }
};

}  // namespace headroom
