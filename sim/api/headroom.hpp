#pragma once
// Headroom as a library: the one door for programs. Nothing here prints, writes files, ends the
// process or keeps global state, and no file is read but those that a scenario names (traces,
// tables of lengths). One Simulator serves several threads at once; a Scenario belongs to one
// thread at a time. Everything that goes wrong is an Error.
//
//   headroom::api::Simulator simulator;
//   auto scenario = headroom::api::Scenario::ready("demo");
//   scenario.set("engine.max_num_seqs", "64");
//   std::cout << simulator.run(scenario).metrics.at("p99_ttft_ms");

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::api {

// "0.3.0"
[[nodiscard]] std::string_view version();

// Wrong input, by its place; or a bug of Headroom (kind "internal").
class Error : public std::runtime_error {
 public:
  struct About {
    std::string kind = {};     // value, missing, unknown, no_effect, conflict, unsupported,
                               // unreadable, data (of a trace or table), internal
    std::string origin = {};   // who said it: the document's name, or "set"
    std::string pointer = {};  // JSON pointer of the value; empty: of no single one
    std::string value = {};    // as JSON, shortened; empty: of no single one
    std::string allowed = {};  // what is allowed there, or what is wrong
    std::string nearest = {};  // what was probably meant; empty: nothing is near
  };
  Error(const std::string& sentence, About about)
      : std::runtime_error(sentence), about_(std::move(about)) {}
  [[nodiscard]] const About& about() const { return about_; }

 private:
  About about_;
};

// A JSON document (comments allowed) that describes one system and its traffic; docs/scenarios.
class Scenario {
 public:
  // `name`: what errors call it. Files that it names are relative to `folder`; empty: the current.
  [[nodiscard]] static Scenario from_json(std::string_view text, std::string name = "scenario",
                                          std::string folder = {});
  // One that comes with Headroom: "demo".
  [[nodiscard]] static Scenario ready(const std::string& name);

  // `engine.max_num_seqs`, as --set takes it: `value` is JSON, or text where it is none.
  void set(std::string_view path, std::string_view value);
  // The requests of a trace (relative to the current folder) instead of the scenario's own.
  void replay(const std::string& trace);
  // As it was written, with what was set.
  [[nodiscard]] std::string json() const;

  Scenario(const Scenario& other);
  Scenario(Scenario&& other) noexcept;
  Scenario& operator=(Scenario other) noexcept;
  ~Scenario();

 private:
  friend class Simulator;
  struct Document;
  explicit Scenario(std::unique_ptr<Document> document);
  std::unique_ptr<Document> document_;
};

// The text of a study or a plan that comes with Headroom: "rate-curve", "chat-fleet".
[[nodiscard]] std::string ready_study(const std::string& name);
[[nodiscard]] std::string ready_plan(const std::string& name);

// A scenario from what is run already, as JSON. A command names neither the traffic nor (mostly)
// the device: "workload" and "device" are the caller's to add.
struct FromAnswer {
  std::string scenario;
  std::vector<std::string> unknown_flags;  // left out
  std::vector<std::string> ignored_flags;  // no effect on memory or scheduling
  std::vector<std::string> notes;          // what was assumed
};
// `vllm serve ...`, `docker run ...` and what else `headroom from` takes.
[[nodiscard]] FromAnswer from_command(std::string_view command);
// The text of a compose file; `service` may be empty when one of them runs a known engine.
[[nodiscard]] FromAnswer from_compose(std::string_view text, const std::string& service = {});

// An engine that scenarios may name, and how it spells what every engine has. Dotted paths of
// options; empty: it has none.
struct EngineAnswer {
  std::string name;
  std::string version;        // modelled by default
  std::string share_option;   // of the device's memory that it may use
  std::string batch_option;   // most requests at a time
  std::string length_option;  // of the longest request, in tokens
};
[[nodiscard]] std::vector<EngineAnswer> engines();

// The command that starts the scenario's engine.
struct CommandAnswer {
  std::string text;                   // empty: no command of this engine is known
  std::vector<std::string> no_flags;  // options that no flag says
};

// Where the text of a study or a plan is from.
struct Origin {
  std::string name = {};    // what errors call it; a study or a plan without a name takes its stem
  std::string folder = {};  // that file names in it are relative to; empty: the current one
};

// Progress, and how to stop.
struct Control {
  // The work ends soon after a stop is requested; what is done by then is complete.
  std::stop_token stop = {};
  // Called during the work, on the calling thread; `all` is 0 if it is unknown.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
  std::size_t threads = 1;  // for several runs: ask, compare, sweep, plan
  bool tables = false;      // run: keep a row of every request and sample (RunAnswer::tables)
};

// Names of metrics are those of `vllm bench serve` with their units: "p99_ttft_ms".
using Metrics = std::map<std::string, double>;

// One value of each row of a table, in the memory of the run itself.
template <typename Value>
struct Column {
  const Value* first = nullptr;
  std::size_t stride = 0;  // of rows, in values

  [[nodiscard]] const Value& operator[](std::size_t row) const { return first[row * stride]; }
};

// requests.csv: the requests of a run in order of arrival. Instants in ns; -1: not reached.
struct RequestColumns {
  std::size_t rows = 0;
  Column<std::uint8_t> class_id;
  Column<std::uint16_t> replica;  // 65535: turned away before any
  Column<std::int64_t> arrival_ns;
  Column<std::int64_t> queued_ns;
  Column<std::int64_t> first_scheduled_ns;
  Column<std::int64_t> first_token_ns;
  Column<std::int64_t> finish_ns;
  Column<std::int32_t> prompt_tokens;
  Column<std::int32_t> output_tokens;
  Column<std::int32_t> max_tokens;
  Column<std::uint16_t> preemptions;
  Column<std::uint8_t> outcome;  // its place in outcome_names()
};
[[nodiscard]] std::vector<std::string> outcome_names();

// timeline.csv: the state of each replica at a fixed interval and at each OOM, replica by replica.
struct TimelineColumns {
  std::size_t rows = 0;
  Column<std::int64_t> time_ns;
  Column<std::uint16_t> replica;
  Column<std::int64_t> running_requests;
  Column<std::int64_t> waiting_requests;
  Column<std::int64_t> kv_capacity_tokens;
  Column<std::int64_t> kv_used_tokens;
  Column<std::int64_t> kv_reserved_tokens;
  Column<std::int64_t> kv_internal_tokens;
  Column<std::int64_t> kv_external_tokens;
  Column<std::int64_t> kv_cached_tokens;
  Column<bool> oom;  // this row is of an OOM, not of the interval
};

// No request has a row where records are not kept (output.streaming) or nothing ran.
struct RunTables {
  RequestColumns requests;
  TimelineColumns timeline;
  std::shared_ptr<const void> memory;  // that the columns show
};

struct RunAnswer {
  bool started = false;  // false: the engine does not start, for want of memory
  std::string failure;   // why not
  std::string stop;      // drained, until, interrupted, ..., startup_oom: as in summary.json
  Metrics metrics;
  std::string digest;  // of every record: equal digests, equal results
  std::vector<std::string> warnings;
  std::string json;  // summary.json
  RunTables tables;  // with Control::tables
};

struct ContextAnswer {
  std::int64_t tokens = 0;    // of a request, prompt and output
  std::int64_t requests = 0;  // served together
  std::int64_t kv_bytes = 0;  // of one request, on the rank that keeps most
  std::string limit;          // blocks, max_num_seqs, does_not_fit, max_model_len
};
struct CapacityAnswer {
  bool starts = false;
  std::string failure;         // why not
  std::int64_t kv_tokens = 0;  // that the pool holds for requests
  std::vector<ContextAnswer> contexts;
  std::vector<std::string> warnings;
  std::string json;
};

struct FixAnswer {
  std::string option;  // "engine.max_model_len"
  std::string from;
  std::string to;
  std::string cost;  // none, limits, speed, quality, hardware
};
struct AuditAnswer {
  std::string verdict;                        // fits, does_not_start, ...
  std::map<std::string, std::int64_t> bytes;  // of device memory by purpose
  std::vector<FixAnswer> fixes;               // the smallest first
  std::string json;
};

// One metric of two scenarios over the replications; `half_width` of the 95 % interval.
struct DifferenceAnswer {
  double mean_a = 0;
  double mean_b = 0;
  double difference = 0;  // b less a
  double half_width = 0;
};
struct CompareAnswer {
  std::map<std::string, DifferenceAnswer> metrics;
  std::string json;
};

// A change of one option, with the largest load that holds then.
struct ChangeAnswer {
  std::string option;  // "engine.max_num_seqs"
  std::string to;      // JSON value
  std::string cost;    // none, limits, speed, quality, hardware
  double largest_load = 0;
  bool holds = false;  // the scenario's own load
};
struct AskAnswer {
  std::string verdict;                 // holds, tight, does_not_hold, does_not_start
  std::string reason;                  // in one sentence
  std::optional<double> largest_load;  // in the unit of the scenario's: requests/s, users, ...
  std::string binds;                   // pool, batch_limit, prefill, decode, ...
  std::vector<ChangeAnswer> changes;   // on the same devices; the best first
  std::vector<ChangeAnswer> hardware;  // with more or other devices
  std::string json;
};

struct SweepPoint {
  std::map<std::string, std::string> parameters;  // path -> JSON value
  std::int64_t replication = 0;
  std::string error;  // of a run that failed; empty: none
  Metrics metrics;
  std::string digest;
};

struct PlanAnswer {
  bool found = false;  // a fleet keeps every target
  std::string json;    // plan.json: the chosen fleet, the others, why they were left out
};

// What `tune` may change, and what counts.
struct TuneChoices {
  std::string targets = {};             // besides the scenario's slo: "p99_ttft=2s"
  std::string objective = "goodput";    // goodput, dollars, joules
  std::optional<double> price = {};     // $ for an hour of one device; else fleet.cost_per_hour
  std::vector<std::string> keep = {};   // options that stay as they stand: "engine.kv_cache_dtype"
  std::vector<std::string> tries = {};  // values of your own: "engine.quantization=fp8,int4"
  bool only_tries = false;              // no other options than these
  std::int64_t budget = 1000;           // runs of the search
  std::int64_t seed = 1;                // of the random configurations
};
struct SettingAnswer {
  std::string option;  // "engine.max_num_seqs"
  std::string to;      // JSON value
};
struct TuneAnswer {
  bool found = false;                   // a configuration holds some load
  std::optional<double> merit;          // of the best: a load, tokens/s, tokens/J, ...
  std::optional<double> gain;           // over the scenario as it stands, relative
  double gain_half_width = 0;           // of its interval of 95 %
  std::vector<SettingAnswer> settings;  // that make the best of the scenario
  std::string scenario;                 // with these, as JSON
  std::string command;                  // of the engine; empty: none is known
  std::string json;
};

struct AssertionAnswer {
  std::string scenario;         // its name
  std::string text;             // as it was given
  std::string verdict;          // holds, tight, broken
  std::optional<double> value;  // simulated; nothing: the run has no such figure
  double low = 0;               // where measured runs of similar systems would lie
  double high = 0;
};
struct CheckAnswer {
  bool holds = false;  // none is broken
  std::vector<AssertionAnswer> assertions;
  std::string json;
};

// Files of a deployment, by their names.
struct EmitAnswer {
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> not_said;  // options that were simulated, but that no file says
};
// "kubernetes", "helm-values", ...
[[nodiscard]] std::vector<std::string> deployment_forms();
// The text of a file, or of several, of a deployment: what scenarios read back from it.
[[nodiscard]] FromAnswer from_deployment(
    const std::vector<std::pair<std::string, std::string>>& files);

class Simulator {
 public:
  Simulator();  // with the catalog that comes with Headroom
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // The ids that scenarios may name, sorted.
  [[nodiscard]] std::vector<std::string> models() const;
  [[nodiscard]] std::vector<std::string> devices() const;
  [[nodiscard]] std::vector<std::string> environments() const;

  [[nodiscard]] CommandAnswer command(const Scenario& scenario) const;

  // Throw Error. Equal input gives equal bytes, whatever the number of threads.
  [[nodiscard]] RunAnswer run(const Scenario& scenario, const Control& control = {}) const;
  // How many requests of each length (prompt and output tokens, at least 1) fit, without traffic.
  [[nodiscard]] CapacityAnswer capacity(const Scenario& scenario,
                                        const std::vector<std::int64_t>& contexts) const;
  // Where device memory goes, and the smallest change with which `concurrency` requests of
  // `context` tokens fit. 0: the longest request that the engine takes.
  [[nodiscard]] AuditAnswer audit(const Scenario& scenario, std::int64_t context = 0,
                                  std::int64_t concurrency = 1) const;
  // Whether the scenario's load holds within `targets` ("p99_ttft=2s,p95_tpot=50ms"; may be empty),
  // by how much, and which changes help most. When stopped: empty.
  [[nodiscard]] AskAnswer ask(const Scenario& scenario, std::string_view targets,
                              const Control& control = {}) const;
  // The same traffic for both, `replications` (1 to 10,000) times with other seeds. When stopped:
  // empty.
  [[nodiscard]] CompareAnswer compare(const Scenario& a, const Scenario& b,
                                      std::int64_t replications = 5,
                                      const Control& control = {}) const;
  // The engine flags that serve most within the targets, found by simulation. When stopped: empty.
  [[nodiscard]] TuneAnswer tune(const Scenario& scenario, const TuneChoices& choices = {},
                                const Control& control = {}) const;
  // What must hold in every scenario: "p99_ttft_ms < 800", "oom == 0". When stopped: empty.
  [[nodiscard]] CheckAnswer check(const std::vector<Scenario>& scenarios,
                                  const std::vector<std::string>& assertions,
                                  const Control& control = {}) const;
  // The fleet of a scenario that starts, as files to deploy; their head says what was simulated.
  // When stopped: no files.
  [[nodiscard]] EmitAnswer emit(const Scenario& scenario, std::string_view form,
                                const Control& control = {}) const;
  // Every point of a study document without searches, in their order. When stopped: those done.
  [[nodiscard]] std::vector<SweepPoint> sweep(std::string_view study_json,
                                              const Control& control = {},
                                              const Origin& origin = {.name = "study"}) const;
  // The cheapest fleet of a plan document. When stopped: none is found and `json` is empty.
  [[nodiscard]] PlanAnswer plan(std::string_view plan_json, const Control& control = {},
                                const Origin& origin = {.name = "plan"}) const;

 private:
  struct Data;
  std::unique_ptr<const Data> data_;
};

}  // namespace headroom::api
