#include "tests/support/scenario_shrinker.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "sim/kernel/check.hpp"
#include "tests/support/scenario_generator.hpp"
#include "tests/support/sglang_rule_list.hpp"

namespace headroom::oracle {
namespace {

struct NumberField {
  const char* name;
  std::int64_t Scenario::*field;
  std::int64_t least;
};
constexpr std::array<NumberField, 18> kNumbers{{
    {"max_num_seqs", &Scenario::max_num_seqs, 1},
    {"max_num_batched_tokens", &Scenario::max_num_batched_tokens, 1},
    {"long_prefill_token_threshold", &Scenario::long_prefill_token_threshold, 0},
    {"max_batch_prefill_tokens", &Scenario::max_batch_prefill_tokens, 1},
    {"max_waiting_tokens", &Scenario::max_waiting_tokens, 0},
    {"max_prefill_tokens", &Scenario::max_prefill_tokens, 1},
    {"chunked_prefill_size", &Scenario::chunked_prefill_size, 0},
    {"max_model_len", &Scenario::max_model_len, 2},
    {"shared_cells", &Scenario::shared_cells, 0},
    {"block_size", &Scenario::block_size, 1},
    {"kv_blocks", &Scenario::kv_blocks, 1},
    {"kv_tokens", &Scenario::kv_tokens, 1},
    {"batch_wait_ns", &Scenario::batch_wait_ns, 0},
    {"adapters", &Scenario::adapters, 0},
    {"max_loras", &Scenario::max_loras, 1},
    {"max_cpu_loras", &Scenario::max_cpu_loras, 1},
    {"adapter_load", &Scenario::adapter_load, 0},
    {"adapter_read", &Scenario::adapter_read, 0},
}};

struct CostField {
  const char* name;
  Ticks AffineCost::*field;
  Ticks least;
};
constexpr std::array<CostField, 13> kCosts{{
    {"step", &AffineCost::step, kTicksPerNs},
    {"decode_row", &AffineCost::decode_row, 0},
    {"decode_context", &AffineCost::decode_context, 0},
    {"chunk_row", &AffineCost::chunk_row, 0},
    {"chunk_token", &AffineCost::chunk_token, 0},
    {"chunk_context", &AffineCost::chunk_context, 0},
    {"chunk_pair_twice", &AffineCost::chunk_pair_twice, 0},
    {"sampled_row", &AffineCost::sampled_row, 0},
    {"adapter", &AffineCost::adapter, 0},
    {"adapter_token", &AffineCost::adapter_token, 0},
    {"prepare", &AffineCost::prepare, 0},
    {"head", &AffineCost::head, 0},
    {"hand_over", &AffineCost::hand_over, 0},
}};

struct Switch {
  const char* name;
  bool Scenario::*field;
  bool simple;
};
constexpr std::array<Switch, 8> kSwitches{{
    {"chunked_prefill", &Scenario::chunked_prefill, true},
    {"reserve_full_isl", &Scenario::reserve_full_isl, false},
    {"prefix_caching", &Scenario::prefix_caching, false},
    {"priorities", &Scenario::priorities, false},
    {"equal_progress", &Scenario::equal_progress, false},
    {"mixed_chunk", &Scenario::mixed_chunk, false},
    {"longest_output_first", &Scenario::longest_output_first, false},
    {"responds_at_end", &Scenario::responds_at_end, false},
}};

class Shrinker {
 public:
  Shrinker(Scenario scenario, const ScenarioPredicate& fails, int max_tries)
      : best_(std::move(scenario)), fails_(fails), tries_left_(max_tries) {}

  Scenario run() {
    do {
      progress_ = false;
      drop_requests();
      drop_deadlines();
      drop_identities();
      simplify_switches();
      for (const NumberField& f : kNumbers) {
        reduce(best_.*f.field, f.least, [&](Scenario& s, std::int64_t v) { s.*f.field = v; });
      }
      reduce_arrivals();
      for (const CostField& f : kCosts) reduce_cost(f);
    } while (progress_ && tries_left_ > 0);
    return best_;
  }

 private:
  bool accept(const Scenario& candidate) {
    if (tries_left_ <= 0 || !is_legal(candidate)) return false;
    --tries_left_;
    if (!fails_(candidate)) return false;
    best_ = candidate;
    progress_ = true;
    return true;
  }

  // Runs of requests, long ones first.
  void drop_requests() {
    for (std::size_t length = best_.arrivals.size() / 2 + 1; length >= 1; length /= 2) {
      std::size_t first = 0;
      while (first + length <= best_.arrivals.size() && best_.arrivals.size() > 1) {
        Scenario candidate = best_;
        const auto begin = candidate.arrivals.begin() + static_cast<std::ptrdiff_t>(first);
        candidate.arrivals.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
        for (std::size_t i = 0; i < length && first < candidate.prefixes.size(); ++i) {
          candidate.prefixes.erase(candidate.prefixes.begin() + static_cast<std::ptrdiff_t>(first));
        }
        if (!accept(candidate)) ++first;
      }
    }
  }

  void simplify_switches() {
    for (const Switch& f : kSwitches) {
      if (best_.*f.field == f.simple) continue;
      Scenario candidate = best_;
      candidate.*f.field = f.simple;
      accept(candidate);
    }
    for (const SglangRule& rule : kSglangRules) {
      const bool simple = SglangRules{}.*rule.field;
      if (best_.sglang_rules.*rule.field == simple) continue;
      Scenario candidate = best_;
      candidate.sglang_rules.*rule.field = simple;
      accept(candidate);
    }
    Scenario candidate = best_;
    candidate.depth = 1;
    candidate.watermark = 0.0;
    if (best_.depth != 1 || best_.watermark > 0.0) accept(candidate);
    candidate = best_;
    candidate.watermark = 0.0;
    if (best_.watermark > 0.0) accept(candidate);
  }

  // The least value, then half of the way to it, and so on down to one less.
  template <typename Set>
  void reduce(std::int64_t value, std::int64_t least, Set set) {
    for (std::int64_t less = value - least; less > 0; less /= 2) {
      Scenario candidate = best_;
      set(candidate, value - less);
      if (!accept(candidate)) continue;
      value -= less;
      less = (value - least) * 2;
    }
  }

  void reduce_cost(const CostField& f) {
    const auto set = [&](Scenario& s, Ticks v) { s.cost.*f.field = v; };
    // Whole ns are easier to follow than ticks.
    const Ticks whole = best_.cost.*f.field / kTicksPerNs * kTicksPerNs;
    if (whole >= f.least && whole != best_.cost.*f.field) {
      Scenario candidate = best_;
      set(candidate, whole);
      accept(candidate);
    }
    reduce(best_.cost.*f.field, f.least, set);
  }

  void drop_deadlines() {
    for (std::size_t i = 0; i < best_.arrivals.size(); ++i) {
      for (const auto field : {&Arrival::first_token_deadline_ns, &Arrival::deadline_ns}) {
        if (best_.arrivals[i].*field == kNever) continue;
        Scenario candidate = best_;
        candidate.arrivals[i].*field = kNever;
        accept(candidate);
      }
    }
  }

  void drop_identities() {
    Scenario candidate = best_;
    candidate.prefixes.clear();
    if (!best_.prefixes.empty()) accept(candidate);
    for (std::size_t i = 0; i < best_.prefixes.size(); ++i) {
      while (!best_.prefixes[i].empty()) {
        candidate = best_;
        candidate.prefixes[i].pop_back();
        if (!accept(candidate)) break;
      }
      for (std::size_t piece = 0; piece < best_.prefixes[i].size(); ++piece) {
        reduce(best_.prefixes[i][piece].tokens, 1, [i, piece](Scenario& s, std::int64_t v) {
          s.prefixes[i][piece].tokens = static_cast<std::int32_t>(v);
        });
      }
    }
    for (std::size_t i = 0; i < best_.arrivals.size(); ++i) {
      candidate = best_;
      candidate.arrivals[i].output_segment = 0;
      if (best_.arrivals[i].output_segment != 0) accept(candidate);
      candidate = best_;
      candidate.arrivals[i].priority = 0;
      if (best_.arrivals[i].priority != 0) accept(candidate);
      candidate = best_;
      candidate.arrivals[i].adapter = 0;
      if (best_.arrivals[i].adapter != 0) accept(candidate);
    }
  }

  void reduce_arrivals() {
    for (std::size_t i = 0; i < best_.arrivals.size(); ++i) {
      const TimeNs before = i == 0 ? 0 : best_.arrivals[i - 1].time_ns;
      // The later ones come earlier by as much: gaps shrink one at a time.
      const auto set_time = [i](Scenario& s, TimeNs v) {
        const TimeNs less = s.arrivals[i].time_ns - v;
        for (std::size_t j = i; j < s.arrivals.size(); ++j) s.arrivals[j].time_ns -= less;
      };
      reduce(best_.arrivals[i].time_ns, before, set_time);
      for (const auto field : {&Arrival::prompt_tokens, &Arrival::output_tokens}) {
        reduce(best_.arrivals[i].*field, 1, [i, field](Scenario& s, std::int64_t v) {
          s.arrivals[i].*field = static_cast<std::int32_t>(v);
        });
      }
      reduce(best_.arrivals[i].max_tokens, 0, [i](Scenario& s, std::int64_t v) {
        s.arrivals[i].max_tokens = static_cast<std::int32_t>(v);
      });
    }
  }

  Scenario best_;
  const ScenarioPredicate& fails_;
  int tries_left_;
  bool progress_ = false;
};

const char* name_of(Policy policy) {
  switch (policy) {
    case Policy::vllm: return "vllm";
    case Policy::orca: return "orca";
    case Policy::static_batch: return "static_batch";
    case Policy::vllm_v0: return "vllm_v0";
    case Policy::sarathi: return "sarathi";
    case Policy::tgi: return "tgi";
    case Policy::trtllm: return "trtllm";
    case Policy::sglang: return "sglang";
    case Policy::llamacpp: return "llamacpp";
  }
  return "";
}

const char* name_of(Capacity policy) {
  switch (policy) {
    case Capacity::guaranteed_no_evict: return "guaranteed_no_evict";
    case Capacity::max_utilization: return "max_utilization";
    case Capacity::static_batch: return "static_batch";
  }
  return "";
}

std::string arrivals_text(const Scenario& s) {
  std::string text;
  for (std::size_t i = 0; i < s.arrivals.size(); ++i) {
    const Arrival& a = s.arrivals[i];
    text += fmt::format("{}{{{}, {}, {}, {}", i == 0 ? "" : ", ", a.time_ns, a.prompt_tokens,
                        a.output_tokens, a.max_tokens);
    if (a.priority != 0) text += fmt::format(", .priority = {}", a.priority);
    if (a.first_token_deadline_ns != kNever) {
      text += fmt::format(", .first_token_deadline_ns = {}", a.first_token_deadline_ns);
    }
    if (a.deadline_ns != kNever) text += fmt::format(", .deadline_ns = {}", a.deadline_ns);
    if (a.output_segment != 0) text += fmt::format(", .output_segment = {}", a.output_segment);
    if (a.shared_prompt != 0) text += fmt::format(", .shared_prompt = {}", a.shared_prompt);
    if (a.adapter != 0) text += fmt::format(", .adapter = {}", a.adapter);
    text += '}';
  }
  return text;
}

std::string prefixes_text(const Scenario& s) {
  std::string text;
  for (const std::vector<PrefixSegment>& prefix : s.prefixes) {
    text += text.empty() ? "{" : ", {";
    for (std::size_t i = 0; i < prefix.size(); ++i) {
      text += fmt::format("{}{{{}, {}}}", i == 0 ? "" : ", ", prefix[i].id, prefix[i].tokens);
    }
    text += '}';
  }
  return text;
}

std::string sglang_rules_text(const SglangRules& rules) {
  if (rules == SglangRules{}) return "";
  std::string text = "    .sglang_rules = {";
  for (const SglangRule& rule : kSglangRules) {
    text += fmt::format(".{} = {}, ", rule.name, rules.*rule.field);
  }
  return text + "},\n";
}

}  // namespace

Scenario shrink(Scenario scenario, const ScenarioPredicate& fails, int max_tries) {
  HEADROOM_CHECK(fails(scenario), "only a failing scenario can be shrunk");
  return Shrinker(std::move(scenario), fails, max_tries).run();
}

std::string to_cpp(const Scenario& s) {
  const Scenario standard;
  std::string text = fmt::format("Scenario{{\n    .arrivals = {{{}}},\n", arrivals_text(s));
  if (!s.prefixes.empty()) text += fmt::format("    .prefixes = {{{}}},\n", prefixes_text(s));
  // In the order of declaration, which designated initialisers must follow.
  const auto field = [&](std::string_view name) {
    for (const NumberField& f : kNumbers) {
      if (name != f.name || s.*f.field == standard.*f.field) continue;
      text += fmt::format("    .{} = {},\n", name, s.*f.field);
    }
    for (const Switch& f : kSwitches) {
      if (name != f.name || s.*f.field == standard.*f.field) continue;
      text += fmt::format("    .{} = {},\n", name, s.*f.field);
    }
  };
  text += fmt::format("    .policy = Policy::{},\n", name_of(s.policy));
  if (s.memory == Memory::contiguous) text += "    .memory = Memory::contiguous,\n";
  if (s.memory == Memory::slots) text += "    .memory = Memory::slots,\n";
  text += fmt::format("    .depth = {},\n", s.depth);
  if (!s.stages.empty()) {
    text += fmt::format("    .stages = {{{}}},\n", fmt::join(s.stages, ", "));
  }
  for (const char* name : {"max_num_seqs", "max_num_batched_tokens", "chunked_prefill",
                           "reserve_full_isl", "prefix_caching"}) {
    field(name);
  }
  if (s.watermark > 0.0) text += fmt::format("    .watermark = {},\n", s.watermark);
  for (const char* name :
       {"long_prefill_token_threshold", "priorities", "max_batch_prefill_tokens"}) {
    field(name);
  }
  if (s.waiting_served_ratio != standard.waiting_served_ratio) {
    text += fmt::format("    .waiting_served_ratio = {},\n", s.waiting_served_ratio);
  }
  field("max_waiting_tokens");
  if (s.capacity != standard.capacity) {
    text += fmt::format("    .capacity = Capacity::{},\n", name_of(s.capacity));
  }
  for (const char* name : {"equal_progress", "max_prefill_tokens", "chunked_prefill_size",
                           "mixed_chunk", "longest_output_first"}) {
    field(name);
  }
  if (s.conservativeness != standard.conservativeness) {
    text += fmt::format("    .conservativeness = {},\n", s.conservativeness);
  }
  text += sglang_rules_text(s.sglang_rules);
  for (const char* name : {"max_model_len", "shared_cells", "block_size", "kv_blocks", "kv_tokens",
                           "batch_wait_ns", "responds_at_end", "adapters", "max_loras",
                           "max_cpu_loras", "adapter_load", "adapter_read"}) {
    field(name);
  }
  text += "    .cost = {";
  const char* separator = "";
  for (const CostField& f : kCosts) {
    if (s.cost.*f.field == standard.cost.*f.field) continue;
    text += fmt::format("{}.{} = {}", separator, f.name, s.cost.*f.field);
    separator = ", ";
  }
  text += "}";
  const ApiServerOptions& api = s.api_server;
  if (api.processes > 0) {
    text += fmt::format(",\n    .api_server = {{{}, {}, {}, {}, {}, {}}}", api.processes,
                        api.request_ticks, api.prompt_token_ticks, api.output_token_ticks,
                        api.answer_ticks, api.network_ns);
  }
  return text + "}";
}

}  // namespace headroom::oracle
