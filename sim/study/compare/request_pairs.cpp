#include "sim/study/compare/request_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace headroom {
namespace {

constexpr std::array<std::string_view, kStayPhases> kPhaseNames{"entry", "queue", "prefill",
                                                                "decode"};
constexpr std::array<std::string_view, kStayPhases> kMeanings{
    "before the engine's queue", "in the queue", "from the first chunk to the first token",
    "from the first token to the last"};

std::array<TimeNs, kStayPhases> phases_of(const RequestRecord& record) {
  return {record.queued_ns - record.arrival_ns, record.first_scheduled_ns - record.queued_ns,
          record.first_token_ns - record.first_scheduled_ns,
          record.finish_ns - record.first_token_ns};
}

RequestPair pair_of(const RequestRecord& a, const RequestRecord& b) {
  RequestPair pair;
  pair.index = a.index;
  pair.class_id = a.class_id;
  pair.prompt_tokens = a.prompt_tokens;
  pair.output_tokens = a.output_tokens;
  pair.outcome_a = a.outcome;
  pair.outcome_b = b.outcome;
  pair.preemptions_a = a.preemptions;
  pair.preemptions_b = b.preemptions;
  if (!pair.both_finished()) return pair;
  pair.e2el_a_ns = a.finish_ns - a.arrival_ns;
  pair.e2el_b_ns = b.finish_ns - b.arrival_ns;
  const auto phases_a = phases_of(a);
  const auto phases_b = phases_of(b);
  for (std::size_t i = 0; i < kStayPhases; ++i) pair.change_ns[i] = phases_b[i] - phases_a[i];
  return pair;
}

std::string difference(std::span<const RequestRecord> a, std::span<const RequestRecord> b) {
  if (a.size() != b.size()) {
    return fmt::format("{} requests arrived in A and {} in B", a.size(), b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].arrival_ns == b[i].arrival_ns && a[i].prompt_tokens == b[i].prompt_tokens) continue;
    return fmt::format(
        "request {} came at {:.3f} s with {} prompt tokens in A, at {:.3f} s with {} in B", i,
        static_cast<double>(a[i].arrival_ns) * 1e-9, a[i].prompt_tokens,
        static_cast<double>(b[i].arrival_ns) * 1e-9, b[i].prompt_tokens);
  }
  return {};
}

// More than 1 % and more than 1 ms.
bool differs(const RequestPair& pair) {
  const TimeNs size = std::abs(pair.change());
  return size > 1'000'000 && size > pair.e2el_a_ns / 100;
}

void count(const RequestPair& pair, RequestPairs& result) {
  const bool a = pair.outcome_a == Outcome::finished;
  const bool b = pair.outcome_b == Outcome::finished;
  if (a && !b) ++result.only_a_finished;
  if (b && !a) ++result.only_b_finished;
  if (!a || !b) return;
  ++result.both_finished;
  for (std::size_t i = 0; i < kStayPhases; ++i) {
    result.mean_change_ms[i] += static_cast<double>(pair.change_ns[i]) * 1e-6;
  }
  if (!differs(pair)) return;
  if (pair.change() < 0) {
    ++result.better;
  } else {
    ++result.worse;
    ++result.worse_by_cause[static_cast<std::size_t>(pair.cause())];
  }
}

std::vector<LengthQuarter> quarters_of(std::vector<RequestPair> finished) {
  std::ranges::sort(finished, {}, [](const RequestPair& pair) {
    return std::pair(pair.prompt_tokens, pair.index);
  });
  std::vector<LengthQuarter> quarters;
  for (std::size_t q = 0; q < 4; ++q) {
    const std::size_t first = finished.size() * q / 4;
    const std::size_t last = finished.size() * (q + 1) / 4;
    if (first == last) continue;
    LengthQuarter quarter{.shortest = finished[first].prompt_tokens,
                          .longest = finished[last - 1].prompt_tokens,
                          .requests = static_cast<std::int64_t>(last - first)};
    Int128 change_ns = 0;
    for (std::size_t i = first; i < last; ++i) change_ns += finished[i].change();
    quarter.mean_change_ms =
        static_cast<double>(change_ns) / static_cast<double>(quarter.requests) * 1e-6;
    quarters.push_back(quarter);
  }
  return quarters;
}

}  // namespace

std::string_view name_of(StayPhase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }
std::string_view meaning_of(StayPhase phase) { return kMeanings[static_cast<std::size_t>(phase)]; }

StayPhase RequestPair::cause() const {
  const bool slower = change() >= 0;
  const auto most = std::ranges::max_element(change_ns, [slower](TimeNs left, TimeNs right) {
    return slower ? left < right : right < left;
  });
  return static_cast<StayPhase>(most - change_ns.begin());
}

RequestPairs pair_requests(std::span<const RequestRecord> a, std::span<const RequestRecord> b,
                           std::size_t most_worst) {
  RequestPairs result;
  result.why_not = difference(a, b);
  if (!result.why_not.empty()) return result;
  result.requests = static_cast<std::int64_t>(a.size());
  std::vector<RequestPair> finished;
  std::vector<RequestPair> bad;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const RequestPair pair = pair_of(a[i], b[i]);
    count(pair, result);
    if (pair.both_finished()) finished.push_back(pair);
    const bool lost = pair.outcome_a == Outcome::finished && pair.outcome_b != Outcome::finished;
    if (lost || (pair.both_finished() && pair.change() > 0 && differs(pair))) bad.push_back(pair);
  }
  if (result.both_finished > 0) {
    for (double& mean : result.mean_change_ms) mean /= static_cast<double>(result.both_finished);
  }
  result.quarters = quarters_of(std::move(finished));
  std::ranges::sort(bad, [](const RequestPair& left, const RequestPair& right) {
    const auto rank = [](const RequestPair& pair) {
      return std::tuple(pair.both_finished(), -pair.change(), pair.index);
    };
    return rank(left) < rank(right);
  });
  if (bad.size() > most_worst) bad.resize(most_worst);
  result.worst = std::move(bad);
  return result;
}

}  // namespace headroom
