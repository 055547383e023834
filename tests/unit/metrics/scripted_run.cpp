#include "tests/unit/metrics/scripted_run.hpp"

#include <algorithm>

namespace headroom {

namespace {

class Player {
 public:
  Player(const Script& script, MetricsSink& sink) : script_(script), sink_(sink) {}

  void idle() {
    ReplicaState state = empty_state();
    state.waiting = told_;
    sink_.on_idle(0, now_, state);
  }

  void batch(const ScriptedBatch& batch, const Cut& cut, Pricing pricing) {
    now_ += batch.idle_ticks;
    tell_until(floor_ns(now_) + 1);
    DecodeSet decodes(script_.grows_with_decode ? script_.block_tokens : 0);
    for (const TokenCount length : batch.lengths) decodes.join(length);
    used_ = 0;
    for (const TokenCount length : batch.lengths) used_ += length / script_.block_tokens + 1;
    if (!script_.grows_with_decode) used_ = script_.total_blocks * 3 / 4;
    decodes.advance(1);
    for (StepCount done = 0; done < batch.steps;) {
      const StepCount steps = cut(batch.steps - done);
      report(batch, decodes, done, steps, pricing);
      used_ += decodes.blocks_needed(steps);
      decodes.advance(steps);
      done += steps;
    }
  }

  void finish() {
    tell_until(script_.end_ns + 1);
    for (std::size_t i = 0; i < script_.queued.size(); ++i) {
      RequestRecord record;
      record.arrival_ns = record.queued_ns = script_.queued[i];
      record.index = i;
      sink_.on_request(record);
    }
  }

 private:
  ReplicaState empty_state() const {
    ReplicaState state;
    state.pool.block_tokens = script_.block_tokens;
    state.pool.grows_with_decode = script_.grows_with_decode;
    state.pool.total_blocks = state.pool.free_blocks = state.pool.largest_hole =
        script_.total_blocks;
    return state;
  }

  void tell_until(TimeNs t) {  // exclusive
    for (; static_cast<std::size_t>(told_) < script_.queued.size(); ++told_) {
      const auto index = static_cast<std::size_t>(told_);
      if (script_.queued[index] >= t) return;
      sink_.on_event(
          {.kind = EngineEventKind::queued, .time_ns = script_.queued[index], .request = index});
    }
  }

  void report(const ScriptedBatch& batch, const DecodeSet& decodes, StepCount done, StepCount steps,
              Pricing pricing) {
    const auto rows = static_cast<std::int64_t>(batch.lengths.size());
    StepPrice price;
    price.base_terms = batch.base;
    price.slope_terms = batch.slope;
    StepRun run;
    StepShape shape;
    run.shape = &shape;
    shape.decode_rows = shape.sampled_rows = rows;
    shape.decode_context = decodes.context_sum();
    if (pricing == Pricing::by_offset) {
      run.price_offset = done;
      shape.decode_context -= done * rows;
    } else {
      for (std::size_t t = 0; t < kCostTermCount; ++t) {
        const auto term = static_cast<CostTerm>(t);
        price.base_terms[term] += done * batch.slope[term];
      }
    }
    price.base = price.base_terms.sum();
    price.slope = price.slope_terms.sum();
    run.begin = now_;
    run.steps = steps;
    run.price = &price;
    run.first_ticks = price.base + price.slope * run.price_offset;
    run.slope_ticks = price.slope;
    run.gaps_per_step = rows - batch.ghosts;
    run.other_gaps = batch.other_gaps;
    run.decodes = &decodes;
    now_ += static_cast<TickSum>(run.first_ticks) * steps +
            static_cast<TickSum>(steps) * (steps - 1) / 2 * run.slope_ticks;
    tell_until(floor_ns(now_));  // what arrives in the nanosecond of a step end comes after it
    ReplicaState state = empty_state();
    state.running = rows - batch.ghosts;
    state.waiting = told_;
    state.kv_tokens = decodes.context_sum();
    state.reserved_tokens = std::max<TokenCount>(0, batch.reserved - done * state.running);
    state.pool.free_blocks -= used_;
    state.pool.largest_hole = state.pool.free_blocks - (script_.grows_with_decode ? 0 : 7);
    state.pool.cached_blocks = std::min(batch.cached, state.pool.free_blocks);
    run.state = &state;
    sink_.on_steps(run);
  }

  const Script& script_;
  MetricsSink& sink_;
  TickSum now_ = 0;
  BlockCount used_ = 0;
  std::int64_t told_ = 0;
};

}  // namespace

Script random_script(RandomStream& random) {
  Script script;
  script.block_tokens = static_cast<std::int32_t>(random.uniform_int(1, 20));
  script.grows_with_decode = random.uniform_int(0, 3) > 0;
  script.total_blocks = 100'000;
  const std::int64_t batches = random.uniform_int(1, 12);
  TimeNs span_ns = 0;
  for (std::int64_t b = 0; b < batches; ++b) {
    ScriptedBatch batch;
    batch.idle_ticks = random.uniform_int(0, 1) * random.uniform_int(0, 50'000'000) * 1000;
    batch.steps = random.uniform_int(0, 3) == 0 ? 1 : random.uniform_int(1, 150);
    const bool falls = random.uniform_int(0, 4) == 0;
    for (std::size_t t = 0; t < kCostTermCount; ++t) {
      batch.base.ticks[t] = random.uniform_int(1 << 20, 1 << 24);
    }
    for (Ticks SlopeTerms::*term :
         {&SlopeTerms::attention_decode, &SlopeTerms::host, &SlopeTerms::pipeline}) {
      const std::int64_t slope = random.uniform_int(0, 1 << 14);
      batch.slope.*term = falls ? -slope : slope;
    }
    const std::int64_t rows = random.uniform_int(1, 40);
    for (std::int64_t r = 0; r < rows; ++r) batch.lengths.push_back(random.uniform_int(1, 900));
    batch.ghosts = random.uniform_int(0, rows - 1);
    if (!script.grows_with_decode) batch.reserved = random.uniform_int(0, 3000);
    BlockCount used = 0;
    for (const TokenCount length : batch.lengths) used += length / script.block_tokens + 1;
    const BlockCount free = script.total_blocks - used;
    if (!script.grows_with_decode) {
      batch.cached = 0;
    } else {
      const std::int64_t kind = random.uniform_int(0, 2);
      batch.cached = kind == 0 ? 0 : kind == 1 ? free : free - random.uniform_int(0, 60);
    }
    if (batch.steps == 1) {
      const TickSum gap = random.uniform_int(1, 1LL << 50);
      batch.other_gaps.push_back({gap, random.uniform_int(1, 3)});
    }
    span_ns += (batch.steps * (9LL << 24)) >> kTickBits;
    script.batches.push_back(batch);
  }
  const std::int64_t arrivals = random.uniform_int(0, 40);
  for (std::int64_t i = 0; i < arrivals; ++i) {
    script.queued.push_back(random.uniform_int(0, span_ns));
  }
  std::sort(script.queued.begin(), script.queued.end());
  script.end_ns = span_ns * 2 + 2'000'000;
  return script;
}

void play(const Script& script, const Cut& cut, Pricing pricing, MetricsSink& sink) {
  Player player(script, sink);
  player.idle();
  for (const ScriptedBatch& batch : script.batches) {
    player.batch(batch, cut, pricing);
    if (batch.steps % 2 == 0) player.idle();
  }
  player.finish();
}

}  // namespace headroom
