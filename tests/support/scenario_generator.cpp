#include "tests/support/scenario_generator.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "tests/support/sglang_rule_list.hpp"

namespace headroom::oracle {
namespace {

// The slight bias of the modulo does not matter here; std distributions differ between libraries.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::int32_t tokens(std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(between(low, high));
  }
  bool percent(std::int64_t p) { return between(1, 100) <= p; }

 private:
  std::mt19937_64 engine_;
};

// Three scales: whole ns, where step ends and arrivals meet in one ns; ns with remainders; ms.
AffineCost random_cost(Dice& dice) {
  AffineCost cost;
  const std::int64_t scale = dice.between(0, 2);
  const bool whole_ns = scale == 0;
  const Ticks unit = scale == 2 ? 1'000'000 * kTicksPerNs : kTicksPerNs;
  const auto draw = [&](std::int64_t low, std::int64_t most_units) {
    if (whole_ns) return dice.between(low, most_units) * kTicksPerNs;
    return dice.between(low * unit, most_units * unit);
  };
  cost.step = draw(1, 20);
  if (dice.percent(70)) cost.decode_row = draw(0, 4);
  if (dice.percent(70)) cost.chunk_token = draw(0, 3);
  if (dice.percent(60)) cost.decode_context = draw(0, 1) / (whole_ns ? 1 : dice.between(1, 1000));
  if (dice.percent(30)) cost.chunk_row = draw(0, 5);
  if (dice.percent(30)) cost.chunk_context = draw(0, 1);
  if (dice.percent(30)) cost.chunk_pair_twice = draw(0, 1);
  if (dice.percent(40)) cost.sampled_row = draw(0, 2);
  return cost;
}

TimeNs random_gap(Dice& dice, std::int64_t pattern, TimeNs step_ns) {
  switch (pattern) {
    case 0: return 0;                                                            // one burst
    case 1: return dice.percent(60) ? 0 : dice.between(0, 10 * step_ns);         // ties
    case 2: return dice.between(0, 3 * step_ns);                                 // a steady stream
    case 3: return dice.percent(80) ? dice.between(0, step_ns) : 200 * step_ns;  // idle gaps
    default: return dice.between(0, 40 * step_ns);
  }
}

Arrival random_lengths(Dice& dice, std::int64_t longest_output) {
  Arrival arrival;
  arrival.prompt_tokens = dice.tokens(1, dice.percent(30) ? 6 : 60);
  arrival.output_tokens = dice.tokens(1, dice.percent(30) ? 3 : longest_output);
  arrival.max_tokens = arrival.output_tokens;
  const std::int64_t kind = dice.between(1, 20);
  if (kind <= 8) arrival.max_tokens += dice.tokens(1, 20);                     // ends by EOS
  if (kind == 9) arrival.max_tokens = 0;                                       // not declared
  if (kind == 10) arrival.max_tokens = dice.tokens(1, arrival.output_tokens);  // cut
  return arrival;
}

void add_arrivals(Dice& dice, Scenario& s) {
  const std::int64_t count = dice.percent(70) ? dice.between(2, 12) : dice.between(13, 40);
  const std::int64_t pattern = dice.between(0, 4);
  const std::int64_t longest_output = dice.percent(5) ? 400 : 40;
  const TimeNs step_ns = floor_ns(s.cost.step) + 1;
  TimeNs now = dice.percent(50) ? 0 : dice.between(0, 5 * step_ns);
  for (std::int64_t i = 0; i < count; ++i) {
    Arrival arrival = random_lengths(dice, longest_output);
    arrival.time_ns = now;
    s.arrivals.push_back(arrival);
    now += random_gap(dice, pattern, step_ns);
  }
}

TokenCount longest_sequence(const Scenario& s) {
  TokenCount longest = 0;
  for (const Arrival& a : s.arrivals) {
    const std::int32_t output = a.max_tokens > 0 ? a.max_tokens : a.output_tokens;
    longest = std::max(longest, TokenCount{a.prompt_tokens} + output);
  }
  return longest;
}

void size_memory(Dice& dice, Scenario& s) {
  const TokenCount longest = longest_sequence(s);
  s.max_model_len = longest + (dice.percent(30) ? dice.between(1, 30) : 0);
  if (dice.percent(8)) s.max_model_len = std::max(TokenCount{2}, longest - dice.between(1, 20));
  TokenCount tokens = s.max_model_len;
  const std::int64_t plenty = dice.between(0, 3);
  if (plenty == 1) tokens += dice.between(0, longest);
  if (plenty == 2) tokens += dice.between(0, 3 * longest);
  if (plenty == 3) tokens += 20 * longest;
  if (dice.percent(4)) tokens = std::max(TokenCount{2}, longest - dice.between(1, 30));
  s.block_size = dice.between(1, 16);
  s.kv_blocks = (tokens + s.block_size - 1) / s.block_size;
  s.kv_tokens = tokens;
}

// Without the full-prompt gate, a sequence longer than the pool is admitted chunk by chunk and
// pushes itself out again for ever.
bool may_thrash(const Scenario& s) {
  const TokenCount pool = s.kv_blocks * s.block_size;
  if (!s.chunked_prefill) return false;
  return std::any_of(s.arrivals.begin(), s.arrivals.end(), [&](const Arrival& a) {
    const TokenCount prompt = a.prompt_tokens;
    const TokenCount length = a.max_tokens > 0 ? prompt + a.max_tokens : s.max_model_len;
    return prompt < s.max_model_len && length <= s.max_model_len && prompt + 1 <= pool &&
           length > pool;
  });
}

void choose_vllm_options(Dice& dice, Scenario& s) {
  const bool tight = dice.percent(60);
  s.max_num_batched_tokens = s.max_num_seqs + dice.between(0, tight ? 20 : 200);
  s.chunked_prefill = dice.percent(80);
  // Legal only with a budget for the longest prompt (ENGINES.md 3.1).
  if (!s.chunked_prefill) {
    s.max_num_batched_tokens = std::max(s.max_num_batched_tokens, s.max_model_len);
  }
  s.reserve_full_isl = dice.percent(60) || may_thrash(s);
  s.prefix_caching = dice.percent(50);
  // Sixteenths are exact in a double.
  if (dice.percent(25)) s.watermark = static_cast<double>(dice.between(1, 4)) / 16.0;
}

void choose_token_budget(Dice& dice, Scenario& s) {
  s.max_num_batched_tokens = s.max_num_seqs + dice.between(0, dice.percent(60) ? 20 : 200);
}

// Somebody's only token comes from the prefill.
bool asks_for_one_token(const Scenario& s) {
  return std::any_of(s.arrivals.begin(), s.arrivals.end(), [&](const Arrival& a) {
    return a.max_tokens == 1 || (a.max_tokens == 0 && a.prompt_tokens + 1 == s.max_model_len);
  });
}

// Prompts in a batch of its own, or decodes first.
void choose_v0_options(Dice& dice, Scenario& s) {
  choose_token_budget(dice, s);
  s.chunked_prefill = s.policy == Policy::sarathi || dice.percent(40);
  if (!s.chunked_prefill && dice.percent(80)) s.max_num_batched_tokens += s.max_model_len;
  s.prefix_caching = dice.percent(50);
  if (dice.percent(60)) s.watermark = static_cast<double>(dice.between(1, 6)) / 16.0;
}

void choose_tgi_options(Dice& dice, Scenario& s) {
  s.chunked_prefill = dice.percent(50);
  // tgi.hpp leaves open when the router looks again behind a prompt that was all of its request.
  if (asks_for_one_token(s)) s.depth = 1;
  // Whole prompts longer than the budget are refused; when exactly, nothing says.
  TokenCount longest_prompt = 0;
  for (const Arrival& a : s.arrivals) {
    longest_prompt = std::max(longest_prompt, TokenCount{a.prompt_tokens});
  }
  s.max_batch_prefill_tokens =
      s.chunked_prefill ? dice.between(s.max_num_seqs, 90) : longest_prompt + dice.between(0, 60);
  s.waiting_served_ratio = static_cast<double>(dice.between(0, 20)) / 16.0;
  s.max_waiting_tokens = dice.between(0, 25);
}

void choose_trtllm_options(Dice& dice, Scenario& s) {
  const std::int64_t kind = dice.between(0, 5);
  s.capacity = kind < 2   ? Capacity::guaranteed_no_evict
               : kind < 5 ? Capacity::max_utilization
                          : Capacity::static_batch;
  s.chunked_prefill = dice.percent(60);
  s.equal_progress = dice.percent(50);
  choose_token_budget(dice, s);
  s.max_num_batched_tokens += s.block_size;  // a chunk beside the decodes
  const bool pauses = s.capacity == Capacity::max_utilization;
  if (!s.chunked_prefill && (pauses || dice.percent(80))) {
    s.max_num_batched_tokens += s.max_model_len;
  }
}

void choose_sglang_options(Dice& dice, Scenario& s) {
  s.kv_blocks *= s.block_size;
  s.block_size = 1;  // SGLang's default
  s.max_prefill_tokens = dice.between(5, 120);
  s.chunked_prefill_size = dice.between(1, 60);
  if (dice.percent(25)) s.chunked_prefill_size = 0;
  s.mixed_chunk = s.chunked_prefill_size > 0 && dice.percent(40);
  if (s.mixed_chunk) s.depth = 1;
  s.longest_output_first = dice.percent(25);
  // Small ones lead to retraction.
  s.conservativeness = dice.percent(50) ? 1.0 : static_cast<double>(dice.between(1, 32)) / 16.0;
  for (const SglangRule& rule : kSglangRules) s.sglang_rules.*rule.field = dice.percent(50);
}

void choose_options(Dice& dice, Scenario& s) {
  switch (s.policy) {
    case Policy::vllm:
      choose_vllm_options(dice, s);
      if (dice.percent(40)) s.long_prefill_token_threshold = dice.between(1, 30);
      s.threshold_cuts_lone_prompts = dice.percent(50);
      s.priorities = dice.percent(40);
      for (Arrival& arrival : s.arrivals) arrival.priority = dice.tokens(-1, 2);
      return;
    case Policy::vllm_v0:
    case Policy::sarathi: choose_v0_options(dice, s); return;
    case Policy::tgi: choose_tgi_options(dice, s); return;
    case Policy::trtllm: choose_trtllm_options(dice, s); return;
    case Policy::sglang: choose_sglang_options(dice, s); return;
    case Policy::llamacpp:
      s.memory = Memory::slots;
      s.max_num_batched_tokens = dice.between(1, 60);
      if (dice.percent(50)) s.shared_cells = dice.between(s.max_model_len, 3 * s.max_model_len);
      if (s.shared_cells > 0) s.depth = 1;
      return;
    case Policy::orca:
      if (dice.percent(50)) s.memory = Memory::contiguous;
      return;
    case Policy::static_batch: s.memory = Memory::contiguous; return;
  }
}

}  // namespace

Scenario random_scenario(Policy policy, std::uint64_t seed) {
  Dice dice(seed);
  Scenario s;
  s.policy = policy;
  s.cost = random_cost(dice);
  add_arrivals(dice, s);
  size_memory(dice, s);
  s.max_num_seqs = dice.percent(15) ? 1 : dice.between(2, 12);
  if (policy != Policy::static_batch) s.depth = dice.percent(50) ? 2 : 1;
  choose_options(dice, s);
  return s;
}

// Texts are few, so that prompts meet; turns follow earlier arrivals, ended or not.
Scenario with_prefixes(Scenario scenario, std::uint64_t seed) {
  Dice dice(seed + 1);
  scenario.prefix_caching = true;
  scenario.prefixes.resize(scenario.arrivals.size());
  for (std::size_t i = 0; i < scenario.arrivals.size(); ++i) {
    Arrival& arrival = scenario.arrivals[i];
    std::vector<PrefixSegment>& prefix = scenario.prefixes[i];
    const std::int64_t kind = dice.between(0, 3);
    if (kind == 0) continue;  // nothing is known of it
    if (kind == 1 && i > 0) {
      const auto earlier = static_cast<std::size_t>(dice.between(0, static_cast<int>(i) - 1));
      prefix = pieces_of(scenario, earlier);
      const std::uint64_t answer = scenario.arrivals[earlier].output_segment;
      if (answer != 0) prefix.push_back({answer, scenario.arrivals[earlier].output_tokens});
    } else {
      const std::int64_t pieces = dice.between(1, 3);
      for (std::int64_t n = 0; n < pieces; ++n) {
        const auto id = static_cast<std::uint64_t>(dice.between(1, 3));
        prefix.push_back({id, dice.tokens(1, 25)});
      }
    }
    if (dice.percent(60)) prefix.push_back({100 + i, 1000});  // the rest of the prompt
    if (dice.percent(60)) arrival.output_segment = 1000 + i;
  }
  return scenario;
}

Scenario with_adapters(Scenario scenario, std::uint64_t seed) {
  Dice dice(seed + 2);
  scenario.priorities = false;
  scenario.adapters = dice.between(1, 6);
  scenario.max_loras = dice.between(1, 3);
  scenario.max_cpu_loras = scenario.max_loras + dice.between(0, 2);
  if (dice.percent(60)) scenario.adapter_load = dice.between(0, 3 * scenario.cost.step);
  if (dice.percent(60)) scenario.adapter_read = dice.between(0, 3 * scenario.cost.step);
  if (dice.percent(60)) scenario.cost.adapter = dice.between(0, scenario.cost.step);
  if (dice.percent(60)) scenario.cost.adapter_token = dice.between(0, kTicksPerNs);
  for (Arrival& arrival : scenario.arrivals) {
    if (dice.percent(80)) {
      arrival.adapter = static_cast<std::int32_t>(dice.between(1, scenario.adapters));
    }
  }
  return scenario;
}

Scenario with_stages(Scenario scenario, std::uint64_t seed) {
  Dice dice(seed + 3);
  scenario.depth = 1;
  const std::int64_t stages = dice.between(2, 5);
  for (std::int64_t i = 0; i < stages; ++i) scenario.stages.push_back(dice.between(1, 3));
  scenario.cost.step = std::max(scenario.cost.step, stages * 4 * kTicksPerNs);
  if (dice.percent(60)) scenario.cost.prepare = dice.between(0, scenario.cost.step);
  if (dice.percent(60)) scenario.cost.head = dice.between(0, scenario.cost.step);
  if (dice.percent(60)) scenario.cost.hand_over = dice.between(0, scenario.cost.step / 4);
  return scenario;
}

// Short and long ones, also in the nanosecond of the arrival.
Scenario with_deadlines(Scenario scenario, std::uint64_t seed) {
  Dice dice(seed);
  const TimeNs step_ns = floor_ns(scenario.cost.step) + 1;
  for (Arrival& arrival : scenario.arrivals) {
    const std::int64_t longest = dice.percent(40) ? 5 : 80;
    if (dice.percent(30)) {
      arrival.first_token_deadline_ns = arrival.time_ns + dice.between(0, longest * step_ns);
    }
    if (dice.percent(30)) {
      arrival.deadline_ns = arrival.time_ns + dice.between(0, longest * step_ns);
    }
  }
  return scenario;
}

Scenario with_api_server(Scenario scenario, std::uint64_t seed) {
  Dice dice(seed);
  const Ticks step = scenario.cost.step;
  const auto some = [&](Ticks most) { return dice.percent(25) ? 0 : dice.between(0, most); };
  ApiServerOptions& api = scenario.api_server;
  api.processes = dice.between(1, 3);
  api.request_ticks = some(dice.percent(30) ? 20 * step : step);
  api.prompt_token_ticks = some(step / 8);
  api.output_token_ticks = some(dice.percent(40) ? 3 * step : step / 4);
  api.answer_ticks = some(2 * step);
  api.network_ns = dice.percent(50) ? 0 : dice.between(0, 3 * (floor_ns(step) + 1));
  if (dice.percent(70)) return scenario;
  // All that arrive in one ns are answers of one prompt.
  std::uint64_t prompt = 0;
  TimeNs latest_ns = -1;
  for (Arrival& arrival : scenario.arrivals) {
    if (std::exchange(latest_ns, arrival.time_ns) != arrival.time_ns) ++prompt;
    arrival.shared_prompt = prompt;
  }
  return scenario;
}

Scenario random_scenario(std::uint64_t seed) {
  Dice dice(seed);
  Scenario s;
  const std::int64_t kind = dice.between(1, 10);
  s.policy = kind <= 6 ? Policy::vllm : kind <= 8 ? Policy::orca : Policy::static_batch;
  s.cost = random_cost(dice);
  add_arrivals(dice, s);
  size_memory(dice, s);
  s.max_num_seqs = dice.percent(15) ? 1 : dice.between(2, 12);
  if (s.policy == Policy::vllm) choose_vllm_options(dice, s);
  if (s.policy == Policy::orca && dice.percent(50)) s.memory = Memory::contiguous;
  if (s.policy == Policy::static_batch) {
    s.memory = Memory::contiguous;
    const TimeNs step_ns = floor_ns(s.cost.step) + 1;
    if (dice.percent(60)) s.batch_wait_ns = dice.between(1, 60 * step_ns);
    s.responds_at_end = dice.percent(50);
  } else {
    s.depth = dice.percent(50) ? 2 : 1;
  }
  return s;
}

namespace {

struct Lengths {
  std::int32_t prompt, output, max;
};
constexpr std::array<Lengths, 3> kTinyLengths{{{1, 1, 1}, {3, 4, 4}, {6, 3, 5}}};
constexpr std::array<TokenCount, 3> kTinyTokens{12, 14, 18};  // the longest sequence has 11

// `code` holds one base-3 digit per request.
Scenario tiny_base(int requests, int code, TokenCount tokens, bool staggered) {
  Scenario s;
  s.cost.step = 7 * kTicksPerNs + 3;
  s.cost.decode_row = kTicksPerNs;
  s.cost.decode_context = kTicksPerNs / 8;
  s.cost.chunk_token = kTicksPerNs / 2;
  for (int i = 0; i < requests; ++i, code /= 3) {
    const Lengths& l = kTinyLengths[static_cast<std::size_t>(code % 3)];
    const TimeNs time_ns = staggered ? 9 * i : 0;
    s.arrivals.push_back({time_ns, l.prompt, l.output, l.max, 0});
  }
  s.max_num_seqs = 3;
  s.max_num_batched_tokens = 4;
  s.max_model_len = 12;
  s.block_size = 2;
  s.kv_blocks = tokens / 2;
  s.kv_tokens = tokens;
  return s;
}

void visit_variants(Scenario s, const std::function<void(const Scenario&)>& visit) {
  for (const int depth : {1, 2}) {
    s.depth = depth;
    s.policy = Policy::vllm;
    s.memory = Memory::paged;
    for (const bool caching : {false, true}) {
      s.prefix_caching = caching;
      visit(s);
    }
    s.prefix_caching = false;
    s.policy = Policy::orca;
    for (const Memory memory : {Memory::paged, Memory::contiguous}) {
      s.memory = memory;
      visit(s);
    }
  }
  s.depth = 1;
  s.policy = Policy::static_batch;
  s.memory = Memory::contiguous;
  for (const bool at_end : {false, true}) {
    s.responds_at_end = at_end;
    s.batch_wait_ns = at_end ? 0 : 10;
    visit(s);
  }
}

}  // namespace

void for_each_tiny_scenario(const std::function<void(const Scenario&)>& visit) {
  int codes = 1;
  for (int requests = 1; requests <= 4; ++requests) {
    codes *= 3;
    for (int code = 0; code < codes; ++code) {
      for (const TokenCount tokens : kTinyTokens) {
        visit_variants(tiny_base(requests, code, tokens, false), visit);
        visit_variants(tiny_base(requests, code, tokens, true), visit);
      }
    }
  }
}

namespace {

bool has_legal_prefill_budget(const Scenario& s) {
  if (s.max_batch_prefill_tokens < 1 || (s.depth == 2 && asks_for_one_token(s))) return false;
  return s.chunked_prefill ||
         std::all_of(s.arrivals.begin(), s.arrivals.end(), [&](const Arrival& a) {
           return a.prompt_tokens <= s.max_batch_prefill_tokens;
         });
}

// Whole prompts under MAX_UTILIZATION: one that was paused must not outgrow a step.
bool has_legal_step_tokens(const Scenario& s) {
  if (s.chunked_prefill) return s.max_num_batched_tokens >= s.max_num_seqs + s.block_size;
  const bool pauses = s.capacity == Capacity::max_utilization;
  return s.max_num_batched_tokens >= std::max(s.max_num_seqs, pauses ? s.max_model_len : 1);
}

bool has_legal_options(const Scenario& s) {
  const bool paged = s.memory == Memory::paged;
  switch (s.policy) {
    case Policy::orca:
    case Policy::static_batch: return true;
    case Policy::llamacpp: return s.max_num_batched_tokens >= 1 && s.has_legal_cells();
    case Policy::tgi: return paged && !s.prefix_caching && has_legal_prefill_budget(s);
    case Policy::vllm_v0:
    case Policy::sarathi: return paged && s.max_num_batched_tokens >= s.max_num_seqs;
    case Policy::trtllm: return paged && !s.prefix_caching && has_legal_step_tokens(s);
    case Policy::sglang:
      if (s.mixed_chunk && (s.chunked_prefill_size == 0 || s.depth == 2)) return false;
      return paged && !s.prefix_caching && s.max_prefill_tokens >= 1 &&
             s.chunked_prefill_size >= 0 && s.block_size == 1;
    case Policy::vllm: break;
  }
  if (!s.reserve_full_isl && may_thrash(s)) return false;
  const TokenCount least = s.chunked_prefill ? s.max_num_seqs : s.max_model_len;
  return paged && s.max_num_batched_tokens >= least && s.max_num_batched_tokens >= s.max_num_seqs;
}

bool has_legal_adapters(const Scenario& s) {
  const bool known = std::all_of(s.arrivals.begin(), s.arrivals.end(), [&s](const Arrival& a) {
    return 0 <= a.adapter && a.adapter <= s.adapters;
  });
  if (s.adapters == 0 || !known) return known;
  return s.policy == Policy::vllm && !s.priorities && s.max_loras >= 1 &&
         s.max_cpu_loras >= s.max_loras;
}

}  // namespace

bool is_legal(const Scenario& s) {
  TimeNs last = 0;
  for (const Arrival& a : s.arrivals) {
    if (a.time_ns < last || a.prompt_tokens < 1 || a.output_tokens < 1 || a.max_tokens < 0) {
      return false;
    }
    last = a.time_ns;
  }
  if (s.depth != 1 && (s.depth != 2 || s.policy == Policy::static_batch || !s.stages.empty())) {
    return false;
  }
  if (s.cost.step < 1 || s.max_num_seqs < 1 || s.max_model_len < 2 || s.block_size < 1 ||
      s.kv_blocks < 1 || s.kv_tokens < 1 || s.batch_wait_ns < 0) {
    return false;
  }
  if ((s.memory == Memory::slots) != (s.policy == Policy::llamacpp)) return false;
  return has_legal_adapters(s) && has_legal_options(s);
}

}  // namespace headroom::oracle
