// What a scenario must say, and what may not stand together.

#include <fmt/format.h>

#include "sim/setup/resolve.hpp"

namespace headroom {
namespace {

class Validator {
 public:
  explicit Validator(const Scenario& scenario) : s_(scenario) {}

  void workload() const {
    check_workload();
    check_max_tokens();
  }

  void system() const {
    if (s_.model.empty()) missing("/model", "a model of the catalog, or a config.json");
    if (s_.device.name.empty()) missing("/device", "a device of the catalog");
    if (s_.engine.num_gpu_blocks_override && s_.engine.kv_cache_memory_bytes) {
      refuse("/engine/num_gpu_blocks_override",
             "the KV pool has one size: give this or kv_cache_memory_bytes, not both");
    }
    const EngineProfile& profile = engine_profile(s_.engine.name);
    if (!s_.engine.scheduler && !profile.scheduler) return;
    const auto scheduler =
        s_.engine.scheduler ? scheduler_kind(*s_.engine.scheduler) : *profile.scheduler;
    const auto allocator =
        s_.engine.kv_allocator ? allocator_kind(*s_.engine.kv_allocator) : profile.allocator;
    if (scheduler == SchedulerKind::vllm && allocator == AllocatorKind::contiguous) {
      refuse(s_.engine.kv_allocator ? "/engine/kv_allocator" : "/engine/scheduler",
             "scheduler vllm grows requests block by block: it needs kv_allocator paged");
    }
  }

 private:
  [[nodiscard]] std::string origin(const std::string& pointer) const {
    const auto found = s_.given.find(pointer);
    return found == s_.given.end() ? s_.file : found->second;
  }
  [[noreturn]] void missing(const std::string& pointer, std::string_view wanted) const {
    throw ConfigError(fmt::format("{}: {}: missing: expected {}", s_.file, pointer, wanted));
  }
  [[noreturn]] void refuse(const std::string& pointer, std::string_view why) const {
    throw ConfigError(fmt::format("{}: {}: {}", origin(pointer), pointer, why));
  }

  void check_workload() const {
    const WorkloadSection& w = s_.workload;
    const bool traced = !w.trace.file.empty();
    const bool synthetic = given_below("/workload/arrivals") || w.num_requests ||
                           given_below("/workload/prompt") || given_below("/workload/output");
    if (!traced && !synthetic) {
      missing("/workload", "trace.file, or arrivals with num_requests, prompt and output");
    }
    if (traced && synthetic) {
      refuse("/workload/trace/file",
             "a trace has its own arrivals and lengths: remove "
             "arrivals, num_requests, prompt and output, or the trace");
    }
    if (traced) {
      if (w.joint_lengths) refuse("/workload/joint_lengths", "has no effect with a trace");
      return;
    }
    if (given_below("/workload/trace")) missing("/workload/trace/file", "a trace file");
    if (!w.num_requests) missing("/workload/num_requests", "how many requests to generate");
    if (w.arrivals.process != "all_at_once" && !w.arrivals.request_rate) {
      missing("/workload/arrivals/request_rate", "requests per second");
    }
    check_law("/workload/prompt", w.prompt);
    check_law("/workload/output", w.output);
  }

  void check_law(const std::string& at, const LengthSection& law) const {
    if (!given_below(at))
      missing(at, "a law of lengths, e.g. {\"law\": \"fixed\", \"tokens\": 512}");
    if (law.law == "fixed" && !law.tokens) missing(at + "/tokens", "tokens of every request");
    if (law.law == "empirical" && law.values.empty() == law.file.empty()) {
      missing(at + "/values", "either values or file");
    }
    if (law.law == "lognormal" && law.median.has_value() == law.mean.has_value()) {
      missing(at + "/median", "either median or mean, in tokens");
    }
    if (law.law == "lognormal" && !law.sigma) missing(at + "/sigma", "standard deviation of ln");
    if (law.law == "uniform" && !law.max) missing(at + "/max", "the longest length in tokens");
    if (law.max && *law.max < law.min.value_or(1)) {
      refuse(at + "/max",
             fmt::format("value {}: expected at least min = {}", *law.max, law.min.value_or(1)));
    }
  }

  void check_max_tokens() const {
    const MaxTokensSection& m = s_.workload.max_tokens;
    const std::string at = "/workload/max_tokens";
    if (m.rule == "value" && !m.value) missing(at + "/value", "tokens");
    if (m.rule == "times_output" && !m.times_output) missing(at + "/times_output", "a factor");
    if (m.rule == "per_class" && m.per_class.empty())
      missing(at + "/per_class", "a list of tokens");
  }

  [[nodiscard]] bool given_below(const std::string& pointer) const {
    const auto found = s_.given.lower_bound(pointer + "/");
    return found != s_.given.end() && found->first.starts_with(pointer + "/");
  }

  const Scenario& s_;
};

}  // namespace

void validate_system(const Scenario& scenario) { Validator(scenario).system(); }

void validate(const Scenario& scenario) {
  validate_system(scenario);
  Validator(scenario).workload();
}

}  // namespace headroom
