#include "tests/oracle/naive_ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "sim/kernel/check.hpp"

namespace headroom::oracle {
namespace {

constexpr TimeNs kMs = 1'000'000;

struct Counts {
  std::int64_t waiting = 0;
  std::int64_t running = 0;
  bool operator==(const Counts&) const = default;
};
using AllCounts = std::vector<Counts>;

// The loop of the coordinator: it polls its sockets, and publishes when a poll times out.
class Coordinator {
 public:
  explicit Coordinator(std::size_t ranks) : counts_(ranks) { poll(0); }

  // What has been published by `now`, the last of it; empty: nothing since the last call.
  [[nodiscard]] std::optional<AllCounts> published_by(TimeNs now) {
    std::optional<AllCounts> latest;
    while (times_out_ <= now) {
      if (last_step_) {
        latest = *last_step_;
        last_step_.reset();
      } else {
        latest = counts_;
        changed_ = false;
      }
      last_publish_ = times_out_;
      poll(times_out_);
    }
    return latest;
  }

  // A message of one rank, at the end of its step number `step`.
  void receive(std::size_t rank, const Counts& counts, std::int64_t step, TimeNs now) {
    if (step > latest_step_) {
      if (changed_) last_step_ = counts_;
      latest_step_ = step;
    }
    counts_[rank] = counts;
    changed_ = true;
    poll(now);
  }

 private:
  void poll(TimeNs now) {
    const TimeNs elapsed = now - last_publish_;
    const TimeNs wait_for = changed_ ? 100 * kMs : 5000 * kMs;
    const TimeNs least = last_step_ ? 0 : 50 * kMs;
    times_out_ = now + std::max(least, wait_for - elapsed);
  }

  AllCounts counts_;
  std::optional<AllCounts> last_step_;
  std::int64_t latest_step_ = -1;
  bool changed_ = false;
  TimeNs last_publish_ = 0;
  TimeNs times_out_ = 0;
};

// One API server's view of the ranks.
struct Client {
  AllCounts known;
  std::size_t start = 0;

  [[nodiscard]] std::size_t choose(std::int64_t clients) {
    std::int64_t least = INT64_MAX;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const std::size_t rank = (start + i) % known.size();
      const std::int64_t score = known[rank].waiting * 4 + known[rank].running;
      if (score < least) {
        least = score;
        chosen = rank;
      }
    }
    known[chosen].waiting += clients;
    return chosen;
  }
};

struct Sequence {
  TokenCount prompt = 0;
  TokenCount output = 0;
  TokenCount generated = 0;
  TokenCount computed = 0;
  BlockCount blocks = 0;
  TokenCount scheduled = 0;  // in the step
  bool decodes = false;      // all known tokens were computed once in this stay
  [[nodiscard]] TokenCount known() const { return prompt + generated; }
};

class Rank {
 public:
  Rank(const RankScenario& scenario, std::vector<Sequence>& all,
       std::vector<RequestResult>& results)
      : s_(scenario), all_(all), results_(results), free_(scenario.kv_blocks) {}

  void add(std::size_t id) { waiting_.push_back(id); }
  [[nodiscard]] Counts counts() const {
    return {static_cast<std::int64_t>(waiting_.size()), static_cast<std::int64_t>(running_.size())};
  }
  [[nodiscard]] bool is_idle() const { return waiting_.empty() && running_.empty(); }

  // What the rank computes in the next step; nothing: a dummy batch.
  [[nodiscard]] StepShape schedule(TimeNs now) {
    shape_ = {};
    TokenCount budget = s_.max_num_batched_tokens;
    bool preempted = false;
    for (const std::size_t id : running_) all_[id].scheduled = 0;
    for (std::size_t i = 0; i < running_.size() && budget > 0;) {
      const std::size_t id = running_[i];
      const TokenCount tokens = std::min(all_[id].known() - all_[id].computed, budget);
      bool fits = allocate(id, all_[id].computed + tokens);
      while (!fits) {
        const std::size_t victim = running_.back();
        preempt(victim);
        preempted = true;
        if (victim == id) break;
        fits = allocate(id, all_[id].computed + tokens);
      }
      if (!fits) break;
      compute(id, tokens, budget);
      ++i;
    }
    if (!preempted) admit(now, budget);
    return shape_;
  }

  // The step has ended.
  void update(TimeNs now) {
    for (const std::size_t id : running_) {
      Sequence& sequence = all_[id];
      sequence.computed += sequence.scheduled;
      if (sequence.scheduled == 0 || sequence.computed < sequence.known()) continue;
      sequence.decodes = true;
      ++sequence.generated;
      if (results_[id].first_token_ns < 0) results_[id].first_token_ns = now;
      if (sequence.generated < sequence.output) continue;
      results_[id].outcome = Outcome::finished;
      results_[id].finish_ns = now;
      results_[id].output_tokens = sequence.generated;
      free_ += sequence.blocks;
    }
    std::erase_if(running_, [&](std::size_t id) { return results_[id].finish_ns >= 0; });
  }

 private:
  [[nodiscard]] BlockCount blocks_for(TokenCount tokens) const {
    return (tokens + s_.block_size - 1) / s_.block_size;
  }
  bool allocate(std::size_t id, TokenCount tokens) {
    const BlockCount more = blocks_for(tokens) - all_[id].blocks;
    if (more > free_) return false;
    free_ -= more;
    all_[id].blocks += more;
    return true;
  }
  void preempt(std::size_t id) {
    running_.pop_back();
    free_ += all_[id].blocks;
    all_[id].blocks = all_[id].computed = all_[id].scheduled = 0;
    all_[id].decodes = false;
    ++results_[id].preemptions;
    waiting_.push_front(id);
  }
  void admit(TimeNs now, TokenCount& budget) {
    while (!waiting_.empty() && budget > 0 && running_.size() < s_.max_num_seqs) {
      const std::size_t id = waiting_.front();
      if (blocks_for(all_[id].known()) > free_) break;  // the whole prompt must fit
      const TokenCount tokens = std::min(all_[id].known(), budget);
      HEADROOM_CHECK(allocate(id, tokens), "a part of what fits does not fit");
      waiting_.pop_front();
      running_.push_back(id);
      if (results_[id].first_scheduled_ns < 0) results_[id].first_scheduled_ns = now;
      compute(id, tokens, budget);
    }
  }
  void compute(std::size_t id, TokenCount tokens, TokenCount& budget) {
    Sequence& sequence = all_[id];
    sequence.scheduled = tokens;
    budget -= tokens;
    const TokenCount context = sequence.computed;
    if (sequence.decodes) {
      ++shape_.decode_rows;
      shape_.decode_context += context + 1;
    } else {
      shape_.add_chunk(context, tokens);
    }
    if (context + tokens == sequence.known()) ++shape_.sampled_rows;
  }

  const RankScenario& s_;
  std::vector<Sequence>& all_;
  std::vector<RequestResult>& results_;
  BlockCount free_;
  std::deque<std::size_t> waiting_;
  std::vector<std::size_t> running_;
  StepShape shape_;
};

class Engine {
 public:
  explicit Engine(const RankScenario& scenario)
      : s_(scenario),
        sequences_(scenario.arrivals.size()),
        coordinator_(scenario.ranks),
        reported_(scenario.ranks),
        inbox_(scenario.ranks) {
    result_.requests.resize(scenario.arrivals.size());
    for (std::size_t i = 0; i < scenario.front_ends; ++i) {
      clients_.push_back({AllCounts(scenario.ranks), scenario.ranks * i / scenario.front_ends});
    }
    for (std::size_t i = 0; i < scenario.ranks; ++i) {
      ranks_.emplace_back(scenario, sequences_, result_.requests);
    }
  }

  RankResult run() {
    TickSum clock = 0;
    while (true) {
      const bool idle =
          std::ranges::all_of(ranks_, &Rank::is_idle) &&
          std::ranges::all_of(inbox_, [](const auto& requests) { return requests.empty(); });
      if (idle && next_ == s_.arrivals.size()) return std::move(result_);
      if (idle) clock = std::max(clock, ticks_from_ns(s_.arrivals[next_].time_ns));
      send_until(floor_ns(clock));
      clock += step(floor_ns(clock));
      const TimeNs end = floor_ns(clock);
      for (Rank& rank : ranks_) rank.update(end);
      // Whoever arrives while the step ends is sent before the reports are out.
      send_until(end);
      report(end);
    }
  }

 private:
  // Every rank waits for the others, with a batch or a dummy one.
  Ticks step(TimeNs now) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      for (const std::size_t id : inbox_[i]) ranks_[i].add(id);
      inbox_[i].clear();
    }
    std::vector<StepShape> shapes;
    TokenCount all = 0;
    for (Rank& rank : ranks_) {
      shapes.push_back(rank.schedule(now));
      all += shapes.back().decode_rows + shapes.back().chunk_tokens;
    }
    Ticks longest = 0;
    for (StepShape& shape : shapes) {
      if (shape.decode_rows + shape.chunk_rows == 0) continue;
      shape.all_rank_tokens = all;
      longest = std::max(longest, s_.cost(shape));
    }
    ++steps_;
    return longest;
  }

  void send_until(TimeNs now) {
    for (; next_ < s_.arrivals.size() && s_.arrivals[next_].time_ns <= now; ++next_) {
      const Arrival& arrival = s_.arrivals[next_];
      learn_until(arrival.time_ns);
      const std::size_t client = s_.front_end_of.empty() ? 0 : s_.front_end_of[next_];
      const std::size_t rank = clients_[client].choose(static_cast<std::int64_t>(clients_.size()));
      sequences_[next_] = {.prompt = arrival.prompt_tokens, .output = arrival.output_tokens};
      result_.requests[next_].queued_ns = arrival.time_ns;
      result_.rank_of.push_back(rank);
      inbox_[rank].push_back(next_);
    }
  }

  // Messages of one step come together: no poll times out between them.
  void report(TimeNs now) {
    learn_until(now);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const Counts counts = ranks_[i].counts();
      if (counts == reported_[i]) continue;
      reported_[i] = counts;
      coordinator_.receive(i, counts, steps_, now);
    }
  }

  void learn_until(TimeNs now) {
    const auto published = coordinator_.published_by(now);
    if (!published) return;
    for (Client& client : clients_) client.known = *published;
  }

  const RankScenario& s_;
  std::vector<Sequence> sequences_;
  std::vector<Rank> ranks_;
  std::vector<Client> clients_;
  Coordinator coordinator_;
  AllCounts reported_;
  std::vector<std::vector<std::size_t>> inbox_;  // by rank, read when a step begins
  std::size_t next_ = 0;
  std::int64_t steps_ = 0;
  RankResult result_;
};

}  // namespace

RankResult run_naive_ranks(const RankScenario& scenario) { return Engine(scenario).run(); }

}  // namespace headroom::oracle
