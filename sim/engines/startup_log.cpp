#include "sim/engines/startup_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/engines/engine_log.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/launch.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"

namespace headroom {
namespace {

// Which of two ranks' figures leaves less for KV.
struct FigureOrder {
  FoundNumber RankMemory::*field;
  bool largest;
};
constexpr std::array kFigures{
    FigureOrder{&RankMemory::total_gib, false},
    FigureOrder{&RankMemory::free_gib, false},
    FigureOrder{&RankMemory::requested_gib, false},
    FigureOrder{&RankMemory::weights_gib, true},
    FigureOrder{&RankMemory::activation_gib, true},
    FigureOrder{&RankMemory::non_torch_gib, true},
    FigureOrder{&RankMemory::consumed_gib, true},
    FigureOrder{&RankMemory::available_kv_gib, false},
    FigureOrder{&RankMemory::graph_gib, true},
    FigureOrder{&RankMemory::graph_estimate_gib, true},
    FigureOrder{&RankMemory::peak_gib, true},
    FigureOrder{&RankMemory::fraction, false},
    FigureOrder{&RankMemory::kv_gib, false},
    FigureOrder{&RankMemory::temporary_gib, false},
};

// The tighter of two figures, the first of equals or whichever there is.
const FoundNumber& tighter(const FigureOrder& order, const FoundNumber& a, const FoundNumber& b) {
  if (!a) return b;
  if (!b) return a;
  return (order.largest ? b->value > a->value : b->value < a->value) ? b : a;
}

// Below zero when `a` leaves less for KV than `b`.
int compare_ranks(const RankMemory& a, const RankMemory& b) {
  const auto compare = [](const FoundNumber& x, const FoundNumber& y) {
    if (!x || !y || x->value == y->value) return x && !y ? -1 : (!x && y ? 1 : 0);
    return x->value < y->value ? -1 : 1;
  };
  const int pool = compare(a.available_kv_gib ? a.available_kv_gib : a.kv_gib,
                           b.available_kv_gib ? b.available_kv_gib : b.kv_gib);
  if (pool != 0) return pool;
  for (const auto field : {&RankMemory::weights_gib, &RankMemory::non_torch_gib}) {
    if (a.*field && b.*field && (a.*field)->value != (b.*field)->value) {
      return (a.*field)->value > (b.*field)->value ? -1 : 1;
    }
  }
  return 0;
}

bool has_figures(const StartupLog& log) {
  return !log.ranks.empty() || log.kv_tokens || log.gpu_blocks || log.max_tokens || log.blocks;
}

// Lines that a server writes while it serves, up to millions of them.
bool is_traffic(std::string_view text) {
  return contains(text, "Avg prompt throughput:") || contains(text, "\"POST /") ||
         contains(text, "\"GET /");
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

// No device has more memory, shared memory included.
constexpr double kMostMemoryGib = 4096;

// A pool that the device cannot hold, or a negative one after which serving went on: a damaged log.
void check_pools(const StartupLog& log) {
  const FoundNumber& total = log.memory.total_gib;
  const double most = total && total->value > 0 ? total->value : kMostMemoryGib;
  for (const FoundNumber& pool : {log.memory.available_kv_gib, log.memory.kv_gib}) {
    if (!pool || (pool->value <= most && (pool->value >= 0 || log.failure))) continue;
    throw DataError(fmt::format("{}:{}: a KV cache of {:g} GiB, expected 0 to {:g} GiB{}", log.name,
                                pool->line, pool->value, most,
                                total ? ", the device's memory" : ""));
  }
}

struct Candidate {
  const Engine* engine;
  std::unique_ptr<StartupLogReader> reader;
};

std::vector<Candidate> log_readers() {
  std::vector<Candidate> readers;
  for (const Engine* engine : engines()) {
    if (engine->log != nullptr) readers.push_back({engine, engine->log->reader()});
  }
  return readers;
}

std::string titles(std::span<const Candidate> candidates) {
  std::string text;
  for (const Candidate& candidate : candidates) {
    if (!text.empty()) text += " or ";
    text += candidate.engine->launch->title;
  }
  return text;
}

std::string marks_of(std::span<const Candidate> candidates) {
  std::vector<std::string> marks;
  for (const Candidate& candidate : candidates) {
    for (const std::string_view mark : candidate.engine->log->marks) {
      marks.push_back(fmt::format("'{}'", mark));
    }
  }
  return comma_list(marks);
}

}  // namespace

RankMemory& memory_of(StartupLog& log, const LogLine& line) {
  const auto at = std::ranges::find(log.ranks, line.rank, &RankMemory::rank);
  if (at != log.ranks.end()) return *at;
  RankMemory memory;
  memory.rank = line.rank;
  return log.ranks.emplace_back(std::move(memory));
}

bool apply_rules(std::span<const MemoryRule> rules, const LogLine& line, StartupLog& log) {
  bool any = false;
  for (const MemoryRule& rule : rules) {
    std::array<double, 4> numbers{};
    if (!find_pattern(line.text, rule.pattern, numbers)) continue;
    any = true;
    for (std::size_t i = 0; i < rule.fields.size(); ++i) {
      if (rule.fields[i] != nullptr) {
        memory_of(log, line).*rule.fields[i] = {numbers[i], line.number};
      }
    }
  }
  return any;
}

bool apply_rules(std::span<const CountRule> rules, const LogLine& line, StartupLog& log) {
  bool any = false;
  for (const CountRule& rule : rules) {
    std::array<double, 3> numbers{};
    if (!find_pattern(line.text, rule.pattern, numbers)) continue;
    any = true;
    for (std::size_t i = 0; i < rule.fields.size(); ++i) {
      if (rule.fields[i] == nullptr) continue;
      log.*rule.fields[i] = {to_count(numbers[i]), line.number};
    }
  }
  return any;
}

void settle_ranks(StartupLog& log) {
  if (log.ranks.empty()) return;
  // Ranks that carry a tag are compared; without any, the one nameless rank is all there is.
  const auto tagged = [](const RankMemory& rank) { return !rank.rank.empty(); };
  const auto count = std::ranges::count_if(log.ranks, tagged);
  const RankMemory* tightest = nullptr;
  for (const RankMemory& rank : log.ranks) {
    // The driver process of V0 carries no tag and is a rank like its workers.
    const bool counts = tagged(rank) || rank.weights_gib || count == 0;
    if (!counts) continue;
    if (tightest == nullptr || compare_ranks(rank, *tightest) < 0) tightest = &rank;
  }
  if (tightest == nullptr) tightest = &log.ranks.front();
  log.memory = *tightest;
  for (const FigureOrder& figure : kFigures) {
    if (log.memory.*figure.field) continue;
    for (const RankMemory& rank : log.ranks) {
      log.memory.*figure.field = tighter(figure, log.memory.*figure.field, rank.*figure.field);
    }
  }
  const bool driver = std::ranges::any_of(
      log.ranks, [&](const RankMemory& rank) { return !tagged(rank) && rank.weights_gib; });
  log.rank_count = std::max<std::int64_t>(1, count + (driver ? 1 : 0));
}

StartupLog read_startup_log(std::istream& in, const std::string& name, bool needs_figures) {
  std::vector<Candidate> candidates = log_readers();
  LogLine line;
  std::string raw;
  std::string first;
  while (std::getline(in, raw)) {
    ++line.number;
    if (first.empty()) first = without_colours(raw);
    if (is_traffic(raw)) continue;
    line.text = without_colours(raw);
    line.rank = rank_of(line.text);
    for (const Candidate& candidate : candidates) candidate.reader->read(line);
  }
  if (line.number == 0)
    throw ConfigError(Complaint{.origin = name, .problem = "empty: not a start-up log"});
  // The first of those with most lines of their own.
  const auto best = std::ranges::max_element(candidates, {},
                                             [](const Candidate& c) { return c.reader->marks(); });
  if (best->reader->marks() == 0) {
    throw ConfigError(Complaint{
        .origin = name,
        .problem =
            fmt::format("not a start-up log of {}: {} lines without {}; the first line is '{}'",
                        titles(candidates), line.number, marks_of(candidates), shortened(first))});
  }
  StartupLog log = best->reader->finish();
  log.engine = best->engine;
  log.name = name;
  if (needs_figures && !has_figures(log) && !log.failure) {
    throw ConfigError(Complaint{
        .origin = name,
        .problem = fmt::format("a log of {} without memory figures in {} lines; missing: {}. Is it "
                               "truncated, or written at a log level above INFO?",
                               log.engine->launch->title, line.number, comma_list(log.missing))});
  }
  check_pools(log);
  if (log.starts > 1) {
    log.notes.push_back(fmt::format("{} start-ups in this file; the last is reported", log.starts));
  }
  return log;
}

bool holds_log_lines(std::string_view text) {
  return std::ranges::any_of(engines(), [&](const Engine* engine) {
    return engine->log != nullptr &&
           std::ranges::any_of(engine->log->marks,
                               [&](std::string_view mark) { return contains(text, mark); });
  });
}

FoundNumber reported_pool_gib(const StartupLog& log) {
  if (log.memory.available_kv_gib) return log.memory.available_kv_gib;
  return log.memory.kv_gib;
}

FoundNumber reported_share(const StartupLog& log) { return log.engine->log->share(log); }

std::optional<double> closure_gib(const StartupLog& log) {
  const FoundNumber pool = reported_pool_gib(log);
  if (!log.memory.total_gib || !pool) return std::nullopt;
  return log.engine->log->closure_gib(log, pool->value);
}

}  // namespace headroom
