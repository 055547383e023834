// Rates of decoding that reports give for one machine: so many equal requests at once, the tokens
// per second of all from the first token of any to the last of all, first ones not counted (the
// tg of llama-benchy; of one request: 1 / TPOT), and for one request optionally the rate at which
// its prompt was read. A row has the settings that the report names:
//   device, engine, model        as in a scenario
//   options                      of the engine, name=value pairs with semicolons between them
//   requests, prompt_tokens, output_tokens
//   decode_tokens_per_s, prefill_tokens_per_s (may be empty)
//   series                       what belongs together, e.g. one report
//   source                       where it was published and what was assumed

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/fidelity/measured_run.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

constexpr std::int64_t kMostRequests = 4096;
constexpr double kFastest = 1e9;  // tokens/s

// Numbers and flags as such, all else as text; so is a release, which only looks like a number.
Json value_of(std::string_view option, std::string_view text) {
  if (option == "version") return std::string(text);
  if (text == "true" || text == "false") return text == "true";
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && end == text.data() + text.size()) return whole;
  if (const std::optional<double> number = to_number(text)) return *number;
  return std::string(text);
}

Json engine_of(const FactRow& row) {
  Json engine{{"name", row.text("engine")}};
  std::string_view left = row.text("options");
  while (!left.empty()) {
    const std::string_view pair = left.substr(0, left.find(';'));
    left.remove_prefix(std::min(pair.size() + 1, left.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw DataError(
          fmt::format("{}:{}: options: '{}' is not name=value", row.file, row.line, pair));
    }
    const std::string_view option = pair.substr(0, equals);
    engine[std::string(option)] = value_of(option, pair.substr(equals + 1));
  }
  return engine;
}

}  // namespace

void read_decode_rates(std::istream& in, const std::string& name, const Catalog& catalog,
                       MeasuredRuns& result) {
  const std::vector<FactRow> rows =
      read_facts(in, name + "/decode_rates.csv",
                 {"series", "device", "engine", "model", "options", "requests", "prompt_tokens",
                  "output_tokens", "decode_tokens_per_s", "prefill_tokens_per_s", "source"});
  refuse_copies(rows);
  for (const FactRow& row : rows) {
    MeasuredRun run;
    const std::int64_t requests = count_in(row, "requests", 1, kMostRequests);
    const std::int64_t prompt = count_in(row, "prompt_tokens", 1, kMostMeasuredTokens);
    const std::int64_t output = count_in(row, "output_tokens", 2, kMostMeasuredTokens);
    run.data_set =
        fmt::format("{}/{} {}x{}/{}", name, row.text("series"), requests, prompt, output);
    run.scenario = recorded_system(fmt::format("{}:{}", row.file, row.line), row.text("model"),
                                   row.text("device"), engine_of(row));
    run.arrivals =
        batch_of(requests, static_cast<std::int32_t>(prompt), static_cast<std::int32_t>(output));
    run.at_the_engine = true;
    run.decoding_rate = true;
    run.measured = {{"output_throughput", number_in(row, "decode_tokens_per_s", 1e-3, kFastest)}};
    if (!row.text("prefill_tokens_per_s").empty()) {
      const double rate = number_in(row, "prefill_tokens_per_s", 1e-3, kFastest);
      run.measured.push_back({"mean_ttft_ms", 1e3 * static_cast<double>(prompt) / rate});
    }
    run.label = fmt::format("{} x {}/{} {}, {} on {}", requests, prompt, output, run.scenario.model,
                            row.text("engine"), row.text("device"));
    if (!catalog.has_model(run.scenario.model)) {
      result.excluded.push_back({run.data_set, run.scenario.model + " is not in the catalog"});
      continue;
    }
    result.runs.push_back(std::move(run));
  }
}

}  // namespace headroom
