// What a workload must say, and what may not stand together. Ranges of single options are in their
// tables; what only the generators can judge (a rate that never comes back from zero) they refuse
// themselves.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sim/resolve/resolve.hpp"
#include "sim/scenario/options.hpp"
#include "sim/scenario/workload_laws.hpp"

namespace headroom {
namespace {

// Where the requests of a workload, or of a class, come from.
enum class Origin : std::uint8_t { none, trace, servegen, arrivals, closed_loop };

class WorkloadValidator {
 public:
  // `at`: "/workload" or "/workload/classes/<i>".
  WorkloadValidator(const Scenario& scenario, const WorkloadSection& workload, std::string at)
      : s_(scenario), w_(workload), at_(std::move(at)) {}

  void check_whole() const {
    if (given("share")) refuse("share", "only a class has a share of the arrivals");
    check_retries();
    check_beams();
    check_adapters();
    if (w_.classes.empty()) {
      const Origin origin = this->origin();
      if (origin == Origin::none) {
        missing("", "trace.file, or arrivals with num_requests, prompt and output");
      }
      check_requests(origin);
      return;
    }
    check_classes();
  }

 private:
  [[nodiscard]] std::string place(std::string_view name) const {
    return name.empty() ? at_ : fmt::format("{}/{}", at_, name);
  }
  [[nodiscard]] bool given(std::string_view name) const { return s_.is_given(place(name)); }
  [[nodiscard]] bool given_below(std::string_view name) const {
    return !s_.given_below(place(name)).empty();
  }
  [[noreturn]] void missing(std::string_view name, std::string_view wanted) const {
    s_.refuse_missing(place(name), wanted);
  }
  [[noreturn]] void refuse(std::string_view name, std::string_view why,
                           ErrorKind kind = ErrorKind::conflict) const {
    s_.refuse(place(name), why, kind);
  }
  [[noreturn]] void refuse_value(std::string_view name, std::string value,
                                 std::string_view allowed) const {
    s_.refuse_value(place(name), std::move(value), allowed);
  }
  [[noreturn]] void refuse_unused(std::string_view name, std::string_view why) const {
    s_.refuse_unused(place(name), why);
  }

  // The one origin; several are refused.
  [[nodiscard]] Origin origin() const {
    const bool traced = !w_.trace.file.empty();
    const bool pooled = !w_.servegen.directory.empty();
    const bool looped = w_.closed_loop.users.has_value();
    const bool drawn = given_below("prompt") || given_below("output") || w_.num_requests ||
                       w_.num_sessions || (given_below("arrivals") && !traced);
    if (given_below("trace") && !traced) missing("trace/file", "a trace file");
    if (given_below("servegen") && !pooled) missing("servegen/directory", "a client pool");
    if (given_below("closed_loop") && !looped) missing("closed_loop/users", "the number of users");
    if (traced && (drawn || looped || pooled)) {
      refuse("trace/file",
             "a trace has its own arrivals and lengths: remove arrivals, closed_loop, servegen, "
             "num_requests, prompt and output, or the trace");
    }
    if (pooled && (drawn || looped || given_below("arrivals"))) {
      refuse("servegen/directory",
             "a client pool has its own arrivals and lengths: remove arrivals, closed_loop, "
             "num_requests, prompt and output, or the pool");
    }
    if (looped && given_below("arrivals")) {
      refuse("closed_loop/users",
             "closed-loop users send when they have an answer: remove arrivals");
    }
    if (traced) return Origin::trace;
    if (pooled) return Origin::servegen;
    if (looped) return Origin::closed_loop;
    return drawn || given_below("arrivals") ? Origin::arrivals : Origin::none;
  }

  // Options that describe synthetic requests.
  void refuse_synthetic(std::string_view why) const {
    for (const char* name : {"joint_lengths", "length_correlation", "num_sessions", "duration_s"}) {
      if (given(name)) refuse_unused(name, why);
    }
    for (const char* name : {"system_prompts", "documents", "sessions", "patience"}) {
      if (given_below(name)) refuse_unused(name, why);
    }
  }

  void check_requests(Origin origin) const {
    check_max_tokens();
    if (origin == Origin::trace) return check_trace();
    if (origin == Origin::servegen) return refuse_synthetic(" with servegen");
    check_starts(origin);
    check_synthetic();
  }

  void check_starts(Origin origin) const {
    if (!w_.num_requests && !w_.num_sessions && !w_.duration_s) {
      missing("num_requests", "the number of requests to generate, or num_sessions, or duration_s");
    }
    if (origin == Origin::closed_loop) {
      check_duration("closed_loop/think_time", w_.closed_loop.think_time);
    } else {
      check_arrivals();
    }
  }

  void check_arrivals() const {
    const ArrivalsSection& a = w_.arrivals;
    const std::string& process = a.process;
    const auto need = [&](bool there, std::string_view name, std::string_view what) {
      if (!there) missing(fmt::format("arrivals/{}", name), what);
    };
    const bool rated = process != "all_at_once" && process != "mmpp" && process != "piecewise";
    if (rated) need(a.request_rate.has_value(), "request_rate", "requests per second");
    if (process == "on_off") {
      need(a.on_s.has_value(), "on_s", "seconds with requests");
      need(a.off_s.has_value(), "off_s", "seconds without");
    } else if (process == "mmpp") {
      need(!a.rates.empty(), "rates", "requests per second in each state");
      need(!a.sojourns_s.empty(), "sojourns_s", "mean seconds in each state");
    } else if (process == "piecewise") {
      need(!a.rates.empty(), "rates", "requests per second in each segment");
      need(a.durations_s.size() == a.rates.size(), "durations_s",
           fmt::format("as many as rates ({})", a.rates.size()));
    } else if (process == "ramp") {
      need(a.end_rate.has_value(), "end_rate", "requests per second after the ramp");
      need(a.ramp_s.has_value(), "ramp_s", "seconds");
    }
  }

  void check_synthetic() const {
    check_law("prompt", w_.prompt, true);
    check_law("output", w_.output, true);
    check_text("system_prompts", w_.system_prompts);
    check_text("documents", w_.documents);
    check_sessions();
    check_duration("patience/first_token", w_.patience.first_token);
    check_duration("patience/answer", w_.patience.answer);
    if (w_.joint_lengths && given("length_correlation")) {
      refuse_unused("length_correlation", " with joint_lengths");
    }
  }

  void check_sessions() const {
    if (!given_below("sessions")) return;
    check_law("sessions/turns", w_.sessions.turns, true);
    check_duration("sessions/think_time", w_.sessions.think_time);
    check_duration("sessions/tool_time", w_.sessions.tool_time);
    if (w_.sessions.tool_share > 0 && !given_below("sessions/tool_time")) {
      missing("sessions/tool_time", "how long the tools run");
    }
  }

  void check_text(const std::string& name, const SharedTextSection& text) const {
    if (!given_below(name)) return;
    if (!text.count) missing(name + "/count", "the number of different ones");
    check_law(name + "/tokens", text.tokens, true);
  }

  void check_trace() const {
    const TraceSection& t = w_.trace;
    refuse_synthetic(" with a trace");
    if (given("num_requests")) refuse_unused("num_requests", " with a trace: trace.limit");
    if (t.from_s && t.to_s && *t.to_s <= *t.from_s) {
      refuse_value("trace/to_s", fmt::to_string(*t.to_s),
                   fmt::format("expected above from_s = {}", *t.from_s));
    }
    if (t.copies == 1) {
      for (const char* name : {"trace/copy_shift_s", "trace/copies_share_prefixes"}) {
        if (given(name)) refuse_unused(name, " with one copy");
      }
    }
    if (given_below("trace/added_thinking_tokens")) {
      check_law("trace/added_thinking_tokens", t.added_thinking_tokens, true);
    }
    if (given_below("trace/long_documents")) {
      if (!given("trace/long_documents/share")) {
        missing("trace/long_documents/share", "the share of rows with a document");
      }
      check_law("trace/long_documents/tokens", t.long_documents.tokens, true);
    }
    if (given_below("arrivals")) check_arrivals();  // of rows or sessions without times
  }

  void check_law(const std::string& name, const LengthSection& law, bool needed) const {
    if (!given_below(name)) {
      if (needed) missing(name, "a law, e.g. {\"law\": \"fixed\", \"tokens\": 512}");
      return;
    }
    const auto need = [&](bool there, std::string_view option, std::string_view what) {
      if (!there) missing(fmt::format("{}/{}", name, option), what);
    };
    const auto is = [&](std::string_view one) { return law.law == one; };
    if (is("fixed")) need(law.tokens.has_value(), "tokens", "every value");
    if (is("empirical")) need(law.values.empty() != law.file.empty(), "values", "values or file");
    if (is("lognormal")) {
      need(law.median.has_value() != law.mean.has_value(), "median", "either median or mean");
      need(law.sigma.has_value(), "sigma", "standard deviation of ln");
    }
    if (is("normal") || is("gamma") || is("exponential") || is("geometric")) {
      need(law.mean.has_value(), "mean", "the mean");
    }
    if (is("normal")) need(law.stddev.has_value(), "stddev", "the standard deviation");
    if (is("gamma")) need(law.shape.has_value(), "shape", "mean^2 / variance");
    if (is("zipf")) need(law.exponent.has_value(), "exponent", "of P(k) ~ k^-exponent");
    if (is("uniform") || is("zipf")) need(law.max.has_value(), "max", "the largest value");
    if (law.max && *law.max < law.min.value_or(1)) {
      refuse_value(name + "/max", fmt::to_string(*law.max),
                   fmt::format("expected at least min = {}", law.min.value_or(1)));
    }
  }

  void check_duration(const std::string& name, const DurationSection& law) const {
    if (!given_below(name)) return;
    if (law.law == "uniform" && !law.max_s) missing(name + "/max_s", "the longest, in seconds");
    if (law.law != "uniform" && !law.mean_s) missing(name + "/mean_s", "the mean, in seconds");
    if (law.law == "lognormal" && !law.sigma) missing(name + "/sigma", "standard deviation of ln");
    if (law.law == "gamma" && !law.shape) missing(name + "/shape", "mean^2 / variance");
    if (law.max_s && *law.max_s < law.min_s.value_or(0)) {
      refuse_value(name + "/max_s", fmt::to_string(*law.max_s),
                   fmt::format("expected at least min_s = {}", law.min_s.value_or(0)));
    }
  }

  void check_retries() const {
    if (!given_below("retries")) return;
    const RetriesSection& r = w_.retries;
    if (!given("retries/max_attempts")) {
      missing("retries/max_attempts", "the most times a request is sent");
    }
    if (r.max_attempts == 1) {
      for (const char* name :
           {"retries/delay_s", "retries/backoff", "retries/jitter", "retries/on/lost_to_oom",
            "retries/on/rejected", "retries/on/cancelled"}) {
        if (given(name)) refuse_unused(name, " with one attempt");
      }
      return;
    }
    if (!r.delay_s) missing("retries/delay_s", "seconds from a failure to the next attempt");
    if (*r.delay_s <= 0) {
      for (const char* name : {"retries/backoff", "retries/jitter"}) {
        if (given(name)) refuse_unused(name, " without a delay");
      }
    }
    const bool patient = !may_give_up();
    if (given("retries/on/cancelled") && patient) {
      refuse_unused("retries/on/cancelled", " without patience: no client gives up");
    }
    if (!r.on.lost_to_oom && !r.on.rejected && (!r.on.cancelled || patient)) {
      refuse("retries/on", "no outcome is left to retry", ErrorKind::no_effect);
    }
  }

  void check_adapters() const {
    if (given_below("lora") && !w_.lora.count) missing("lora/count", "the number of adapters");
    if (given("lora/exponent") && w_.lora.count == 1) {
      refuse_unused("lora/exponent", ": there is one adapter");
    }
    for (const char* option : {"lora/exponent", "lora/rank"}) {
      if (given(option) && w_.lora.share == 0) {
        refuse_unused(option, ": no request uses an adapter (workload.lora.share)");
      }
    }
  }

  // The client of a beam search sends its own requests, so no other source may multiply or repeat
  // them.
  void check_beams() const {
    if (!w_.beam_width) return;
    if (w_.n > 1) refuse("beam_width", "a beam search gives one answer: remove n or beam_width");
    if (s_.engine.has_api_server()) {
      refuse("beam_width",
             "a beam search runs in the API server, whose model here has no beams: remove "
             "engine.api_server_count or beam_width");
    }
    if (w_.retries.max_attempts > 1) {
      refuse("beam_width", "a failed beam search is not retried: remove retries or beam_width");
    }
    if (w_.prompt_logprobs_share > 0) {
      refuse("beam_width",
             "a beam search does not request log-probabilities of its prompt: remove "
             "prompt_logprobs_share or beam_width");
    }
  }

  // Whether some client of the workload or of a class has a patience that ends.
  [[nodiscard]] bool may_give_up() const {
    bool may = given_below("patience");
    for (std::size_t i = 0; i < w_.classes.size(); ++i) {
      may |= !s_.given_below(class_pointer(i, "/patience")).empty();
    }
    return may;
  }

  void check_max_tokens() const {
    const MaxTokensSection& m = w_.max_tokens;
    if (m.rule == "value" && !m.value) missing("max_tokens/value", "tokens");
    if (m.rule == "per_class" && m.per_class.empty()) {
      missing("max_tokens/per_class", "a list of tokens");
    }
  }

  // Each class has requests of its own; those that do not say when they come share the arrivals, or
  // the users, of all.
  void check_classes() const {
    for (const char* name : {"trace", "servegen", "prompt", "output", "system_prompts", "documents",
                             "sessions", "patience"}) {
      if (given_below(name)) refuse(name, "with classes, set this in each class");
    }
    for (const char* name : {"name", "priority", "joint_lengths", "length_correlation"}) {
      if (given(name)) refuse(name, "with classes, set this in each class");
    }
    check_max_tokens();
    const bool shared = given_below("arrivals") || given_below("closed_loop");
    std::size_t sharing = 0;
    for (std::size_t i = 0; i < w_.classes.size(); ++i) {
      const WorkloadValidator one(s_, w_.classes[i].workload, class_pointer(i, ""));
      one.check_class(shared);
      sharing += one.shares() ? 1 : 0;
      for (std::size_t j = 0; j < i; ++j) {
        if (w_.classes[i].workload.name == w_.classes[j].workload.name) {
          one.refuse("name", fmt::format("class {} has the same", j));
        }
      }
    }
    if (shared && sharing == 0) {
      refuse(given_below("arrivals") ? "arrivals" : "closed_loop",
             "every class has its own arrivals, so no class uses these");
    }
    if (!shared) {
      for (const char* name : {"num_requests", "num_sessions", "duration_s"}) {
        if (given(name)) refuse(name, "needs arrivals or closed_loop shared by the classes");
      }
      return;
    }
    check_starts(origin());
  }

  // A class without its own arrivals.
  [[nodiscard]] bool shares() const {
    return w_.trace.file.empty() && w_.servegen.directory.empty() && !w_.closed_loop.users &&
           !given_below("arrivals");
  }

  void check_class(bool shared) const {
    if (w_.name.empty()) missing("name", "a name, which appears in the results");
    if (!w_.classes.empty()) refuse("classes", "a class has no classes");
    if (given_below("retries")) {
      refuse("retries", "clients of all classes retry alike: set this in the workload");
    }
    if (given("prompt_logprobs_share")) {
      refuse("prompt_logprobs_share", "a share of all requests: set this in the workload");
    }
    if (given_below("lora")) {
      refuse("lora", "adapters of all requests: set this in the workload");
    }
    if (given("n"))
      refuse("n", "all classes get the same number of answers: set this in the workload");
    if (given("beam_width")) {
      refuse("beam_width", "all classes have the same beam search: set this in the workload");
    }
    if (w_.max_tokens.rule == "per_class") {
      refuse("max_tokens/rule",
             "it lists one value per class, but this is a single class: use value",
             ErrorKind::value);
    }
    if (!shares()) {
      if (given("share")) refuse_unused("share", " with arrivals of its own");
      check_requests(origin());
      return;
    }
    if (!shared) missing("arrivals", "arrivals, closed_loop or a trace, here or for all classes");
    for (const char* name : {"num_requests", "num_sessions", "duration_s"}) {
      if (given(name)) refuse(name, "belongs to the arrivals that classes share");
    }
    check_max_tokens();
    check_synthetic();
  }

  const Scenario& s_;
  const WorkloadSection& w_;
  std::string at_;
};

}  // namespace

void validate_workload(const Scenario& scenario) {
  WorkloadValidator(scenario, scenario.workload, "/workload").check_whole();
}

}  // namespace headroom
