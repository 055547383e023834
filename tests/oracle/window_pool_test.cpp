// Pools with windows against single ids in tables (docs/semantics.md 27), operation by operation.

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "sim/serving/kv_layout.hpp"
#include "tests/oracle/random_prompt.hpp"
#include "tests/oracle/window_pool.hpp"
#include "tests/support/repetitions.hpp"

namespace headroom::window_pool_test {
namespace {

constexpr RequestId kRequests = 10;
constexpr TokenCount kStepTokens = 40;

struct Shape {
  BlockCount blocks = 0;
  std::int32_t block_tokens = 4;
  bool plain_to_front = true;
  std::vector<oracle::NaiveWindow> windows;
  bool keeps_every = true;  // a group of layers
  bool drops_last = false;  // block of a hit
};

PagedKvOptions options_of(const Shape& shape) {
  KvLayout layout;
  layout.block_tokens = shape.block_tokens;
  if (shape.keeps_every) layout.groups = {{KvGroupKind::full, 4, shape.block_tokens, 0}};
  for (const oracle::NaiveWindow& window : shape.windows) {
    const KvGroupKind kind = window.chunked ? KvGroupKind::chunked : KvGroupKind::sliding;
    for (std::size_t i = 0; i < window.ids; ++i) {
      layout.groups.push_back({kind, 4, shape.block_tokens, window.tokens});
    }
  }
  return {.blocks = shape.blocks,
          .block_tokens = shape.block_tokens,
          .plain_to_front = shape.plain_to_front,
          .drops_last_match = shape.drops_last,
          .sequence = SequenceBlocks(layout, kStepTokens)};
}

class WindowPair {
 public:
  WindowPair(const Shape& shape, std::mt19937& random)
      : paged_(options_of(shape)),
        single_(shape.blocks, shape.block_tokens, kStepTokens, shape.plain_to_front, shape.windows,
                shape.keeps_every, shape.drops_last),
        random_(random),
        clients_(kRequests) {}

  void step() {
    if (!one_in(3)) begin_plan();
    const auto id = static_cast<RequestId>(random_() % kRequests);
    Client& client = clients_[id];
    if (client.state == State::gone) arrive(client);
    if (client.state == State::waiting) {
      admit(id, client);
    } else if (one_in(4)) {
      leave(id, client);
    } else if (client.held < client.request.known_tokens) {
      compute_chunk(id, client);
    } else {
      decode(id, client);
    }
    REQUIRE(paged_.pool().free_blocks == single_.free_blocks());
    REQUIRE(paged_.pool().cached_blocks == single_.cached_blocks());
    REQUIRE(paged_.pool().shared_blocks == single_.shared_blocks());
  }

  TokenCount hits = 0;      // tokens
  TokenCount cut_hits = 0;  // tokens that the group without a window would have found besides

 private:
  enum class State : std::uint8_t { gone, waiting, running };
  struct Client {
    Request request;
    std::vector<PrefixSegment> pieces;
    State state = State::gone;
    TokenCount held = 0;
    bool computed_now = false;  // a chunk, in the step planned last
    bool left_now = false;      // behind it
  };

  [[nodiscard]] bool one_in(unsigned n) { return random_() % n == 0; }
  [[nodiscard]] TokenCount up_to(TokenCount most) {
    return 1 + static_cast<TokenCount>(random_() % static_cast<unsigned>(most));
  }

  void begin_plan() {
    paged_.windows()->begin_plan();
    single_.begin_plan();
    for (Client& client : clients_) client.computed_now = client.left_now = false;
  }

  void arrive(Client& client) {
    client = {};
    client.request.index = arrivals_++;
    single_.introduce(client.request.index,
                      oracle::random_prompt(random_, 4, client.request, client.pieces));
    client.state = State::waiting;
  }

  void admit(RequestId id, Client& client) {
    const std::uint64_t index = client.request.index;
    if (client.left_now) begin_plan();
    const TokenCount known = client.request.known_tokens;
    const TokenCount cached = paged_.cached_prefix(id, client.request);
    REQUIRE(cached == single_.cached_prefix(index, known));
    const TokenCount hold = cached + up_to(std::min(known - cached, kStepTokens));
    const KvGrowth growth{.id = id,
                          .request = &client.request,
                          .cached_tokens = cached,
                          .hold_tokens = hold,
                          .fit_tokens = one_in(2) ? known : 0};
    const bool fits = paged_.try_grow(growth);
    REQUIRE(fits == (single_.needed_to_admit(index, cached, hold, known) <= single_.free_blocks()));
    if (!fits) return;
    hits += cached;
    cut_hits += single_.full_prefix(index, known) - cached;
    single_.admit(index, cached, hold, known);
    client.held = hold;
    client.state = State::running;
    client.computed_now = true;
  }

  void compute_chunk(RequestId id, Client& client) {
    if (client.computed_now) return;  // once in a step
    const TokenCount known = client.request.known_tokens;
    const TokenCount hold = client.held + up_to(std::min(known - client.held, kStepTokens));
    const bool fits = paged_.try_grow({.id = id, .request = &client.request, .hold_tokens = hold});
    REQUIRE(fits == single_.compute(client.request.index, client.held, hold, known));
    if (!fits) return;
    client.held = hold;
    client.computed_now = true;
  }

  void decode(RequestId id, Client& client) {
    if (client.computed_now) begin_plan();
    for (TokenCount left = up_to(12); left > 0; --left) {
      const bool crosses = client.held % paged_.pool().block_tokens == 0;
      if (crosses && client.held >= paged_.sequence().next_move(client.held)) {
        paged_.windows()->move(id, client.request, client.held + 1);
      }
      single_.move(client.request.index, client.held);
      REQUIRE(paged_.pool().cached_blocks == single_.cached_blocks());
      const BlockCount need = crosses ? paged_.sequence().ids_per_block(client.held) : 0;
      REQUIRE(need == single_.needed_to_decode(client.request.index, client.held));
      if (need > paged_.pool().free_blocks) return;
      paged_.take(need);
      single_.decode(client.request.index, client.held);
      ++client.held;
    }
  }

  void leave(RequestId id, Client& client) {
    const KvRelease how = one_in(2)   ? KvRelease::finished
                          : one_in(3) ? KvRelease::dropped
                                      : KvRelease::preempted;
    paged_.release(id, client.request, client.held, how);
    single_.release(client.request.index, client.held, how);
    client.state = how == KvRelease::finished ? State::gone : State::waiting;
    if (how != KvRelease::finished) ++client.request.preemptions;
    // The last token of one that decodes has not been fed.
    client.request.known_tokens =
        std::max(client.request.known_tokens, static_cast<std::int32_t>(client.held) + 1);
    client.held = 0;
    client.computed_now = false;
    client.left_now = true;
  }

  PagedKv paged_;
  oracle::WindowPool single_;
  std::mt19937& random_;
  std::vector<Client> clients_;
  std::uint64_t arrivals_ = 0;
};

void compare(const std::vector<oracle::NaiveWindow>& windows, bool keeps_every = true,
             bool drops_last = false) {
  const std::uint64_t pools = test::repetitions(400);
  TokenCount hits = 0;
  TokenCount cut_hits = 0;
  for (unsigned seed = 0; seed < pools; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Shape shape{.windows = windows, .keeps_every = keeps_every, .drops_last = drops_last};
    shape.block_tokens = seed % 2 == 0 ? 4 : 3;
    shape.blocks = 40 + static_cast<BlockCount>(random() % 200);
    shape.plain_to_front = seed % 3 != 0;
    WindowPair pair(shape, random);
    for (int i = 0; i < 150; ++i) pair.step();
    hits += pair.hits;
    cut_hits += pair.cut_hits;
  }
  REQUIRE(hits > 10 * static_cast<TokenCount>(pools));
  if (keeps_every) REQUIRE(cut_hits > static_cast<TokenCount>(pools) / 10);
}

TEST_CASE("a window's blocks equal single ids in tables, and what is found of them") {
  const TokenCount window = GENERATE(2, 9, 17, 40);
  compare({{window, 1, false}});
}

TEST_CASE("one window of all layers does so too") {
  const TokenCount window = GENERATE(2, 9, 17, 40);
  compare({{window, 1, false}}, false);
}

TEST_CASE("where the last block of a hit is computed again they do so too") {
  const TokenCount window = GENERATE(2, 9, 17, 40);
  compare({{window, 1, false}}, GENERATE(false, true), true);
  compare({{8, 1, false}, {window, 2, false}}, true, true);
}

TEST_CASE("windows of several groups, of several lengths and chunks of attention do so too") {
  compare({{16, 3, false}});
  compare({{8, 1, false}, {24, 2, false}});
  compare({{24, 1, true}});
}

// With blocks of 3 and of 4 tokens chunks of 10 and of 11 begin within a block; one of 11 touches a
// block more than it fills.
TEST_CASE("chunks of attention that are no whole blocks do so too") {
  compare({{10, 1, true}});
  compare({{11, 1, true}});
  compare({{10, 1, true}, {14, 2, true}});
}

}  // namespace
}  // namespace headroom::window_pool_test
