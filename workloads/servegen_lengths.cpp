#include "workloads/servegen_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/kernel/check.hpp"
#include "sim/kernel/errors.hpp"
#include "sim/kernel/time.hpp"
#include "workloads/dict_literal.hpp"
#include "workloads/traces/decimal.hpp"
#include "workloads/traces/trace_document.hpp"

namespace headroom {
namespace {

using Kind = JsonNode::Kind;

// Probabilities are kept as integers: their sums are exact and the same everywhere.
constexpr std::int64_t kProbabilityUnits = 1'000'000'000'000'000;
constexpr std::int64_t kToleratedError = kProbabilityUnits / 1'000'000;  // as ServeGen's own check

constexpr std::int32_t kMostPieces = 10'000;  // each is drawn

struct Field {
  enum class Role : std::uint8_t { prompt, output, reason, count, tokens };
  std::string_view name;
  Role role;
  std::size_t media = 0;
};

constexpr std::array<Field, 10> kFields = {{{"input_tokens", Field::Role::prompt},
                                            {"text_tokens", Field::Role::prompt},
                                            {"output_tokens", Field::Role::output},
                                            {"reason_ratio", Field::Role::reason},
                                            {"image_count", Field::Role::count, 0},
                                            {"image_tokens", Field::Role::tokens, 0},
                                            {"audio_count", Field::Role::count, 1},
                                            {"audio_tokens", Field::Role::tokens, 1},
                                            {"video_count", Field::Role::count, 2},
                                            {"video_tokens", Field::Role::tokens, 2}}};

// What a dict says: its values with a probability above 0.
struct Dict {
  std::vector<std::int32_t> values;
  std::vector<std::int64_t> probabilities;
  std::int32_t keys = 0;
};

std::int64_t read_probability(const TraceDocument& at, std::string_view text) {
  const std::optional<std::int64_t> units = parse_scaled_decimal(text, kProbabilityUnits);
  if (units && *units >= 0 && *units <= kProbabilityUnits + kToleratedError) return *units;
  at.refuse(fmt::format("probabilities in 0 .. 1, not '{}'", text.substr(0, 40)));
}

// The dict in the text. Its keys are whole numbers, or bins that count by their place.
Dict read_dict(const TraceDocument& at, bool by_place) {
  std::optional<DictItems> items;
  if (at.kind() == Kind::text) items = parse_dict_literal(at.text());
  if (!items) at.refuse("a dict such as {45: 0.25, 46: 0.75}");
  Dict dict;
  Int128 sum = 0;
  std::int64_t previous = -1;
  for (const auto& [key, text] : *items) {
    constexpr std::int64_t kKeyUnits = 1'000'000'000;
    const std::optional<std::int64_t> place = parse_scaled_decimal(key, kKeyUnits);
    const std::optional<std::int32_t> value = by_place ? dict.keys : parse_count(key);
    if (!value || !place || *place <= previous) {
      at.refuse(fmt::format("keys >= 0 in order, not '{}'", key.substr(0, 40)));
    }
    previous = *place;
    ++dict.keys;
    const std::int64_t probability = read_probability(at, text);
    sum += probability;
    if (probability == 0) continue;
    dict.values.push_back(*value);
    dict.probabilities.push_back(probability);
  }
  const Int128 error = sum - kProbabilityUnits;
  if (!items->empty() && (error > kToleratedError || error < -kToleratedError)) {
    at.refuse("probabilities with the sum 1");
  }
  return dict;
}

class Datasets final : public TraceDocument::Handler {
 public:
  void open(TraceDocument& at) override {
    if (at.path().empty()) {
      if (at.kind() != Kind::object) at.refuse("an object of windows");
    } else if (at.path().find('/') == std::string_view::npos) {
      begin_window(at);
    } else {
      at.refuse("a text with a dict");
    }
  }

  void value(TraceDocument& at) override {
    const std::size_t slash = at.path().find('/');
    if (slash == std::string_view::npos) at.refuse("an object with fields");
    const std::string_view name = at.path().substr(slash + 1);
    const auto field = std::find_if(kFields.begin(), kFields.end(),
                                    [&](const Field& known) { return known.name == name; });
    if (field == kFields.end()) return;
    Dict dict = read_dict(at, field->role == Field::Role::reason);
    if (dict.values.empty()) {
      windows_.back().has_data = false;
      return;
    }
    if (field->role == Field::Role::count && dict.values.back() > kMostPieces) {
      at.refuse(fmt::format("at most {} pieces in a prompt", kMostPieces));
    }
    if (field->role == Field::Role::reason) windows_.back().reason_bins = dict.keys;
    slot(*field) = ServeGenLaw(std::move(dict.values), dict.probabilities);
  }

  void close(TraceDocument& at) override {
    if (at.path().empty()) return;
    const ServeGenLengths& window = windows_.back();
    if (!window.has_data) return;
    if (window.output.empty()) at.refuse("an object with output_tokens");
    if (window.prompt.empty()) at.refuse("an object with input_tokens or text_tokens");
    for (const ServeGenLengths::Media& media : window.media) {
      if (media.count.empty() == media.tokens.empty()) continue;
      at.refuse("an object that has both the _count and the _tokens of a medium");
    }
  }

  [[nodiscard]] std::vector<ServeGenLengths> take_windows() { return std::move(windows_); }

 private:
  void begin_window(const TraceDocument& at) {
    std::int64_t start_s = 0;
    const std::string_view key = at.path();
    const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), start_s);
    const bool is_number = error == std::errc() && stop == key.data() + key.size();
    const bool in_order = windows_.empty() || start_s > windows_.back().start_s;
    if (!is_number || start_s < 0 || !in_order) at.refuse("windows by their start in s, in order");
    windows_.emplace_back();
    windows_.back().start_s = start_s;
  }

  ServeGenLaw& slot(const Field& field) {
    ServeGenLengths& window = windows_.back();
    switch (field.role) {
      case Field::Role::prompt: return window.prompt;
      case Field::Role::output: return window.output;
      case Field::Role::reason: return window.reason_bin;
      case Field::Role::count: return window.media[field.media].count;
      case Field::Role::tokens: break;
    }
    return window.media[field.media].tokens;
  }

  std::vector<ServeGenLengths> windows_;
};

}  // namespace

ServeGenLaw::ServeGenLaw(std::vector<std::int32_t> values,
                         const std::vector<std::int64_t>& probabilities)
    : values_(std::move(values)) {
  cumulative_.reserve(probabilities.size());
  std::int64_t sum = 0;
  for (const std::int64_t probability : probabilities) cumulative_.push_back(sum += probability);
  HEADROOM_CHECK(sum > 0 && values_.size() == cumulative_.size(), "a law without probability");
}

std::int32_t ServeGenLaw::at(double u) const {
  const auto drawn = static_cast<std::int64_t>(u * static_cast<double>(cumulative_.back()));
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), drawn);
  const auto place = static_cast<std::size_t>(found - cumulative_.begin());
  return values_[std::min(place, values_.size() - 1)];
}

double ServeGenLaw::mean() const {
  double sum = 0.0;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    sum += static_cast<double>(values_[i]) * static_cast<double>(cumulative_[i] - before);
    before = cumulative_[i];
  }
  return sum / static_cast<double>(cumulative_.back());
}

std::vector<ServeGenLengths> read_servegen_lengths(const std::string& path) {
  LineReader lines(path);
  TraceDocument document(lines);
  Datasets datasets;
  bool any = false;
  while (document.read(datasets)) any = true;
  if (!any) throw DataError(fmt::format("{}: is empty", path));
  return datasets.take_windows();
}

}  // namespace headroom
