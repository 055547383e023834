#include "sim/memory/mitigations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/environment.hpp"
#include "sim/resolve/startup_budget.hpp"

namespace headroom {
namespace {

constexpr std::string_view kMitigationOrigin = "audit --mitigate";
// A desktop session with its services, which a headless boot does not start. Estimate: idle GB10
// machines differed by 2.8 GiB in what they had available (115.85 and 113.07 GiB: unsloth pull
// request 10704, nvitop pull request 208), and why is not recorded.
constexpr double kDesktopGib = 2.0;
// What vLLM's API server takes on a device whose memory NVML does not tell (ENGINES.md 1.2, 6.1).
constexpr std::int64_t kSmallSteps = 2048;
constexpr std::int64_t kPoolGrain = std::int64_t{256} << 20;

// To read well: 3.84, not 3.8399999998.
double hundredths(double gib) {
  return static_cast<double>(static_cast<std::int64_t>(gib * 100 + 0.5)) / 100;
}

class MitigationFinder {
 public:
  MitigationFinder(const Scenario& scenario, const Catalog& catalog)
      : scenario_(scenario), catalog_(catalog), base_(budget_system(scenario, catalog)) {
    base_tokens_ = tokens_of(base_);
  }

  std::vector<Mitigation> run() {
    if (base_.resolved.device.memory_model != MemoryModel::unified) return {};
    host_remedies();
    environment_remedies();
    engine_remedies();
    std::stable_sort(found_.begin(), found_.end(), [](const Mitigation& a, const Mitigation& b) {
      return a.regained > b.regained;
    });
    return std::move(found_);
  }

 private:
  [[nodiscard]] static TokenCount tokens_of(const BudgetedSystem& system) {
    return system.budget.failure ? 0 : pool_tokens(system.resolved, system.budget);
  }

  [[nodiscard]] std::optional<BudgetedSystem> with(const std::string& pointer,
                                                   const Json& value) const {
    Scenario changed = scenario_;
    set_option(changed, pointer, value, std::string(kMitigationOrigin));
    return try_system(changed, catalog_);
  }

  // Lists the remedy if the pool grows by it.
  void add(Mitigation mitigation, const std::string& pointer, const std::string& from,
           const Json& to) {
    const std::optional<BudgetedSystem> system = with(pointer, to);
    if (!system) return;
    mitigation.kv_tokens = tokens_of(*system);
    mitigation.regained = mitigation.kv_tokens - base_tokens_;
    mitigation.regained_bytes = system->budget.kv_pool_bytes - base_.budget.kv_pool_bytes;
    if (mitigation.regained <= 0) return;
    const std::string value = to.is_string() ? to.get<std::string>() : to.dump();
    mitigation.change = fmt::format("{} {} -> {}", option_path(pointer), from, value);
    found_.push_back(std::move(mitigation));
  }

  void add_gib(const std::string& remedy, const std::string& pointer, ByteCount now, double to,
               const std::string& assumption, const std::string& source) {
    if (now <= bytes_from_gib(to)) return;
    Mitigation mitigation;
    mitigation.remedy = remedy;
    mitigation.assumption = assumption;
    mitigation.source = source;
    add(std::move(mitigation), pointer, fmt::format("{:.2f}", gib_from_bytes(now)), to);
  }

  void host_remedies() {
    const Environment& e = base_.resolved.environment;
    add_gib("drop the page cache right before the start", "/environment/page_cache_gib",
            e.page_cache_bytes, 0,
            "run sync and drop_caches as root; nothing may read files until the pool is sized",
            "vLLM issue 48140; NVIDIA's DGX Spark notes on memory reporting");
    add_gib("empty tmpfs (/dev/shm) before the start", "/environment/tmpfs_gib", e.tmpfs_bytes, 0,
            "the files in it are not needed; the limit --shm-size itself uses no memory",
            "Linux: pages of a tmpfs are never reclaimed");
    add_gib("stop other processes", "/environment/processes_gib", e.processes_bytes, 0,
            "all of their memory becomes free", "the environment's processes_gib");
    const double system = gib_from_bytes(e.system_bytes);
    if (system > kDesktopGib) {
      add_gib("boot without a desktop session", "/environment/system_gib", e.system_bytes,
              hundredths(system - kDesktopGib),
              fmt::format("estimate: {:.1f} GiB of session and services", kDesktopGib),
              "unsloth pull request 10704, nvitop pull request 208: idle machines 2.8 GiB apart");
    }
    if (e.checkpoint_cache_share > 0) {
      Mitigation direct;
      direct.remedy = "read the checkpoint past the page cache, or drop it after loading";
      direct.assumption =
          "with direct reads nothing of the checkpoint is cached when the pool is sized";
      direct.source = "vLLM issue 48140";
      add(std::move(direct), "/environment/checkpoint_cache_share",
          fmt::format("{}", e.checkpoint_cache_share), 0.0);
    }
  }

  void environment_remedies() {
    const Environment& e = base_.resolved.environment;
    if (scenario_.environment.first_start) {
      Mitigation again;
      again.remedy = "start a second time";
      again.assumption = "the compile caches survive, which needs a container that is not removed";
      again.source = e.source;
      add(std::move(again), "/environment/first_start", "true", false);
    }
    if (e.container) {
      Mitigation native;
      native.remedy = "run without the container";
      native.assumption = e.scored
                              ? "the overhead was measured with TensorRT-LLM on one machine; it "
                                "does not predict others"
                              : "the environment explains the container's memory use correctly";
      native.source = e.source;
      add(std::move(native), "/environment/name", e.id, "native");
    }
  }

  void engine_remedies() {
    const EngineSection& e = base_.resolved.scenario.engine;
    const Engine& engine = *base_.resolved.engine;
    const std::string pool(engine.pool_option);
    if (!pool.empty() && option_value(base_.resolved.scenario, pool).is_null()) direct_pool(pool);
    if (!engine.share_option.empty()) highest_share(std::string(engine.share_option));
    if (!engine.step_option.empty()) smaller_steps(std::string(engine.step_option));
    newer_version(e);
  }

  // The largest pool that the driver still gives, to a quarter of a GiB, and no smaller than one
  // longest request.
  void direct_pool(const std::string& pointer) {
    const MemoryBudget& b = base_.budget;
    const ByteCount room = b.terms[MemoryPurpose::margin] + b.terms[MemoryPurpose::kv_pool];
    const ByteCount request =
        b.layout.sequence_blocks(longest_request(base_), b.step_tokens) * b.layout.block_bytes;
    std::int64_t grains = room / kPoolGrain;
    for (; grains * kPoolGrain >= request; --grains) {
      const std::optional<BudgetedSystem> system = with(pointer, grains * kPoolGrain);
      if (system && !system->budget.failure) break;
    }
    if (grains * kPoolGrain < request) return;
    Mitigation pool;
    pool.remedy = "set the size of the pool directly";
    pool.assumption =
        "no share of total memory stays reserved, and nothing else takes memory later; the last 4 "
        "GiB of MemAvailable are left alone (estimate)";
    pool.source =
        "vLLM's v1/worker/gpu_worker.py: kv_cache_memory_bytes replaces the computation; vLLM "
        "issue "
        "56824: out of memory with 22 GiB of MemAvailable";
    const ByteCount bytes = grains * kPoolGrain;
    pool.remedy += fmt::format(": {:.2f} GiB", gib_from_bytes(bytes));
    add(std::move(pool), pointer, "not set", bytes);
  }

  void highest_share(const std::string& pointer) {
    const Json value = option_value(base_.resolved.scenario, pointer);
    if (value.is_null()) return;
    const auto now = value.get<double>();
    int best = 0;
    TokenCount most = base_tokens_;
    for (int percent = static_cast<int>(now * 100 + 1e-9) + 1; percent < 100; ++percent) {
      const std::optional<BudgetedSystem> system = with(pointer, percent / 100.0);
      if (!system || tokens_of(*system) <= most) continue;
      most = tokens_of(*system);
      best = percent;
    }
    if (best == 0) return;
    Mitigation share;
    share.remedy = "let the engine use a larger share";
    share.assumption = "nothing else needs the rest later, because device memory cannot be swapped";
    share.source =
        "the engine's budget rule; recipes for GB10 use 0.80 to 0.87 (issue 47 of "
        "GLM-5.3-Flash-EXL3-2x-DGX-Sparks)";
    add(std::move(share), pointer, fmt::format("{}", now), best / 100.0);
  }

  void smaller_steps(const std::string& pointer) {
    const Json value = option_value(base_.resolved.scenario, pointer);
    if (value.is_null()) return;
    const auto now = value.get<std::int64_t>();
    const std::int64_t to = now > kSmallSteps ? kSmallSteps : now / 2;
    if (to < 1) return;
    Mitigation steps;
    steps.remedy = "fewer tokens per step";
    steps.assumption =
        "long prompts take more steps; the activation peak follows the engine's budget rule";
    steps.source = "the engine's budget rule: the activation peak grows with the tokens of a step";
    add(std::move(steps), pointer, fmt::format("{}", now), to);
  }

  // Versions from which the engine reads MemAvailable (environment.hpp).
  void newer_version(const EngineSection& e) {
    const Resolved& r = base_.resolved;
    if (r.engine->free_metric(r.version, r.device) != FreeMetric::mem_free) return;
    const EngineVersion newer = parse_engine_version(
        r.engine->versioned ? std::string(r.engine->version) : std::string("0.0"));
    if (!(newer > r.version)) return;
    if (r.engine->free_metric(newer, r.device) != FreeMetric::mem_available) return;
    Mitigation version;
    version.remedy = "a release that reads MemAvailable";
    version.assumption = "all other defaults and constants change to those of that release";
    version.source = "vLLM pull request 35356, SGLang pull request 11299";
    add(std::move(version), "/engine/version", e.version.value_or(""),
        std::string(r.engine->version));
  }

  const Scenario& scenario_;
  const Catalog& catalog_;
  BudgetedSystem base_;
  TokenCount base_tokens_ = 0;
  std::vector<Mitigation> found_;
};

}  // namespace

std::vector<Mitigation> find_mitigations(const Scenario& scenario, const Catalog& catalog) {
  return MitigationFinder(scenario, catalog).run();
}

}  // namespace headroom
