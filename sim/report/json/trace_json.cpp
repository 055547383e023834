// JSON of `headroom trace`; trace_report.hpp documents its keys.

#include <nlohmann/json.hpp>

#include "sim/report/json/json_text.hpp"
#include "sim/report/json/trace_json.hpp"

namespace headroom {
namespace {

using Json = nlohmann::ordered_json;

Json arrivals_json(const ArrivalStats& a) {
  if (a.arrivals == 0) return nullptr;
  return {{"rows", a.arrivals},
          {"first_ns", a.first_ns},
          {"span_ns", a.span_ns},
          {"rate_per_s", optional_json(a.rate_per_s)},
          {"gap_cv", optional_json(a.gap_cv)},
          {"peak_to_mean", optional_json(a.peak_to_mean)},
          {"peak_minute_rows", a.peak_minute_arrivals},
          {"minutes", a.minutes},
          {"empty_minutes", a.empty_minutes},
          {"tie_rows", a.ties},
          {"longest_silence_ns", a.longest_silence_ns}};
}

Json lengths_json(const LengthStats& s) {
  Json powers = Json::array();
  for (std::size_t k = 0; k < s.rows_by_power.size(); ++k) {
    if (s.rows_by_power[k] == 0) continue;
    powers.push_back({{"from_tokens", first_of_power(k)},
                      {"to_tokens", first_of_power(k + 1) - 1},
                      {"rows", s.rows_by_power[k]}});
  }
  return {{"sum_tokens", s.sum_tokens}, {"mean_tokens", s.mean_tokens},
          {"p50_tokens", s.p50_tokens}, {"p90_tokens", s.p90_tokens},
          {"p99_tokens", s.p99_tokens}, {"max_tokens", s.max_tokens},
          {"rows_by_tokens", powers}};
}

Json rows_json(const RowsProfile& rows) {
  Json ratio = nullptr;
  if (rows.output.sum_tokens > 0) {
    ratio =
        static_cast<double>(rows.input.sum_tokens) / static_cast<double>(rows.output.sum_tokens);
  }
  return {{"rows", rows.rows},
          {"arrivals", arrivals_json(rows.arrivals)},
          {"input", lengths_json(rows.input)},
          {"output", lengths_json(rows.output)},
          {"input_tokens_per_output_token", ratio}};
}

Json classes_json(const std::vector<ClassRows>& classes) {
  Json list = Json::array();
  for (const ClassRows& one : classes) list.push_back({{"class", one.name}, {"rows", one.rows}});
  return list;
}

Json sessions_json(const SessionProfile& s) {
  if (s.sessions == 0) return nullptr;
  return {{"sessions", s.sessions},
          {"rows", s.rows},
          {"p50_turns", s.p50_turns},
          {"max_turns", s.max_turns}};
}

Json turns_json(const SessionTurns& turns) {
  if (turns.whole + turns.added == 0) return nullptr;
  return {{"whole_rows", turns.whole}, {"added_rows", turns.added}};
}

Json prefix_json(const PrefixProfile& p) {
  if (p.rows == 0) return nullptr;
  return {{"block_tokens", PrefixShare::kBlockTokens},
          {"rows", p.rows},
          {"prefix_tokens", p.prefix_tokens},
          {"hit_tokens", p.hit_tokens},
          {"hit_share", p.hit_share}};
}

Json measured_json(const std::optional<MeasuredProfile>& m) {
  if (!m) return nullptr;
  return {{"rows", m->rows},     {"mean_ms", m->mean_ms}, {"p50_ms", m->p50_ms},
          {"p90_ms", m->p90_ms}, {"p99_ms", m->p99_ms},   {"max_ms", m->max_ms}};
}

Json reservations_json(const Reservations& all) {
  if (all.rules.empty()) return nullptr;
  Json rules = Json::array();
  for (const Reservation& one : all.rules) {
    rules.push_back({{"rule", name_of(one.rule)},
                     {"limit_tokens", optional_json(one.limit_tokens)},
                     {"mean_reserved_tokens", one.mean_reserved_tokens},
                     {"requests_at_once", one.requests_at_once},
                     {"relative_to_true_output", one.relative_to_true_output},
                     {"cut_requests", one.cut_answers},
                     {"refused_requests", one.refused_requests}});
  }
  return {{"requests", all.requests},
          {"pool_tokens", all.kv_tokens},
          {"max_model_len_tokens", all.max_model_len},
          {"rules", rules}};
}

Json odd_json(const OddRows& odd) {
  const auto place = [](std::int64_t at) { return at > 0 ? Json(at) : Json(nullptr); };
  return {{"rows", odd.rows},
          {"first_row", place(odd.first_row)},
          {"first_line", place(odd.first_line)}};
}

}  // namespace

std::string_view name_of(TraceClock clock) {
  switch (clock) {
    case TraceClock::absolute: return "absolute";
    case TraceClock::per_session: return "per_session";
    case TraceClock::none: return "none";
  }
  return "";
}

std::string trace_profile_json(const TraceProfile& p) {
  return json_text(
      {{"file", p.file},
       {"format", p.format},
       {"clock", name_of(p.clock)},
       {"backward_step_rows", p.backward_steps},
       {"held_in_memory", p.in_memory},
       {"warning", p.warning.empty() ? Json(nullptr) : Json(p.warning)},
       {"all", rows_json(p.all)},
       {"without_zero_tokens", rows_json(p.left)},
       {"zero_token_rows",
        {{"without_prompt_rows", p.zero.prompt_only},
         {"without_output_rows", p.zero.output_only},
         {"without_both_rows", p.zero.both}}},
       {"thinking_tokens", p.thinking_tokens},
       {"closed_loop_rows", p.closed_loop_rows},
       {"timeless_rows", p.timeless_rows},
       {"classes", classes_json(p.classes)},
       {"sessions", sessions_json(p.sessions)},
       {"later_turns", turns_json(p.session_turns)},
       {"prefix", prefix_json(p.prefix)},
       {"measured", {{"ttft", measured_json(p.ttft)}, {"e2el", measured_json(p.e2el)}}},
       {"reservations", reservations_json(p.reservations)}});
}

std::string trace_check_json(const TraceCheck& check) {
  return json_text({{"file", check.file},
                    {"format", check.format},
                    {"clock", name_of(check.clock)},
                    {"rows", check.rows},
                    {"usable_rows", check.usable_rows},
                    {"backward_steps", odd_json(check.backward_steps)},
                    {"ties", odd_json(check.ties)},
                    {"without_prompt", odd_json(check.zero_prompt)},
                    {"without_output", odd_json(check.zero_output)},
                    {"without_both", odd_json(check.zero_both)},
                    {"later_turns", turns_json(check.session_turns)},
                    {"warning", check.warning.empty() ? Json(nullptr) : Json(check.warning)}});
}

}  // namespace headroom
