#include "sim/serving/window_moves.hpp"

#include <catch2/catch.hpp>

#include "scheduler/kv/paged.hpp"

namespace headroom::window_moves_test {
namespace {

// Layers that keep all tokens beside as many that keep 128 of them, in blocks of 16.
SequenceBlocks windowed() {
  KvLayout layout;
  layout.block_tokens = 16;
  layout.groups = {{KvGroupKind::full, 4, 16, 0}, {KvGroupKind::sliding, 4, 16, 128}};
  return {layout, 8192};
}

// A request decodes behind a prompt of 100 tokens, up to decode step `last_decode`.
struct OneWindow {
  ReplicaOptions options;
  PagedKv kv{PagedKvOptions{
      .blocks = 100, .block_tokens = 16, .enable_prefix_caching = false, .sequence = windowed()}};
  ReplicaCore core{0, options, kv, std::nullopt};
  RequestId id = core.requests.add(Request{});

  explicit OneWindow(StepIndex last_decode) {
    Request& request = core.requests[id];
    request.computed_tokens = 100;
    request.state = RequestState::decoding;
    request.ids_per_block = kv.sequence().ids_per_block(100);
    core.stories.resize(1);
    core.stories[id].last_decode = last_decode;
    core.time.stops().track(id);
    core.sums.begin_decoding(request, 100);
    WindowMoves::stop_for(id, 100, 100, core);
  }
};

TEST_CASE("a window that becomes full takes no further blocks", "[window_moves]") {
  // It has nine blocks at most (SequenceBlocks), those of 144 tokens: 44 steps behind 100.
  OneWindow one(200);
  REQUIRE_FALSE(one.core.time.stops().empty());
  CHECK(one.core.time.stops().top().action == StopAction::windows_change);
  const StepIndex full = one.kv.sequence().next_change(100) - 100;
  CHECK(one.core.time.stops().top().decode == full);
  CHECK(one.core.requests[one.id].ids_per_block == 2);
  one.core.time.stops().pop();
  one.core.time.push(one.core.time.begin_segment(true), full);
  one.core.time.apply(full - 1);
  one.core.sums.advance(full);
  WindowMoves windows;
  windows.change(one.id, one.core);
  CHECK(one.core.requests[one.id].ids_per_block == 1);
  CHECK(one.core.sums.decodes().ids_per_cycle() == 1);
  CHECK(one.core.time.stops().empty());
  windows.apply(one.core);  // nothing follows the content of its blocks
}

TEST_CASE("a request that ends before its window is full never stops for it", "[window_moves]") {
  const OneWindow one(20);
  CHECK(one.core.time.stops().empty());
}

}  // namespace
}  // namespace headroom::window_moves_test
