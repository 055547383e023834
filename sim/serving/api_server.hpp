#pragma once
// The processes between the clients and an engine: each request passes them before it is queued,
// each token on its way out (docs/semantics.md, "The API server"). Together they are one server
// that takes all its work in the order in which it comes.
//
// Nothing that comes later can delay what is already there, so every instant below is known as soon
// as its work is. Callers tell of steps, requests and answers in the order of time; steps may be
// told in runs of any length.

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "sim/serving/metrics_sink.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

// Sums over servers.
struct ApiServerUse {
  TickSum busy = 0;  // of `span`, at work
  TickSum span = 0;  // first sending to last one; to the end of all work if all were sent at once
  TickSum backlog = 0;  // greatest, of any server

  ApiServerUse& operator+=(const ApiServerUse& other);
};
[[nodiscard]] double utilisation(const ApiServerUse& use);
// Hardly ever idle while requests came, for a second at least: what clients see is the server, not
// the engine.
[[nodiscard]] bool is_saturated(const ApiServerUse& use);
[[nodiscard]] double backlog_s(const ApiServerUse& use);

class ApiServer {
 public:
  // Until when a client waits for the first token, and for the whole answer.
  struct Patience {
    TimeNs first_token_ns = kNever;
    TimeNs answer_ns = kNever;
  };

  explicit ApiServer(const ApiServerOptions& options);

  struct Ready {
    TimeNs time_ns = 0;
    std::uint64_t index = 0;  // of the request, in order of sending
    Arrival arrival;
  };
  // A client sends a request, or it comes with the prompt sent before it in this ns. If its
  // patience ends before its turn, the engine never sees it.
  void send(const Arrival& arrival, std::uint64_t index, std::uint16_t replica, TimeNs now_ns);
  [[nodiscard]] TimeNs next_ready_ns() const {
    return ready_.empty() ? kNever : ready_.top().time_ns;
  }
  // The next request that enters the engine's queue by now.
  [[nodiscard]] std::optional<Ready> take_ready(TimeNs now_ns);
  // The engine has queued it as `id`.
  void queued(RequestId id, const Arrival& arrival);
  [[nodiscard]] static Patience patience_of(const Arrival& arrival) {
    return {arrival.first_token_deadline_ns, arrival.deadline_ns};
  }
  [[nodiscard]] const Patience& patience_of(RequestId id) const { return patience_.at(id); }

  // `steps` steps have ended, the first of `first` ticks from `begin` on, each next one `slope`
  // longer, and each produced `tokens`.
  void put_out(TickSum begin, StepCount steps, Ticks first, Ticks slope, std::int64_t tokens);
  // Of these steps: from the tokens before to those of each of them, as clients see it.
  [[nodiscard]] std::span<const GapRun> gaps() const { return gaps_; }
  // When the latest step's tokens were written to the clients,
  [[nodiscard]] TickSum written() const { return written_; }
  // and when a client has them.
  [[nodiscard]] TimeNs received_ns() const { return floor_ns(written_ + token_.own) + network_ns_; }

  // A request has left the engine at `instant`. It leaves the system when its client knows, or has
  // given up.
  void answer(const RequestRecord& record, const Patience& patience, TickSum instant);
  [[nodiscard]] TimeNs next_answer_ns() const {
    return answers_.empty() ? kNever : answers_.top().time_ns;
  }
  [[nodiscard]] std::optional<RequestRecord> take_answer(TimeNs now_ns);

  // Requests that have not entered the engine yet, or have left it and not the system.
  [[nodiscard]] std::size_t held() const { return ready_.size() + answers_.size(); }
  // Prompts of those that have not entered.
  [[nodiscard]] TokenCount held_tokens() const { return ready_tokens_; }
  // Records of those, unfinished, when the run ends at `now_ns`.
  [[nodiscard]] std::vector<RequestRecord> stop(std::uint16_t replica, TimeNs now_ns);
  [[nodiscard]] ApiServerUse use() const;

 private:
  struct LaterReady {
    bool operator()(const Ready& a, const Ready& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.index > b.index;
    }
  };
  struct Answer {
    TimeNs time_ns = 0;
    std::uint64_t number = 0;  // in order of leaving the engine
    RequestRecord record;
  };
  struct LaterAnswer {
    bool operator()(const Answer& a, const Answer& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.number > b.number;
    }
  };
  // Steps still to come in `put_out`, from the end of the one before.
  struct Steps {
    TickSum since = 0;
    StepCount left = 0;
    Ticks duration = 0;  // of the next one
    Ticks slope = 0;

    [[nodiscard]] TickSum last(StepCount count) const;  // how long the next `count` take
    void skip(StepCount count);
  };

  static void check_delay(TickSum ticks);
  void add_work(TickSum instant, TickSum ticks);
  void take_prompt(const Arrival& arrival, TimeNs now_ns);
  void queue_answer(TimeNs time_ns, const RequestRecord& record);
  static void give_up(RequestRecord& seen, const Patience& patience);
  void put_out_while_busy(Steps& steps, TickSum work);
  void put_out_while_idle(Steps& steps, TickSum work);

  // An item of work: its share of the capacity of all processes (its time / count), and the extra
  // time because a single process does it.
  struct Item {
    Ticks shared = 0;
    Ticks own = 0;
  };
  [[nodiscard]] static Item item_of(Ticks ticks, std::int64_t processes);
  Item request_;
  Item prompt_token_;
  Item token_;
  Item answer_;
  TimeNs network_ns_ = 0;

  TickSum free_at_ = 0;  // all work so far is done
  TickSum written_ = 0;
  std::vector<GapRun> gaps_;
  std::priority_queue<Ready, std::vector<Ready>, LaterReady> ready_;
  TokenCount ready_tokens_ = 0;  // of their prompts
  std::priority_queue<Answer, std::vector<Answer>, LaterAnswer> answers_;
  std::uint64_t answered_ = 0;
  std::vector<Patience> patience_;  // by RequestId
  std::uint64_t latest_prompt_ = 0;
  TimeNs latest_ready_ns_ = 0;

  TimeNs first_sent_ns_ = kNever;
  TimeNs last_sent_ns_ = 0;
  TickSum work_ = 0;                 // all that came
  TickSum done_when_last_sent_ = 0;  // of it, what was done then
  TickSum backlog_ = 0;
};

}  // namespace headroom
