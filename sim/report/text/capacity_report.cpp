#include "sim/report/text/capacity_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "hardware/llm/parameters.hpp"
#include "sim/kernel/visible_text.hpp"
#include "sim/report/text/audit_report.hpp"
#include "sim/report/text/terminal.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom {
namespace {

using TableRow = std::vector<std::string>;

constexpr std::size_t kLabelWidth = 14;
constexpr std::size_t kBarWidth = 40;
constexpr std::size_t kMostLabel = 44;  // of a table's first column
constexpr std::string_view kMargin = "  ";

// "  label       text", wrapped at words.
std::string capacity_line(std::string_view label, std::string_view text) {
  const std::string margin(kMargin.size() + kLabelWidth, ' ');
  std::string out = fmt::format("{}{:<{}}", kMargin, label, kLabelWidth);
  std::size_t column = margin.size();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > margin.size() && column + 1 + word.size() > kCapacityWidth) {
      out += '\n' + margin;
      column = margin.size();
    } else if (column > margin.size()) {
      out += ' ';
      ++column;
    }
    for (; column + word.size() > kCapacityWidth; word.remove_prefix(kCapacityWidth - column)) {
      out += fmt::format("{}\n{}", word.substr(0, kCapacityWidth - column), margin);
      column = margin.size();
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string size_text(ByteCount bytes) {
  if (bytes >= ByteCount{1} << 20 || bytes < 1024) return human_bytes(bytes);
  return fmt::format("{:.2f} KiB", static_cast<double>(bytes) / 1024);
}

std::string gib_text(ByteCount bytes) { return fmt::format("{:.2f}", gib_from_bytes(bytes)); }

// Signed; a difference that rounds to nothing is none.
std::string difference_text(ByteCount bytes) {
  const std::string text = fmt::format("{:+.2f}", gib_from_bytes(bytes));
  return text == "-0.00" || text == "+0.00" ? "0.00" : text;
}

std::string range_text(const CapacityRange& range, const auto& text_of) {
  std::string typical = text_of(range.typical);
  if (range.is_one_value()) return typical;
  return fmt::format("{} ({}..{})", typical, text_of(range.low), text_of(range.high));
}

std::string engine_text(const Resolved& r) {
  const std::string version = r.scenario.engine.version.value_or("");
  return fmt::format("{}{}{}", r.engine->name, version.empty() ? "" : " ", version);
}

std::string device_text(const Resolved& r) {
  const std::int64_t devices = r.sharding.tensor * r.sharding.pipeline;
  return devices > 1 ? fmt::format("{} x {}", devices, r.device.id) : r.device.id;
}

// "max_model_len" of "engine.max_model_len".
std::string_view last_part(std::string_view option) { return option.substr(option.rfind('.') + 1); }

std::string limit_text(ContextLimit limit) {
  switch (limit) {
    case ContextLimit::blocks: return "blocks";
    case ContextLimit::max_num_seqs: return "max_num_seqs";
    case ContextLimit::does_not_fit: return "does not fit";
    case ContextLimit::max_model_len: return "longer than max_model_len";
  }
  return "";
}

// --- one system ---------------------------------------------------------------------------------

std::string header(const CapacityRow& row) {
  const Resolved& r = row.resolved;
  std::string text =
      fmt::format("{} on {}, {}, {}", r.model.id, device_text(r),
                  row.usable_fraction ? "no engine" : engine_text(r), r.environment.id);
  if (r.sharding.tensor > 1) text += fmt::format(", tensor parallel {}", r.sharding.tensor);
  if (r.sharding.pipeline > 1) text += fmt::format(", pipeline {}", r.sharding.pipeline);
  return clipped(text, kCapacityWidth) + "\n";
}

std::string bars(const MemoryBudget& budget) {
  std::string out;
  for (std::size_t i = 0; i < kMemoryPurposeCount; ++i) {
    const ByteCount bytes = budget.terms.bytes[i];
    if (bytes == 0 || budget.capacity_bytes == 0) continue;
    const auto purpose = static_cast<MemoryPurpose>(i);
    const bool unplaced = purpose == MemoryPurpose::margin && budget.failure.has_value();
    const double share = static_cast<double>(bytes) / static_cast<double>(budget.capacity_bytes);
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarWidth) + 0.5);
    out += fmt::format("{}{:<{}}{:<{}}{:>9} GiB{:>7.1f} %\n", kMargin,
                       unplaced ? "not allocated" : name_of(purpose), kLabelWidth,
                       std::string(filled, '#') + std::string(kBarWidth - filled, '.'), kBarWidth,
                       gib_text(bytes), share * 100);
  }
  out += fmt::format("{}{:<{}}{:>{}} GiB\n", kMargin, "device", kLabelWidth,
                     gib_text(budget.capacity_bytes), kBarWidth + 9);
  return out;
}

std::string pool_lines(const CapacityRow& row) {
  const MemoryBudget& b = row.budget;
  std::string out;
  if (!b.failure) {
    std::string pool = size_text(b.kv_pool_bytes);
    if (b.host_kv_bytes > 0) {
      const bool has_device = b.terms[MemoryPurpose::kv_pool] > 0;
      pool = fmt::format("{}{} in host memory", has_device ? pool + " and " : "",
                         size_text(b.host_kv_bytes));
    }
    if (b.layout.block_tokens > 1) {
      pool += fmt::format(" = {} blocks", human_count(b.total_blocks));
      // Where layers keep different things, tokens are what a request of the longest length gets.
      if (b.total_blocks * b.layout.block_tokens == b.kv_tokens) {
        pool += fmt::format(" x {} tokens", human_count(b.layout.block_tokens));
      }
    }
    pool += fmt::format(" = {} tokens", human_count(b.kv_tokens));
    if (b.usable_blocks < b.total_blocks) {
      pool += fmt::format("; {} blocks usable", human_count(b.usable_blocks));
    }
    out += capacity_line("KV pool", pool);
  }
  const TokenBytes& t = row.token;
  std::string text = size_text(b.layout.bytes_per_token);
  if (t.override_model) {
    text += fmt::format(" as given ({} B for the whole model); by geometry {} ({} B)",
                        *t.override_model, size_text(t.rank), human_count(t.model));
  } else if (b.layout.bytes_per_token != t.rank && !row.resolved.engine->traits.groups_layers) {
    text += fmt::format(" as this engine stores it; by geometry {}", size_text(t.rank));
  } else if (t.model != t.rank) {
    text += fmt::format(" per device, {} for the whole model", size_text(t.model));
  }
  const double saved = t.saved();
  text += saved > 0 ? fmt::format(" ({:.0f} % less than with all query heads)", saved * 100)
                    : std::string(" (as much as with all query heads)");
  out += capacity_line("KV per token", text);
  if (b.layout.state_bytes_per_sequence > 0) {
    out += capacity_line("state", size_text(b.layout.state_bytes_per_sequence) + " per sequence");
  }
  return out;
}

// With the change that makes the system start, where it may not.
const std::vector<ContextCapacity>& shown_contexts(const CapacityRow& row) {
  return row.cure ? row.cure->contexts : row.contexts;
}

std::string context_table(const CapacityRow& row) {
  if (row.contexts.empty()) return "";
  std::vector<TableRow> table{
      {"context", "KV per request", "requests together", "the pool alone", "limited by"}};
  for (const ContextCapacity& c : shown_contexts(row)) {
    table.push_back({human_count(c.tokens), size_text(c.kv_bytes), human_count(c.requests),
                     human_count(c.pool_holds), limit_text(c.limit)});
  }
  const std::string caption =
      row.cure ? fmt::format("{}with {} = {}:\n", kMargin, row.cure->fix.option, row.cure->fix.to)
               : "";
  return caption + table_text(table);
}

// "4 devices (TP 4)", "3 devices (PP 3)".
std::string devices_text(const CapacityRow& row, std::int64_t ranks) {
  const Sharding& own = row.resolved.sharding;
  const bool by_layers = row.weights.by_layers;
  const std::int64_t devices = ranks * (by_layers ? own.tensor : own.pipeline);
  if (by_layers && ranks == 1) return fmt::format("{} device{}", devices, devices == 1 ? "" : "s");
  return fmt::format("{} device{} ({} {})", devices, devices == 1 ? "" : "s",
                     by_layers ? "PP" : "TP", ranks);
}

// "no tensor parallel size up to 64 is large enough", where no size of the engine's kind `verb`.
std::string no_size_text(const WeightsVerdict& w, std::string_view verb) {
  if (w.most_ranks == 1) return "its machine has no second device";
  return fmt::format("no {} parallel size up to {} {}", w.by_layers ? "pipeline" : "tensor",
                     w.most_ranks, verb);
}

std::string weights_text(const CapacityRow& row) {
  const WeightsVerdict& w = row.weights;
  std::string text = fmt::format("{}: {} on {} per device", w.fit ? "fit" : "do not fit",
                                 size_text(w.wanted_bytes), size_text(w.available_bytes));
  if (w.host_bytes > 0) text += fmt::format(", {} stay in host memory", size_text(w.host_bytes));
  if (w.ranks_that_fit) {
    return fmt::format("{}; {}takes {}", text, w.host_bytes > 0 ? "without the host it " : "",
                       devices_text(row, *w.ranks_that_fit));
  }
  return fmt::format("{}; {}", text, no_size_text(w, "is enough"));
}

// Devices with which it starts, or that none are enough.
std::string devices_that_start(const CapacityRow& row) {
  const WeightsVerdict& w = row.weights;
  if (w.ranks_that_start) return "to start it, use " + devices_text(row, *w.ranks_that_start);
  const bool same = w.last_failure == row.budget.failure->message;
  return no_size_text(w, "starts") +
         (same || w.last_ranks == 0
              ? ""
              : fmt::format(": with {} {}", devices_text(row, w.last_ranks), w.last_failure));
}

std::string failure_text(const CapacityRow& row, const StartupFailure& failure) {
  const bool plain = failure.kind == StartupKind::startup;
  return fmt::format("DOES NOT START ({}{}{}): {}; {}", name_of(failure.stage), plain ? "" : ", ",
                     plain ? "" : name_of(failure.kind), start_reason(row.resolved, row.budget),
                     devices_that_start(row));
}

std::string pool_text(const CapacityRow& row) {
  if (keeps_no_kv(row.budget, row.resolved.model)) {
    return "an encoder, which keeps no KV of requests";
  }
  std::string text = fmt::format("{} tokens for requests", human_count(row.pool_tokens));
  if (row.usable_fraction || row.one_batch) return text;
  return text + fmt::format("; {:.2f} requests of {} tokens (max_model_len) by the engine's count",
                            row.budget.max_concurrency, human_count(row.max_model_len));
}

std::string verdict_lines(const CapacityRow& row) {
  std::string text;
  switch (row.start) {
    case StartVerdict::starts: text = "STARTS: " + pool_text(row); break;
    case StartVerdict::may_not_start:
      text = fmt::format("TIGHT: {}; {}", start_reason(row.resolved, row.budget), pool_text(row));
      break;
    case StartVerdict::does_not_start: text = failure_text(row, *row.budget.failure); break;
  }
  std::string out = capacity_line("verdict", text);
  if (row.cure) out += capacity_line("change", fix_text(row.cure->fix));
  return out;
}

std::string start_lines(const CapacityRow& row) {
  std::string out;
  for (const StartCase& s : row.starts) {
    if (row.starts.size() == 1 && s.kv_pool_bytes.is_one_value()) continue;
    out += capacity_line(
        s.first_start ? "first start" : "later start",
        fmt::format("KV pool {} GiB, {} tokens", range_text(s.kv_pool_bytes, gib_text),
                    range_text(s.kv_tokens, human_count)));
  }
  return out;
}

// A warning already shown in an earlier block is not repeated.
std::string warning_lines(const CapacityRow& row, std::set<std::string>& said) {
  std::string out;
  std::size_t again = 0;
  for (const std::string& warning : row.warnings) {
    if (said.insert(warning).second) {
      out += capacity_line("note", warning);
    } else {
      ++again;
    }
  }
  if (again > 0) out += capacity_line("note", fmt::format("{} as above", again));
  return out;
}

// --- comparisons --------------------------------------------------------------------------------

std::string start_label(const CapacityRow& row, const StartCase& start) {
  const bool told_apart = row.starts.size() > 1 || start.first_start;
  return row.resolved.environment.id + (!told_apart         ? ""
                                        : start.first_start ? ", first start"
                                                            : ", later start");
}

std::string environment_table(const std::vector<CapacityRow>& rows,
                              const std::vector<std::size_t>& group) {
  const CapacityRow& base = rows[group.front()];
  TableRow header{"environment", "KV GiB", "tokens", "difference GiB", "ratio"};
  for (const ContextCapacity& c : base.contexts) header.push_back("at " + human_count(c.tokens));
  std::vector<TableRow> table{header};
  const ByteCount reference = base.starts.front().kv_pool_bytes.typical;
  for (const std::size_t i : group) {
    for (const StartCase& start : rows[i].starts) {
      const ByteCount pool = start.kv_pool_bytes.typical;
      TableRow cells{start_label(rows[i], start),
                     start.starts ? range_text(start.kv_pool_bytes, gib_text) : "does not start",
                     range_text(start.kv_tokens, human_count), difference_text(pool - reference),
                     reference == 0 ? std::string("-")
                                    : fmt::format("{:.3f}", static_cast<double>(pool) /
                                                                static_cast<double>(reference))};
      for (const CapacityRange& n : start.requests) cells.push_back(range_text(n, human_count));
      table.push_back(std::move(cells));
    }
  }
  return fmt::format("environments: {}\n{}",
                     clipped(fmt::format("{} on {}, {}", base.resolved.model.id,
                                         device_text(base.resolved), engine_text(base.resolved)),
                             kCapacityWidth - 14),
                     table_text(table));
}

// What of model, device, engine and environment is not the same in all rows.
std::string differing(const std::vector<CapacityRow>& rows, const CapacityRow& row) {
  const auto parts = [](const CapacityRow& r) {
    return TableRow{r.resolved.model.id, device_text(r.resolved), engine_text(r.resolved),
                    r.resolved.environment.id};
  };
  const TableRow own = parts(row);
  std::string text;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool same =
        std::ranges::all_of(rows, [&](const CapacityRow& r) { return parts(r)[i] == own[i]; });
    if (!same) text += (text.empty() ? "" : ", ") + own[i];
  }
  return text.empty() ? own.front() : text;
}

// "ok", "tight", "OOM: weights"; behind it the change with which the requests are counted.
std::string start_text(const CapacityRow& row) {
  const auto& failure = row.budget.failure;
  std::string text = failure ? fmt::format("OOM: {}", name_of(failure->stage))
                     : row.start == StartVerdict::may_not_start ? "tight"
                                                                : "ok";
  if (row.cure) text += fmt::format("; {} {}", last_part(row.cure->fix.option), row.cure->fix.to);
  return text;
}

std::string system_table(const std::vector<CapacityRow>& rows) {
  TableRow header{"system", "KV GiB", "tokens"};
  for (const ContextCapacity& c : rows.front().contexts) {
    header.push_back("at " + human_count(c.tokens));
  }
  header.emplace_back("start-up");
  std::vector<TableRow> table{header};
  for (const CapacityRow& row : rows) {
    const auto& failure = row.budget.failure;
    TableRow cells{differing(rows, row), gib_text(failure ? 0 : row.budget.kv_pool_bytes),
                   human_count(row.pool_tokens)};
    for (const ContextCapacity& c : shown_contexts(row)) cells.push_back(human_count(c.requests));
    cells.push_back(start_text(row));
    table.push_back(std::move(cells));
  }
  return "systems: requests together by context\n" + table_text(table);
}

std::string heads_text(const ModelSpec& model) {
  std::set<std::string> shapes;
  for (const LayerKind& kind : model.kinds) {
    if (!kind.attention) continue;
    const AttentionSpec& a = *kind.attention;
    shapes.insert(a.mla ? fmt::format("{} / latent", a.q_heads)
                        : fmt::format("{} / {}", a.q_heads, a.kv_heads));
  }
  if (shapes.empty()) return "none";
  return shapes.size() == 1 ? *shapes.begin() : "several";
}

// One row per model: what grouped or latent heads save of the KV bytes of the whole model.
std::string heads_table(const std::vector<CapacityRow>& rows) {
  TableRow header{"model", "heads / KV heads", "KV per token"};
  for (const ContextCapacity& c : rows.front().contexts) {
    header.push_back("at " + human_count(c.tokens));
  }
  header.emplace_back("saved");
  std::vector<TableRow> table{header};
  std::set<std::string> seen;
  for (const CapacityRow& row : rows) {
    const std::string name = fmt::format("{}, {}", row.resolved.model.id, name_of(row.resolved.kv));
    if (!seen.insert(name).second) continue;
    TableRow cells{name, heads_text(row.resolved.model), size_text(row.token.model)};
    for (const ContextCapacity& c : row.contexts) cells.push_back(size_text(c.model_kv_bytes));
    cells.push_back(fmt::format("{:.0f} %", row.token.saved() * 100));
    table.push_back(std::move(cells));
  }
  if (table.size() < 3) return "";
  return "\nKV of one request, whole model; saved against keys and values for all query heads\n" +
         table_text(table);
}

}  // namespace

std::string table_text(std::vector<std::vector<std::string>> rows, std::size_t width) {
  if (rows.empty()) return "";
  for (TableRow& row : rows) {
    for (std::string& cell : row) cell = visible_text(cell);
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(row[i].size(), kMostLabel));
    }
  }
  std::string out;
  for (std::size_t first = 1; first < widths.size();) {
    std::size_t last = first;
    std::size_t used = kMargin.size() + widths[0];
    while (last < widths.size() && (last == first || used + 2 + widths[last] <= width)) {
      used += 2 + widths[last++];
    }
    for (const TableRow& row : rows) {
      out += fmt::format("{}{:<{}}", kMargin, clipped(row[0], kMostLabel), widths[0]);
      for (std::size_t i = first; i < last; ++i) {
        out += fmt::format("  {:>{}}", clipped(row[i], kMostLabel), widths[i]);
      }
      out += '\n';
    }
    first = last;
  }
  return out;
}

std::string capacity_text(const std::vector<CapacityRow>& rows) {
  std::string out;
  std::set<std::string> said;
  for (const CapacityRow& row : rows) {
    if (!out.empty()) out += '\n';
    out += header(row) + verdict_lines(row) + bars(row.budget) + pool_lines(row);
    out += context_table(row) + capacity_line("weights", weights_text(row)) + start_lines(row);
    out += warning_lines(row, said);
  }
  if (rows.size() < 2) return out;
  const std::vector<std::vector<std::size_t>> groups = environment_groups(rows);
  if (groups.size() != 1 || groups.front().size() != rows.size()) out += '\n' + system_table(rows);
  for (const std::vector<std::size_t>& group : groups) {
    out += '\n' + environment_table(rows, group);
  }
  return out + heads_table(rows);
}

}  // namespace headroom
