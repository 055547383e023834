#pragma once
// The simulated deployment as something to talk to: takes requests when they come, and tells of
// their tokens when the simulated engine has them. Knows neither HTTP nor the wall clock: all times
// are simulated ones, and the caller says how late it is.

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hardware/catalog.hpp"
#include "sim/resolve/live_run.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/server/api_request.hpp"
#include "sim/server/output_lengths.hpp"
#include "sim/server/prompt_tree.hpp"
#include "sim/server/served_metrics.hpp"
#include "sim/serving/metrics_sink.hpp"
#include "workloads/traces/trace_record.hpp"

namespace headroom {

// What became of one answer. Exactly one of both texts is there.
struct AnswerEnd {
  std::string_view finish_reason = {};  // "stop", "length": the answer is complete
  int status = 200;                     // else what an HTTP server says of it,
  std::string_view problem = {};        // and why
};

// Who asked. Told of the answers to a request by their number, prompt by prompt and for each prompt
// n of them.
class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  // That answer has `tokens` more, and is not at its end.
  virtual void on_tokens(std::size_t answer, std::int32_t tokens) = 0;
  // It has its last `tokens` (>= 0), and is told of no more.
  virtual void on_end(std::size_t answer, std::int32_t tokens, const AnswerEnd& end) = 0;
};

// What the filler text of an answer is drawn from.
[[nodiscard]] constexpr std::uint64_t filler_seed(std::uint64_t request, std::size_t answer) {
  return request << 10 | answer;
}

struct EmulatorOptions {
  std::string served_model = {};  // as clients name it; empty: as the catalog does
  std::shared_ptr<const Tokenizer> tokenizer = {};  // of prompts; nullptr: the fixed rule
  bool keeps_records = false;  // for results and a trace; else memory does not grow with requests
};

class Emulator final : private MetricsSink {
 public:
  // `scenario`: as LiveRun; `lengths`: the scenario as it was given, whose workload says how long
  // answers are. Both and the catalog outlive this object.
  Emulator(const Scenario& scenario, const Scenario& lengths, const Catalog& catalog,
           EmulatorOptions options);

  // Known beforehand; budget.failure: the engine does not start, and nothing else may be called.
  [[nodiscard]] const RunResult& setup() const { return run_.setup(); }
  [[nodiscard]] const TokenRule& rule() const { return rule_; }
  [[nodiscard]] const ApiLimits& limits() const { return limits_; }

  // A request at `now_ns`, or as soon after as what has happened allows. Its answers are told to
  // `listener`, which outlives them, only by advance(). Returns its number.
  std::uint64_t ask(const CompletionAsk& ask, AnswerListener& listener, TimeNs now_ns);
  // Whoever asked has gone: nothing is told any more, and the engine drops what is left.
  void drop(std::uint64_t number, TimeNs now_ns);

  // Everything up to `now_ns`, in order.
  void advance(TimeNs now_ns);
  // When advance() has something to tell or to do next; kNever: after the next request.
  [[nodiscard]] TimeNs next_ns() const;

  // Those whose end has not been told.
  [[nodiscard]] std::size_t open_answers() const { return open_.size() + ends_.size(); }
  // Later prompts share nothing with earlier ones: the caches are empty.
  void forget_prefixes() { prompts_.forget(); }
  [[nodiscard]] bool is_up(TimeNs now_ns) const;  // some replica takes requests
  [[nodiscard]] std::string metrics_page(TimeNs now_ns) const;

  // The results; what is still here is served to its end at once, with nobody told. The last call.
  [[nodiscard]] RunResult finish();
  // The requests that came, in order: what `run` replays. Empty without keeps_records.
  [[nodiscard]] const std::vector<TraceRecord>& trace() const { return trace_; }

 private:
  // One answer that an engine works on.
  struct Open {
    AnswerListener* listener = nullptr;  // nullptr: it has gone
    std::uint64_t request = 0;
    std::size_t answer = 0;
    std::uint16_t replica = 0;  // the latest one that admitted it
    std::size_t place = 0;      // in on_replica_
    std::uint64_t index = 0;
    std::int32_t told = 0;    // tokens
    std::int32_t wanted = 0;  // tokens; as many as it may have: it ends for its length
    bool ends_by_length = false;
    TimeNs client_ns = 0;  // between client and engine
    TimeNs arrival_ns = 0;
    std::int32_t prompt_tokens = 0;
    TimeNs latest_ns = -1;          // of its tokens
    std::string_view refusal = {};  // why it is turned away, once that is known
    int refusal_status = 0;
  };
  // What clients are told at `time_ns`. One for each token: small, for they are moved about.
  struct Due {
    TimeNs time_ns = 0;
    std::uint64_t order = 0;
    AnswerListener* listener = nullptr;
    std::uint64_t request = 0;
    std::uint32_t answer = 0;
    std::int32_t tokens = 0;
    bool ends = false;  // ends_ has how, by `order`
  };
  struct Later {
    bool operator()(const Due& a, const Due& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.order > b.order;
    }
  };

  void on_steps(const StepRun&) override {}
  void on_request(const RequestRecord& record) override;
  void on_event(const EngineEvent& event) override;
  void on_idle(std::uint16_t, TickSum, const ReplicaState&) override {}

  void open(const CompletionAsk& ask, std::size_t answer, std::uint64_t request,
            const PromptTree::Found& prompt, AnswerListener& listener, TimeNs time_ns);
  void run_until(TimeNs time_ns);
  void step_to(TimeNs time_ns);
  [[nodiscard]] bool note_replicas();
  void note_tokens(TimeNs time_ns);
  [[nodiscard]] std::int32_t count_tokens(Open& open, std::int32_t tokens, TimeNs time_ns);
  void tell(const Open& open, std::int32_t tokens, TimeNs time_ns, const AnswerEnd* end = nullptr);
  void enter(Open& open, std::uint16_t replica);
  void exit(const Open& open);
  void settle(const RequestRecord& record);
  [[nodiscard]] AnswerEnd end_of(const Open& open, const RequestRecord& record) const;
  void deliver_until(TimeNs now_ns);

  EmulatorOptions options_;
  LiveRun run_;
  OutputLengths lengths_;
  TokenRule rule_;
  ApiLimits limits_;
  ServedMetrics metrics_;
  PromptTree prompts_;
  std::map<std::uint64_t, Open> open_;  // by number of the answer, which is its arrival's
  std::vector<std::vector<Open*>> on_replica_;
  std::vector<std::uint64_t> tokens_made_;  // by replica, as of note_replicas()
  std::vector<bool> has_news_;
  std::vector<RequestRecord> ended_;  // since step_to() last looked
  std::priority_queue<Due, std::vector<Due>, Later> due_;
  std::unordered_map<std::uint64_t, AnswerEnd> ends_;  // of those that are due
  std::uint64_t told_ = 0;                             // Due::order
  std::uint64_t requests_ = 0;
  TimeNs reached_ns_ = -1;
  std::vector<TraceRecord> trace_;
};

}  // namespace headroom
