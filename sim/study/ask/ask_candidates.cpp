#include "sim/study/ask/ask_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "hardware/llm/dtype.hpp"
#include "sim/resolve/start_verdict.hpp"
#include "sim/scenario/option_value.hpp"

namespace headroom {
namespace {

constexpr double kLargeShare = 0.95;  // of a device's memory: what is left is for the driver
constexpr double kSurelyFree = 0.9;   // of what is free for a cache: buffers grow with it, too
constexpr double kFasterDevice = 1.15;
constexpr std::size_t kNeighbours = 2;
constexpr std::int64_t kLengthUnit = 1024;  // of limits on a request's length
constexpr std::array<double, 3> kFactors{0.5, 2, 4};

constexpr std::string_view kPrefixCaching = "/engine/enable_prefix_caching";
constexpr std::string_view kChunkedPrefill = "/engine/enable_chunked_prefill";
constexpr std::string_view kReplicas = "/fleet/replicas";

class Candidates {
 public:
  Candidates(const RunResult& run, TokenCount longest, const Catalog& catalog, double largest_share)
      : run_(run),
        system_(run.resolved),
        longest_(longest),
        catalog_(catalog),
        large_share_(std::min(kLargeShare, largest_share)) {}

  std::vector<AskCandidate> all() {
    for (const FixCandidate& fix : system_.engine->fixes()) add_values(fix);
    if (run_.workload.shares_prefixes && !finds_prefixes(system_)) {
      add(kPrefixCaching, true, FixCost::none, "prompts that begin alike are computed once");
    }
    if (const Json chunked = now(kChunkedPrefill); chunked.is_boolean()) {
      add(kChunkedPrefill, !chunked.get<bool>(), FixCost::none,
          "prompts and answers share steps differently");
    }
    add_replica();
    add_devices();
    return std::move(candidates_);
  }

 private:
  [[nodiscard]] Json now(std::string_view pointer) const {
    return option_value(system_.scenario, pointer);
  }

  void add(std::string_view pointer, Json value, FixCost cost, std::string_view text) {
    const Json from = now(pointer);
    if (value == from) return;
    const std::string path = option_path(pointer);
    const bool known = std::ranges::any_of(candidates_, [&](const AskCandidate& other) {
      return other.setting.path == path && other.setting.value == value;
    });
    if (known) return;
    std::string cost_text = filled(text, shown_setting(value), shown_setting(from));
    if (text == fixes::kDevices) {  // of all stages, data ranks and replicas
      const FleetSection& fleet = system_.scenario.fleet;
      const std::int64_t replicas = fleet.groups.empty() ? fleet.replicas.value_or(1) : 1;
      const std::int64_t times = replicas * system_.sharding.devices() / system_.sharding.tensor;
      cost_text = filled(text, fmt::to_string(times * value.get<std::int64_t>()),
                         fmt::to_string(times * from.get<std::int64_t>()));
    }
    candidates_.push_back(
        {{path, std::move(value)}, shown_setting(from), cost, std::move(cost_text)});
  }

  void add_values(const FixCandidate& fix) {
    if (fix.search == FixSearch::share_up) {
      if (const Json share = now(fix.pointer); share.is_number() && share < large_share_) {
        add(fix.pointer, large_share_, fix.cost, fix.text);
      }
    } else if (fix.search == FixSearch::ladder) {
      add_ladder(fix);
    } else if (fix.counts == FixCounts::tokens) {
      add_length(fix);
    } else if (fix.counts == FixCounts::requests || is_step(fix)) {
      add_multiples(fix);
    }
  }

  // Tokens of a step: lists have it as what makes long prompts slower.
  [[nodiscard]] static bool is_step(const FixCandidate& fix) {
    return fix.counts == FixCounts::other && fix.text == fixes::kSteps;
  }

  void add_multiples(const FixCandidate& fix) {
    Json from = now(fix.pointer);
    if (from.is_null() && fix.counts == FixCounts::requests) from = system_.max_num_seqs;
    if (!from.is_number_integer() || from.get<std::int64_t>() < 1) return;
    for (const double factor : kFactors) {
      const auto value = static_cast<std::int64_t>(factor * from.get<double>());
      if (value < 1) continue;
      const bool more = factor > 1;
      if (is_step(fix)) {
        add(fix.pointer, value, more ? FixCost::none : FixCost::speed,
            more ? "longer steps: tokens of other requests wait for prompts" : fixes::kSteps);
      } else {
        add(fix.pointer, value, more ? FixCost::none : FixCost::limits,
            more ? fixes::kMore : fixes::kFewer);
      }
    }
  }

  // The limit of a request's length as low, or as high, as the traffic needs it.
  void add_length(const FixCandidate& fix) {
    const Json from = now(fix.pointer);
    if (longest_ < 1 || !from.is_number_integer()) return;
    const std::int64_t needed = (longest_ + kLengthUnit - 1) / kLengthUnit * kLengthUnit;
    const bool lowers = fix.search == FixSearch::count_down;
    if (lowers != (needed < from.get<std::int64_t>())) return;
    // Where the length keeps the engine from starting, as much of it as surely fits is the smaller
    // change.
    const auto& failure = run_.budget.failure;
    std::int64_t certain = lowers && failure ? certain_length(*failure) : 0;
    // Of engines that allocate the whole context at the start: what is free for it.
    const bool is_allocated = failure && failure->stage == StartupStage::kv_allocation;
    if (lowers && certain == 0 && is_allocated && failure->wanted_bytes > failure->free_bytes) {
      const double share =
          static_cast<double>(failure->free_bytes) / static_cast<double>(failure->wanted_bytes);
      certain = static_cast<std::int64_t>(kSurelyFree * share * from.get<double>());
      certain -= certain % kLengthUnit;
    }
    add(fix.pointer, std::max(needed, certain), fix.cost, fix.text);
  }

  void add_ladder(const FixCandidate& fix) {
    if (fix.pointer == "/engine/quantization" && is_quantised(main_dtype(system_.model))) return;
    const bool is_kept = !is_quantised(system_.kv) && !is_encoder(system_.model);
    if (fix.pointer == "/engine/kv_cache_dtype" && !is_kept) return;
    // To go without graphs is a cure of memory: whatever it seems to gain is within the error of
    // steps that were never measured so.
    if (fix.text == fixes::kGraphs && run_.started) return;
    const Json from = now(fix.pointer);
    std::vector<Json> ladder = ladder_of(fix);
    for (Json& value : ladder) {
      if (fix.cost == FixCost::hardware && !is_useful_count(from, value)) continue;
      add(fix.pointer, std::move(value), fix.cost, fix.text);
    }
  }

  // Of devices twice as many; where the engine does not start, any power of two as many.
  [[nodiscard]] bool is_useful_count(const Json& from, const Json& value) const {
    if (!from.is_number_integer()) return false;
    const std::int64_t ratio = value.get<std::int64_t>() / from.get<std::int64_t>();
    if (value != ratio * from.get<std::int64_t>()) return false;
    return ratio == 2 || (!run_.started && ratio > 2 && (ratio & (ratio - 1)) == 0);
  }

  void add_replica() {
    const FleetSection& fleet = system_.scenario.fleet;
    if (!fleet.groups.empty()) return;
    const std::int64_t replicas = fleet.replicas.value_or(1);
    const std::string devices =
        fmt::format("{} devices instead of {}", (replicas + 1) * system_.sharding.devices(),
                    replicas * system_.sharding.devices());
    candidates_.push_back({{option_path(kReplicas), replicas + 1},
                           std::to_string(replicas),
                           FixCost::hardware,
                           devices});
  }

  [[nodiscard]] static const std::string& chip_of(const DeviceSpec& device) {
    return device.same_chip_as.empty() ? device.id : device.same_chip_as;
  }

  // Of the same vendor and kind of memory, with as much of it: the next by bandwidth.
  void add_devices() {
    const DeviceSpec& mine = system_.device;
    std::vector<const DeviceSpec*> faster;
    for (const std::string& id : catalog_.device_ids()) {
      const DeviceSpec& other = catalog_.device(id);
      const bool alike = other.vendor == mine.vendor && other.memory_model == mine.memory_model &&
                         other.memory_nominal_bytes >= mine.memory_nominal_bytes;
      if (alike && other.bandwidth_bytes_per_s >= kFasterDevice * mine.bandwidth_bytes_per_s) {
        faster.push_back(&other);
      }
    }
    // Of one chip that is sold with several memories the smallest that does.
    std::ranges::stable_sort(faster, {}, [](const DeviceSpec* device) {
      return std::pair(device->bandwidth_bytes_per_s, device->memory_nominal_bytes);
    });
    const auto is_same_chip = [](const DeviceSpec* one, const DeviceSpec* next) {
      return chip_of(*one) == chip_of(*next);
    };
    faster.erase(std::unique(faster.begin(), faster.end(), is_same_chip), faster.end());
    for (std::size_t i = 0; i < std::min(kNeighbours, faster.size()); ++i) {
      candidates_.push_back({{"device", faster[i]->id},
                             mine.id,
                             FixCost::hardware,
                             fmt::format("{} instead of {}", faster[i]->name, mine.name)});
    }
  }

  const RunResult& run_;
  const Resolved& system_;
  TokenCount longest_;
  const Catalog& catalog_;
  double large_share_;
  std::vector<AskCandidate> candidates_;
};

}  // namespace

TokenCount longest_asked(const RunResult& run) {
  const WorkloadSection& w = run.resolved.scenario.workload;
  const bool drawn = w.classes.empty() && w.trace.file.empty() && w.servegen.directory.empty();
  if (drawn && w.prompt.law == "fixed" && w.output.law == "fixed") {
    return w.prompt.tokens.value_or(0) + w.output.tokens.value_or(0);
  }
  TokenCount longest = 0;
  if (run.started && run.summary.metrics.completed > 0) {
    for (const RequestRecord& record : run.recorder->records()) {
      longest = std::max<TokenCount>(longest, record.prompt_tokens + record.output_tokens);
    }
    return longest;
  }
  const auto most = [](const LengthSection& length) {
    return length.tokens.value_or(length.max.value_or(0));
  };
  const TokenCount prompt = most(w.prompt);
  const TokenCount output = most(w.output);
  return prompt > 0 && output > 0 ? prompt + output : 0;
}

std::string shown_setting(const Json& value) {
  if (value.is_null()) return "not set";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<AskCandidate> ask_candidates(const RunResult& run, TokenCount longest,
                                         const Catalog& catalog, double largest_share) {
  return Candidates(run, longest, catalog, largest_share).all();
}

}  // namespace headroom
