#include "workloads/traces/table_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/nearest_name.hpp"
#include "workloads/traces/decimal.hpp"
#include "workloads/traces/shown.hpp"

namespace headroom {
namespace {

constexpr std::string_view kNoColumn = "none";
constexpr std::array<std::string_view, 5> kTimeUnits{"", "s", "ms", "us", "ns"};

// Names as word_key makes them, without a unit behind them; the likeliest first.
constexpr std::string_view kTimeNames =
    "arrivaltime|arrivaltimestamp|arrivedat|arrival|arrivedtime|arrivals|timestamp|time|ts|"
    "requesttime|requesttimestamp|requeststarttime|requeststart|requestedat|requestarrivaltime|"
    "starttime|starttimestamp|startedat|startts|start|starttimeoffset|submittime|submittedat|"
    "submissiontime|sendtime|senttime|sentat|receivedat|receivetime|receivedtime|createdat|"
    "createdtime|creationtime|created|issuedat|issuetime|begintime|enqueuetime|queuedat|eventtime|"
    "datetime|date|timelocal|timeiso8601|"
    "timeoffset|offset|relativetime|reltime|loggedat|"
    "invocationtime|invocationts|"
    "requestcreatedat|tstamp|unixtimestamp|unixtime|epoch|starttimeunix|timeunix|timestampunix|t";
constexpr std::string_view kPromptNames =
    "prompttokens|inputtokens|numprefilltokens|numprompttokens|numinputtokens|contexttokens|"
    "requesttokens|querytokens|prompttokencount|inputtokencount|prompttokenslen|prompttokenslength|"
    "usageprompttokens|usageinputtokens|aiproxyusageprompttokens|genaiusageinputtokens|"
    "genaiusageprompttokens|inputlength|"
    "inputlen|inputtoks|inputtokenlength|"
    "inputtokenlen|inputsequencelength|inputseqlen|inputseqlength|isl|promptlength|promptlen|"
    "prompttokenlength|promptsize|prefilltokens|prefilllength|prefilllen|prefill|contextlength|"
    "contextlen|requestlength|requestlen|querylength|querylen|ninput|nprompt|nprompttokens|"
    "ninputtokens|nin|promptn|tokensin|intokens|intok|inputsize|questiontokens|usertokens|prompts|"
    "prompt|"
    "inputs|input|context|in";
constexpr std::string_view kOutputNames =
    "completiontokens|outputtokens|generatedtokens|numdecodetokens|numoutputtokens|"
    "numcompletiontokens|numgeneratedtokens|responsetokens|answertokens|replytokens|"
    "completiontokencount|outputtokencount|generatedtokencount|generationtokens|gentokens|"
    "usagecompletiontokens|usageoutputtokens|aiproxyusagecompletiontokens|genaiusageoutputtokens|"
    "genaiusagecompletiontokens|"
    "outputlength|outputlen|outputtoks|outputtokenlength|"
    "outputtokenlen|outputsequencelength|outputseqlen|outputseqlength|osl|completionlength|"
    "completionlen|responselength|responselen|responsetokenlength|generationlength|generationlen|"
    "genlength|genlen|decodetokens|decodelength|decodelen|decode|answerlength|answerlen|noutput|"
    "noutputtokens|nout|ncompletion|npredict|ngenerated|predictedn|tokensout|outtokens|outtok|"
    "outputsize|"
    "assistanttokens|completions|completion|outputs|output|responses|response|generated|answer|out";

constexpr std::string_view kStatusNames =
    "status|statuscode|httpstatus|httpstatuscode|responsestatus|responsecode|httpcode|"
    "responsestatuscode|resultcode|httpresponsecode";

// Words that say a unit at the end of a name.
constexpr std::array<std::pair<std::string_view, TimeUnit>, 24> kUnitWords{
    {{"s", TimeUnit::s},
     {"sec", TimeUnit::s},
     {"secs", TimeUnit::s},
     {"second", TimeUnit::s},
     {"seconds", TimeUnit::s},
     {"ms", TimeUnit::ms},
     {"msec", TimeUnit::ms},
     {"millis", TimeUnit::ms},
     {"millisecond", TimeUnit::ms},
     {"milliseconds", TimeUnit::ms},
     {"us", TimeUnit::us},
     {"usec", TimeUnit::us},
     {"micros", TimeUnit::us},
     {"microsecond", TimeUnit::us},
     {"microseconds", TimeUnit::us},
     {"ns", TimeUnit::ns},
     {"nsec", TimeUnit::ns},
     {"nanos", TimeUnit::ns},
     {"nanosecond", TimeUnit::ns},
     {"nanoseconds", TimeUnit::ns},
     {"nano", TimeUnit::ns},
     {"micro", TimeUnit::us},
     {"milli", TimeUnit::ms},
     {"unix", TimeUnit::by_size}}};

bool is_word_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_word_digit(char c) { return c >= '0' && c <= '9'; }
char lower_letter(char c) { return is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// "startTimeMs", "start_time (ms)" -> start, time, ms.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool open = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_word_letter(c) && !is_word_digit(c)) {
      open = false;
      continue;
    }
    const bool begins = is_capital(c) && i > 0 && !is_capital(name[i - 1]);
    if (!open || begins) words.emplace_back();
    open = true;
    words.back() += lower_letter(c);
  }
  return words;
}

struct WordKey {
  std::string key;  // all words as one
  std::string without_unit;
  TimeUnit unit = TimeUnit::by_size;
};

WordKey word_key(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  WordKey key;
  for (const std::string& word : words) key.key += word;
  if (words.size() < 2) return key;
  for (const auto& [word, unit] : kUnitWords) {
    if (words.back() != word) continue;
    key.unit = unit;
    key.without_unit = key.key.substr(0, key.key.size() - word.size());
  }
  return key;
}

// The place of `name` in a list between bars; nothing: it is not there.
std::optional<std::size_t> place_in(std::string_view list, std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (std::size_t place = 0; !list.empty(); ++place) {
    const std::size_t end = std::min(list.find('|'), list.size());
    if (list.substr(0, end) == name) return place;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return std::nullopt;
}

bool looks_like_date(std::string_view text) {
  return text.size() >= 10 && (text[4] == '-' || text[4] == '/') && text[4] == text[7];
}

// Whether at least half of the cells that say anything do. The others are refused at their places
// when they are read.
bool most_hold(std::span<const std::vector<std::string>> samples, std::size_t column,
               bool (*is_one)(std::string_view)) {
  std::size_t filled = 0;
  std::size_t fitting = 0;
  for (const std::vector<std::string>& row : samples) {
    if (row[column].empty()) continue;
    ++filled;
    fitting += is_one(row[column]) ? 1 : 0;
  }
  return 2 * fitting >= filled;
}

bool holds_count(std::string_view text) { return parse_count(text).has_value(); }
bool holds_time(std::string_view text) {
  return looks_like_date(text) || is_local_date(text) || parse_scaled_decimal(text, 1).has_value();
}
bool holds_status(std::string_view text) {
  const std::optional<std::int32_t> code = parse_count(text);
  return code && *code >= 100 && *code <= 599;
}

// A name that leaves no doubt about what the cells should hold; "prompt" may be a text.
bool says_count(std::string_view name) {
  const std::string key = word_key(name).key;
  constexpr std::array<std::string_view, 5> kParts{"token", "tok", "length", "isl", "osl"};
  return std::ranges::any_of(
      kParts, [&key](std::string_view part) { return key.find(part) != std::string::npos; });
}

// Cells as counts fill them when some are wrong, not the texts of prompts.
bool holds_slips(std::span<const std::vector<std::string>> samples, std::size_t column) {
  constexpr std::size_t kLongest = 16;
  const auto is_short = [column](const std::vector<std::string>& row) {
    return row[column].size() <= kLongest && row[column].find(' ') == std::string::npos;
  };
  const auto is_right = [column](const std::vector<std::string>& row) {
    return holds_count(row[column]);
  };
  return std::ranges::all_of(samples, is_short) && std::ranges::any_of(samples, is_right);
}

// The likeliest column by its name among those whose values fit; where none do, the one whose name
// says that it holds counts of tokens or whose cells look like slips, so that its first wrong cell
// is reported.
std::optional<std::size_t> column_by_name(std::span<const std::string> names,
                                          std::span<const std::vector<std::string>> samples,
                                          std::string_view list, bool (*is_one)(std::string_view)) {
  struct Best {
    std::optional<std::size_t> column;
    std::size_t place = 0;
  };
  Best by_values;
  Best by_words;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const WordKey key = word_key(names[i]);
    std::optional<std::size_t> place = place_in(list, key.key);
    if (!place) place = place_in(list, key.without_unit);
    if (!place) continue;
    const bool fits = most_hold(samples, i, is_one);
    const bool slips = is_one == holds_count && holds_slips(samples, i);
    if (!fits && !slips && !says_count(names[i])) continue;
    Best& best = fits ? by_values : by_words;
    if (!best.column || *place < best.place) best = {.column = i, .place = *place};
  }
  return by_values.column ? by_values.column : by_words.column;
}

// Since 1970: the lowest of the values, as one that is far below all others is a slip. It needs
// enough of them that lie close together.
std::int64_t lowest_of(std::vector<std::int64_t> values) {
  constexpr std::size_t kFewest = 5;
  constexpr std::int64_t kSince1970 = 1'000'000'000;
  std::ranges::sort(values);
  if (values.size() < kFewest || values[1] < kSince1970) return values.front();
  const bool are_close = values.back() - values[1] < values[1] / 10;
  return are_close ? values[1] : values.front();
}

// Since 1970 by their digits; small numbers by the gaps between them: requests that are hundreds of
// seconds apart on average are more likely milliseconds, and so on.
TimeUnit unit_by_size(std::span<const std::vector<std::string>> samples, std::size_t column) {
  constexpr std::int64_t kScale = 1000;
  std::vector<std::int64_t> values;
  bool has_fraction = false;
  for (const std::vector<std::string>& row : samples) {
    const std::optional<std::int64_t> value = parse_scaled_decimal(row[column], 1);
    if (!value) continue;
    has_fraction |= row[column].find('.') != std::string::npos;
    values.push_back(*value);
  }
  const std::int64_t low = values.empty() ? 0 : lowest_of(values);
  if (low >= 100'000'000'000'000'000) return TimeUnit::ns;
  if (low >= 100'000'000'000'000) return TimeUnit::us;
  if (low >= 100'000'000'000) return TimeUnit::ms;
  if (low >= 1'000'000'000 || has_fraction || values.size() < 2) return TimeUnit::s;
  const std::int64_t high = std::ranges::max(values);
  const std::int64_t gap = (high - low) / (static_cast<std::int64_t>(values.size()) - 1);
  if (gap < kScale) return TimeUnit::s;
  if (gap < kScale * kScale) return TimeUnit::ms;
  return gap < kScale * kScale * kScale ? TimeUnit::us : TimeUnit::ns;
}

// Whether a name has a word of times, whatever else it says.
bool mentions_time(std::string_view name) {
  constexpr std::array<std::string_view, 7> kWords{"time",    "timestamp", "at",  "start",
                                                   "arrival", "arrived",   "date"};
  return std::ranges::any_of(words_of(name), [&](const std::string& word) {
    return std::ranges::find(kWords, word) != kWords.end();
  });
}

// Finds the column of each role and keeps what is wrong, so that all of it is said at once.
class ColumnFinder {
 public:
  ColumnFinder(std::span<const std::string> names,
               std::span<const std::vector<std::string>> samples, std::string_view place)
      : names_(names), samples_(samples), place_(place) {}

  // The column called `name`, else by the names of `list`. Nothing: there is none.
  std::optional<std::size_t> find(const std::string& name, std::string_view list,
                                  bool (*is_one)(std::string_view)) {
    if (name.empty()) return column_by_name(names_, samples_, list, is_one);
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    if (!unknown_.empty()) unknown_ += ", ";
    unknown_ += fmt::format("'{}'", shown(name));
    several_unknown_ = unknown_.find(", ") != std::string::npos;
    return std::nullopt;
  }

  // `what` no column is, as --columns `setting` says it. A name that is not there is said alone.
  void miss(const std::string& name, std::string_view what, std::string_view setting) {
    if (!name.empty()) return;
    missing_.emplace_back(what);
    settings_ += (settings_.empty() ? "" : ",") + std::string(setting);
  }

  void check() const {
    std::string problem;
    if (!unknown_.empty()) {
      problem = fmt::format("no column{} {}", several_unknown_ ? "s" : "", unknown_);
    }
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      problem += problem.empty() ? "no column " : i == 0 ? "; no column " : ", and none ";
      problem += missing_[i];
    }
    if (problem.empty()) return;
    problem += fmt::format(" (columns: {})", shown(comma_list(names_)));
    if (!missing_.empty()) {
      problem += fmt::format("; if {} does, name it: --columns {}",
                             missing_.size() > 1 ? "any" : "one", settings_);
    }
    throw DataError(fmt::format("{}: {}", place_, problem));
  }

 private:
  std::span<const std::string> names_;
  std::span<const std::vector<std::string>> samples_;
  std::string_view place_;
  std::string unknown_;
  bool several_unknown_ = false;
  std::vector<std::string> missing_;
  std::string settings_;
};

// Of a column with dates. DataError: the month may stand first or second.
DateOrder order_of(std::span<const std::vector<std::string>> samples, std::size_t column,
                   std::string_view name, DateOrder given, std::string_view place) {
  const DateOrder shown_order = order_of_dates(samples, column);
  if (shown_order != DateOrder::unknown) return shown_order;
  if (given != DateOrder::unknown) return given;
  throw DataError(fmt::format(
      "{}: {}: no date of the first {} rows shows whether the month stands first, as '{}': say it, "
      "--columns time={}:mdy or :dmy",
      place, shown(name), samples.size(), shown(samples.front()[column]), shown(name)));
}

// What stands behind the name of times: "ms", or the order of dates.
bool take_unit(std::string_view text, NamedColumns& named) {
  if (text == "mdy" || text == "dmy") {
    named.order = text == "mdy" ? DateOrder::month_first : DateOrder::day_first;
    return true;
  }
  const auto* const unit = std::ranges::find(kTimeUnits, text);
  if (unit == kTimeUnits.begin() || unit == kTimeUnits.end()) return false;
  named.unit = static_cast<TimeUnit>(unit - kTimeUnits.begin());
  return true;
}

}  // namespace

std::string_view name_of(TimeUnit unit) { return kTimeUnits[static_cast<std::size_t>(unit)]; }

TimeNs unit_ns(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::ms: return kNsPerMs;
    case TimeUnit::us: return 1000;
    case TimeUnit::ns: return 1;
    case TimeUnit::by_size:
    case TimeUnit::s: break;
  }
  return kNsPerSecond;
}

NamedColumns parse_columns(std::string_view text) {
  NamedColumns named;
  const auto refuse = [text](std::string_view problem) {
    throw ConfigError(Complaint{
        .origin = "columns", .value = std::string(text), .problem = std::string(problem)});
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals + 1 == part.size()) {
      refuse("expected time=NAME:unit,in=NAME,out=NAME,status=NAME");
    }
    const std::string_view role = part.substr(0, equals);
    std::string_view name = part.substr(equals + 1);
    std::string* into = role == "time"     ? &named.time
                        : role == "in"     ? &named.prompt
                        : role == "out"    ? &named.output
                        : role == "status" ? &named.status
                                           : nullptr;
    if (into == nullptr) refuse("expected time, in, out or status in front of each =");
    if (!into->empty()) refuse("a role stands twice");
    const std::size_t colon = name.rfind(':');
    if (role == "time" && colon != std::string_view::npos) {
      if (!take_unit(name.substr(colon + 1), named)) {
        refuse("a unit is s, ms, us or ns, and of dates mdy or dmy");
      }
      name = name.substr(0, colon);
    }
    *into = name;
  }
  return named;
}

bool names_requests(std::span<const std::string> names) {
  return names.size() > 1 && std::ranges::any_of(names, [](const std::string& name) {
           const WordKey key = word_key(name);
           return place_in(kPromptNames, key.key) || place_in(kOutputNames, key.key) ||
                  place_in(kTimeNames, key.key) || place_in(kTimeNames, key.without_unit);
         });
}

TableColumns find_columns(std::span<const std::string> names,
                          std::span<const std::vector<std::string>> samples,
                          const NamedColumns& given, std::string_view place) {
  ColumnFinder finder(names, samples, place);
  TableColumns columns;
  const bool has_times = given.time != kNoColumn;
  const auto prompt = finder.find(given.prompt, kPromptNames, holds_count);
  const auto output = finder.find(given.output, kOutputNames, holds_count);
  if (has_times) columns.time = finder.find(given.time, kTimeNames, holds_time);
  if (given.status != kNoColumn) {
    columns.status = finder.find(given.status, kStatusNames, holds_status);
  }
  if (!prompt) finder.miss(given.prompt, "holds the tokens of prompts", "in=NAME");
  if (!output) finder.miss(given.output, "holds the tokens of answers", "out=NAME");
  if (has_times && !columns.time && std::ranges::any_of(names, mentions_time)) {
    finder.miss(given.time, "is known to hold the times of requests", "time=NAME:s (or time=none)");
  }
  finder.check();
  columns.prompt = *prompt;
  columns.output = *output;
  columns.note = fmt::format("columns: in = {}, out = {}", names[*prompt], names[*output]);
  if (columns.status && !given.status.empty()) {
    columns.note += fmt::format(", status = {}", names[*columns.status]);
  }
  if (!columns.time) {
    columns.note += "; no column of times was found, so that the scenario must give arrivals";
    return columns;
  }
  const std::string& time = names[*columns.time];
  const bool is_local = !samples.empty() && is_local_date(samples.front()[*columns.time]);
  columns.is_date =
      is_local || (!samples.empty() && looks_like_date(samples.front()[*columns.time]));
  std::string unit = "dates";
  if (is_local) {
    columns.order = order_of(samples, *columns.time, time, given.order, place);
    unit += columns.order == DateOrder::month_first ? ", the month first" : ", the day first";
  } else if (!columns.is_date) {
    const TimeUnit said = given.unit != TimeUnit::by_size ? given.unit : word_key(time).unit;
    const bool by_size = said == TimeUnit::by_size;
    columns.unit = by_size ? unit_by_size(samples, *columns.time) : said;
    unit = fmt::format("{}{}", name_of(columns.unit), by_size ? ", by the size of its values" : "");
  }
  columns.note += fmt::format(", time = {} ({})", time, unit);
  return columns;
}

}  // namespace headroom
