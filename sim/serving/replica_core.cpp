#include "sim/serving/replica_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

// An ending row has left the plans, a waiting one is in none.
bool takes_part(const Request& request) {
  return request.state == RequestState::prefilling || request.state == RequestState::decoding;
}

}  // namespace

// With drafts the scheduler takes blocks row by row: none are counted here.
ReplicaCore::ReplicaCore(std::uint16_t own_number, ReplicaOptions own_options, KvAllocator& kv_pool,
                         std::optional<AdapterSlots> adapter_slots)
    : time(own_options.pipeline_depth, own_options.api_server.processes > 0,
           own_options.pipeline_stages),
      sums(kv_pool, own_options.acceptance.drafts() > 0 ? 0 : kv_pool.pool().decode_block_tokens(),
           own_options.pipeline_stages),
      kv(kv_pool),
      remote(own_options),
      adapters(std::move(adapter_slots)),
      number(own_number),
      options(std::move(own_options)) {}

// Of the tokens that a running request holds, those of ghost rows and of decode steps in flight:
// the last token that is out is not fed back by a step that has ended.
TokenCount ReplicaCore::unnamed_tokens(RequestId id) const {
  const Request& request = requests[id];
  if (request.state == RequestState::prefilling) return 0;
  return held(id) - (TokenCount{request.pad_tokens} + request.prompt_tokens + generated(id) - 1);
}

void ReplicaCore::read_state(ReplicaState& now) const {
  const KvPoolState& pool = kv.pool();
  now.running = sums.running();
  now.waiting = sums.waiting();
  now.kv_tokens = sums.kept() - pool.shared_blocks * pool.block_tokens;
  now.reserved_tokens = mostly(pool.grows_with_decode)
                            ? TokenCount{0}
                            : std::max<TokenCount>(0, sums.still_to_come());
  now.pool = pool;
}

std::span<const PlannedMicroBatch> ReplicaCore::other_micro_batches() {
  const std::span<DecodeSet> rows = sums.others_to_plan();
  other_micro_batches_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto micro_batch = static_cast<std::int32_t>(i);
    const StepIndex planned = time.planned_decodes(micro_batch);
    other_micro_batches_[i] = {&rows[i], planned, planned - time.completed_decodes(micro_batch)};
  }
  return other_micro_batches_;
}

void ReplicaCore::leave_batch(RequestId id) {
  const Request& request = requests[id];
  const TokenCount tokens = held(id);
  if (request.state == RequestState::decoding) {
    sums.end_decoding(request, tokens);
  } else {
    sums.let_go(tokens);
  }
  kv.release(id, request, tokens, KvRelease::finished, unnamed_tokens(id));
  sums.leave_batch(final_tokens(id));
}

void ReplicaCore::leave_its_adapter(const Request& request) {
  if (takes_part(request)) adapters->leave(request.adapter);
}

TokenCount ReplicaCore::preempt(RequestId id, TickSum latest_tokens) {
  Request& request = requests[id];
  const TokenCount planned = computed_by(request, time.planned_decodes(request.micro_batch));
  if (request.state == RequestState::prefilling) {
    sums.let_go(planned);
  } else {
    interrupt(id, latest_tokens);
    if (request.state == RequestState::ending) sums.let_go(planned);
  }
  sums.leave_batch(final_tokens(id));
  request.known_tokens = request.prompt_tokens + stories[id].generated;
  request.computed_tokens = 0;
  request.state = RequestState::waiting;
  ++request.preemptions;
  enter_queue(id);
  return planned;
}

void ReplicaCore::leave_plans(RequestId id) {
  Request& request = requests[id];
  const StepIndex last_decode = stories[id].last_decode;
  const TokenCount tokens = held(id);
  HEADROOM_CHECK(last_decode == time.applied_decodes(),
                 "left out of plans before its last step was planned");
  leave_adapter(request);
  sums.end_decoding(request, tokens);
  request.computed_tokens = static_cast<std::int32_t>(tokens);
  request.state = RequestState::ending;
  sums.hold(tokens);
  time.stops().push({.decode = last_decode, .admission = request.admission, .id = id});
}

// A row that has begun to sample leaves the batch. Steps up to time.planned() carry the row; what
// is in flight comes out, and may even finish it.
void ReplicaCore::interrupt(RequestId id, TickSum latest_tokens) {
  RequestStory& story = stories[id];
  const std::int32_t micro_batch = requests[id].micro_batch;
  const StepIndex last = std::min(time.planned_decodes(micro_batch), story.last_decode);
  if (last < story.last_decode) time.begin_epoch(id);
  story.generated += static_cast<std::int32_t>(last - story.sample_decode + 1);
  const bool in_flight = last > story.sample_decode ? last > time.completed_decodes(micro_batch)
                                                    : story.sample_step > time.completed();
  requests[id].token_in_flight = in_flight;
  story.counted_to = in_flight ? time.next_yield(micro_batch) : time.completed();
  if (in_flight) return gaps.await_last_token(id);
  // Kept where it sat a step out; else its latest token came with the others'.
  if (story.last_token < 0) story.last_token = gaps.latest_token(story.sample_step, latest_tokens);
  leave_pause(id);
}

void ReplicaCore::note_pause(const Segment& segment, TickSum before, TickSum after) {
  std::int64_t begun = 0;
  for (const RequestId id : segment.first_tokens) {
    begun += requests[id].state == RequestState::decoding ? 1 : 0;
  }
  gaps.pause(segment.first, segment.rows_paused, begun, before, after);
}

void ReplicaCore::leave_pause(RequestId id) {
  const StepIndex sample_step = stories[id].sample_step;
  StepPipeline& segments = time.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (rarely(!segments[i].decodes) && sample_step < segments[i].first) --segments[i].rows_paused;
  }
  if (rarely(gaps.paused()) && sample_step <= time.completed()) gaps.leave_pause(sample_step);
}

std::int64_t ReplicaCore::forget_in_flight(RequestId id) {
  if (requests[id].state == RequestState::prefilling) return 0;
  std::int64_t first_tokens = 0;
  const std::int32_t micro_batch = requests[id].micro_batch;
  StepIndex decodes = time.completed_decodes(micro_batch);
  for (std::size_t i = 0; i < time.segments().size(); ++i) {
    Segment& segment = time.segments()[i];
    if (segment.micro_batch != micro_batch) continue;
    if (std::erase(segment.first_tokens, id) > 0) {
      ++first_tokens;
    } else if (segment.decodes && stories[id].last_decode > decodes) {
      --segment.gaps_per_step;
    }
    if (segment.decodes) decodes += segment.left();
  }
  return first_tokens;
}

void ReplicaCore::remove(RequestId id) {
  if (refused_by_placement == id) refused_by_placement = kNoRequest;
  time.begin_epoch(id);
  gaps.forget(id);
  stories[id].here = false;
  requests.remove(id);
}

void ReplicaCore::on_engine_lost() {
  kv.on_engine_lost();
  if (adapters) adapters->on_engine_lost();
  time.forget_all();
  sums.forget_batch();
  gaps.on_engine_lost();
  remote.on_engine_lost();
}

bool ReplicaCore::awaits(RequestId id, std::uint64_t index, bool first_token,
                         TimeNs time_ns) const {
  const RequestStory& story = stories[id];
  if (!story.here || story.recorded || requests[id].index != index) return false;
  const bool begun =
      story.first_token_ns >= 0 && story.first_token_ns <= time_ns && !options.responds_at_end;
  return !story.cancelled && !(first_token && begun);
}

std::optional<std::int32_t> ReplicaCore::tokens_of(RequestId id, std::uint64_t index) const {
  if (id >= stories.size()) return std::nullopt;
  const RequestStory& story = stories[id];
  if (!story.here || story.recorded || requests[id].index != index) return std::nullopt;
  return options.responds_at_end ? 0 : generated(id);
}

// --- checks -------------------------------------------------------------------------------------

void ReplicaCore::check_features() const {
  using Features = ReplicaFeatures;
  const std::int32_t depth = time.depth();
  HEADROOM_CHECK(depth == 1 || depth == 2, fmt::format("pipeline depth {}", depth));
  HEADROOM_CHECK(depth == 1 || !features.any(Features::drafts),
                 "speculative decoding with steps queued");
  HEADROOM_CHECK(!features.any(Features::ranks) || !features.any(Features::adapters),
                 "adapters on data ranks");
  HEADROOM_CHECK(!features.any(Features::micro_batches) ||
                     !features.any(Features::drafts | Features::whole_answers),
                 "pipeline stages with drafts or without streams");
  HEADROOM_CHECK(!features.any(Features::role) ||
                     !features.any(Features::api_server | Features::drafts | Features::adapters),
                 "a role of an engine of its own");
}

void ReplicaCore::check(std::int32_t slots_ahead) const {
  if (adapters) check_adapters();
  const KvPoolState& pool = kv.pool();
  ResidentSums expected = sums.of_nobody();
  BlockCount blocks = 0;
  TokenCount tokens = 0;
  for (RequestId id = 0; id < stories.size(); ++id) {
    if (!stories[id].here) continue;
    const Request& request = requests[id];
    if (request.state == RequestState::waiting) {
      expected.enter_queue(remote.queued_tokens(id, request));
      if (!remote.holds_early(id)) continue;
    } else if (remote.stage(id) != RemoteRequests::Stage::held) {
      expected.enter_batch(final_tokens(id));
    }
    const TokenCount has = remote.holds_early(id) ? remote.reserved(id) : held(id);
    blocks += kv.sequence().held(has);
    tokens += has;
    const bool decodes =
        request.state == RequestState::decoding || request.state == RequestState::ghost;
    if (decodes) {
      expected.begin_decoding(request, has);
    } else {
      expected.hold(has);
    }
  }
  sums.check_same(expected);
  if (pool.grows_with_decode) return check_blocks(blocks + pool.step_blocks, slots_ahead);
  const BlockCount set_aside = pool.used_blocks() + pool.shared_blocks;
  HEADROOM_CHECK(tokens <= set_aside * pool.block_tokens,
                 fmt::format("{} tokens held, {} blocks set aside", tokens, set_aside));
}

// `blocks`: what the computed tokens of all residents fill. Rows that speculate hold slots for
// drafts and for the drafter's lookahead as well, and keep them.
void ReplicaCore::check_blocks(BlockCount blocks, std::int32_t slots_ahead) const {
  const KvPoolState& pool = kv.pool();
  const BlockCount used = pool.used_blocks() + pool.shared_blocks;
  const BlockCount ahead =
      (slots_ahead + pool.block_tokens - 1) / pool.block_tokens * kv.sequence().ids_per_block(0);
  HEADROOM_CHECK(blocks <= used && used <= blocks + sums.residents() * ahead,
                 fmt::format("{} blocks in use, requests fill {}", used, blocks));
}

void ReplicaCore::check_adapters() const {
  std::int64_t rows = 0;
  for (RequestId id = 0; id < stories.size(); ++id) {
    if (!stories[id].here || !takes_part(requests[id])) continue;
    rows += requests[id].adapter != 0 ? 1 : 0;
  }
  HEADROOM_CHECK(rows == adapters->rows(), "rows with an adapter differ from the requests");
}

}  // namespace headroom
