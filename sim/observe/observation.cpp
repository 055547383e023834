#include "sim/observe/observation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace headroom {
namespace {

constexpr TimeNs kLate = 10 * kNsPerMs;
constexpr std::size_t kKindsOfProblems = 3;

using Requests = std::vector<ObservedRequest>;

std::int64_t count_of(const Requests& requests, auto is_such) {
  return std::ranges::count_if(requests, is_such);
}

bool is_finished(const ObservedRequest& request) { return request.outcome == Outcome::finished; }

// The most frequent problems first.
void note_problems(const Requests& requests, std::vector<std::string>& notes) {
  std::map<std::string, std::int64_t> counts;
  for (const ObservedRequest& request : requests) {
    if (!request.problem.empty()) ++counts[request.problem];
  }
  std::vector<std::pair<std::string, std::int64_t>> kinds(counts.begin(), counts.end());
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](const auto& kind) { return kind.second; });
  for (std::size_t i = 0; i < std::min(kinds.size(), kKindsOfProblems); ++i) {
    notes.push_back(fmt::format("{} requests failed: {}", kinds[i].second, kinds[i].first));
  }
  if (kinds.size() > kKindsOfProblems) {
    notes.push_back(fmt::format("and {} more kinds of failures (requests.csv)",
                                kinds.size() - kKindsOfProblems));
  }
}

void note_tokens(const Requests& requests, std::vector<std::string>& notes) {
  const auto other_prompt = count_of(requests, [](const ObservedRequest& request) {
    return is_finished(request) && request.prompt_tokens != request.sent.prompt_tokens;
  });
  const auto other_output = count_of(requests, [](const ObservedRequest& request) {
    return is_finished(request) && request.output_tokens != request.sent.output_tokens;
  });
  const auto no_sum = count_of(requests, [](const ObservedRequest& request) {
    return is_finished(request) && request.chunks > request.output_tokens;
  });
  if (other_prompt > 0) {
    notes.push_back(fmt::format(
        "{} prompts have another length than the workload's, by the server's count, which is used",
        other_prompt));
  }
  if (other_output > 0) {
    notes.push_back(
        fmt::format("{} answers have another length than the workload's", other_output));
  }
  if (no_sum > 0) {
    notes.push_back(
        fmt::format("{} answers came in more pieces than the server counts tokens: do not trust "
                    "its counts, nor "
                    "TPOT and tokens/s here",
                    no_sum));
  }
}

}  // namespace

std::string_view name_of(ObservationEnd end) {
  switch (end) {
    case ObservationEnd::complete: return "complete";
    case ObservationEnd::seconds: return "seconds";
    case ObservationEnd::interrupted: return "interrupted";
    case ObservationEnd::server_lost: return "server_lost";
  }
  return "";
}

std::vector<RequestRecord> Observation::records() const {
  std::vector<RequestRecord> list;
  list.reserve(requests.size());
  for (const ObservedRequest& request : requests) {
    list.push_back({.arrival_ns = request.sent_ns,
                    .first_token_ns = request.first_token_ns,
                    .finish_ns = request.last_token_ns,
                    .index = list.size(),
                    .prompt_tokens = request.prompt_tokens,
                    .output_tokens = request.output_tokens,
                    .outcome = request.outcome});
  }
  return list;
}

ServingMetrics Observation::metrics() const { return serving_metrics(records(), &itl, {}); }

std::int64_t Observation::count(Outcome outcome) const {
  return count_of(requests,
                  [outcome](const ObservedRequest& request) { return request.outcome == outcome; });
}

std::vector<std::string> Observation::notes() const {
  std::vector<std::string> notes = server.notes;
  note_problems(requests, notes);
  note_tokens(requests, notes);
  if (const std::int64_t cut = count(Outcome::unfinished); cut > 0) {
    notes.push_back(fmt::format("{} requests were cut off before their end", cut));
  }
  const auto late =
      count_of(requests, [](const ObservedRequest& request) { return request.late_ns() > kLate; });
  if (late > 0) {
    notes.push_back(fmt::format(
        "{} requests were sent more than {} ms late: this machine was too busy to keep the rate",
        late, kLate / kNsPerMs));
  }
  if (!load_problem.empty()) notes.push_back("/metrics: " + load_problem);
  return notes;
}

}  // namespace headroom
