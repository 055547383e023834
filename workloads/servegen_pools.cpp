#include "workloads/servegen_pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "sim/kernel/errors.hpp"
#include "workloads/traces/csv_rows.hpp"
#include "workloads/traces/decimal.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// Gaps of smaller shapes leave the range of numbers.
constexpr double kLeastGammaShape = 0.001;
constexpr double kLeastWeibullShape = 0.01;
constexpr double kMostShape = 1e6;

std::optional<double> parse_shape(std::string_view text, double least) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const bool fits = error == std::errc() && at == end && value >= least && value <= kMostShape;
  return fits ? std::optional(value) : std::nullopt;
}

ServeGenWindow read_window(const CsvRows& rows) {
  ServeGenWindow window;
  window.start_s = rows.integer(0);
  const std::optional<std::int64_t> requests =
      parse_scaled_decimal(rows.text(1), kServeGenWindowS * 1'000'000'000);
  if (!requests || *requests < 0) rows.refuse(1, "requests per second >= 0");
  window.requests_e9 = *requests;
  const std::string_view pattern = rows.text(3);
  if (pattern.empty()) return window;
  if (pattern != "Gamma" && pattern != "Weibull") rows.refuse(3, "Gamma, Weibull or empty");
  const bool is_gamma = pattern == "Gamma";
  window.gaps = is_gamma ? ServeGenWindow::Gaps::gamma : ServeGenWindow::Gaps::weibull;
  const double least = is_gamma ? kLeastGammaShape : kLeastWeibullShape;
  const std::optional<double> shape = parse_shape(rows.text(4), least);
  if (!shape) rows.refuse(4, fmt::format("a shape in {} .. {}", least, kMostShape));
  window.shape = *shape;
  return window;
}

std::vector<ServeGenWindow> read_windows(const std::string& path) {
  LineReader lines(path);
  CsvRows rows(lines, {"start_s", "rate_rps", "cv", "pattern", "p1", "p2"});
  std::vector<ServeGenWindow> windows;
  while (rows.next()) {
    const ServeGenWindow window = read_window(rows);
    const std::int64_t earliest_s = windows.empty() ? 0 : windows.back().start_s + kServeGenWindowS;
    constexpr std::int64_t kLatestS = 4'000'000'000;  // 127 years
    if (window.start_s < earliest_s || window.start_s > kLatestS) {
      rows.refuse(0, fmt::format("an integer in {} .. {}: windows of {} s, in order", earliest_s,
                                 kLatestS, kServeGenWindowS));
    }
    windows.push_back(window);
  }
  if (windows.empty()) throw DataError(fmt::format("{}: no windows in this file", path));
  return windows;
}

constexpr std::string_view kPrefix = "chunk-";
constexpr std::string_view kTrace = "-trace.csv";
constexpr std::string_view kDataset = "-dataset.json";

// The client of "chunk-<client><suffix>"; nothing of other names.
std::optional<std::int64_t> client_of(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  if (name.size() < suffix.size()) return std::nullopt;
  name.remove_suffix(suffix.size());
  std::int64_t id = 0;
  const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  const bool fits = error == std::errc() && at == name.data() + name.size() && id >= 0;
  return fits ? std::optional(id) : std::nullopt;
}

struct ClientFiles {
  std::string trace;
  std::string dataset;
};

std::map<std::int64_t, ClientFiles> files_in(const std::string& folder) {
  std::map<std::int64_t, ClientFiles> clients;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (const auto id = client_of(name, kTrace)) clients[*id].trace = entry->path().string();
    if (const auto id = client_of(name, kDataset)) clients[*id].dataset = entry->path().string();
  }
  if (error) {
    throw DataError(fmt::format("{}: cannot read this folder: {}", folder, error.message()));
  }
  if (clients.empty()) {
    throw DataError(
        fmt::format("{}: no chunk-<client>-trace.csv in this folder; a ServeGen pool "
                    "is data/<category>/<model>",
                    folder));
  }
  return clients;
}

}  // namespace

const ServeGenLengths* ServeGenClient::lengths_at(std::int64_t time_s) const {
  const auto after = std::upper_bound(
      lengths.begin(), lengths.end(), time_s,
      [](std::int64_t time, const ServeGenLengths& window) { return time < window.start_s; });
  if (after == lengths.begin() || !std::prev(after)->has_data) return nullptr;
  return &*std::prev(after);
}

ServeGenPools::ServeGenPools(const std::string& folder) : folder_(folder) {
  for (const auto& [id, files] : files_in(folder)) {
    if (files.trace.empty() || files.dataset.empty()) {
      throw DataError(fmt::format("{}: client {} has no {}{}{}", folder, id, kPrefix, id,
                                  files.trace.empty() ? kTrace : kDataset));
    }
    clients_.push_back({.id = id,
                        .windows = read_windows(files.trace),
                        .lengths = read_servegen_lengths(files.dataset)});
  }
}

std::int64_t ServeGenPools::end_s() const {
  std::int64_t end_s = 0;
  for (const ServeGenClient& client : clients_) {
    end_s = std::max(end_s, client.windows.back().start_s + kServeGenWindowS);
  }
  return end_s;
}

Int128 ServeGenPools::expected_requests_e9() const {
  Int128 sum = 0;
  for (const ServeGenClient& client : clients_) {
    for (const ServeGenWindow& window : client.windows) {
      if (window.gaps != ServeGenWindow::Gaps::idle) sum += window.requests_e9;
    }
  }
  return sum;
}

}  // namespace headroom
