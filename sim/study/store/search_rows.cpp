#include "sim/study/store/search_rows.hpp"

#include <fmt/format.h>

#include "sim/scenario/json_document.hpp"

namespace headroom {
namespace {

std::string metrics_text(const StoredRun& run) {
  Json json = Json::object();
  for (const auto& [name, value] : run.metrics) json[name] = value;
  return json.dump();
}

void set_metrics(const Database& database, const std::string& text, StoredRun& run) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    throw ConfigError(Complaint{.origin = database.path(),
                                .problem = "table probes: metrics are not a JSON object"});
  }
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) run.metrics.emplace_back(name, value.get<double>());
  }
}

void bind(Statement& row, int column, std::optional<double> value) {
  if (value) {
    row.bind(column, *value);
  } else {
    row.bind_null(column);
  }
}

std::optional<double> number_in(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.number(column);
}

}  // namespace

SearchRows::SearchRows(const Database& database)
    : search_(
          database.prepare("INSERT OR REPLACE INTO searches VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)")),
      probe_(
          database.prepare("INSERT OR REPLACE INTO probes VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {}

void SearchRows::add(const StoredProbe& probe) {
  const StoredRun& run = probe.run;
  probe_.bind(0, probe.search).bind(1, run.point).bind(2, probe.value).bind(3, run.replication);
  probe_.bind(4, run.seed);
  bind_result(probe_, 5, run);
  probe_.bind(9, metrics_text(run));
  probe_.run();
}

void SearchRows::add(const StoredSearch& search) {
  search_.bind(0, search.search).bind(1, search.point);
  search_.bind(2, search.name).bind(3, search.kind);
  bind(search_, 4, search.value);
  bind(search_, 5, search.low);
  bind(search_, 6, search.high);
  search_.bind(7, search.status).bind(8, search.detail);
  search_.run();
}

std::vector<StoredProbe> read_probes(const Database& database, std::int64_t search,
                                     std::int64_t point) {
  Statement all = database.prepare(
      "SELECT value, replication, seed, digest, stationary, metrics FROM probes WHERE search = ? "
      "AND point = ? AND status = 'done' ORDER BY value, replication");
  all.bind(0, search).bind(1, point);
  std::vector<StoredProbe> probes;
  while (all.step()) {
    StoredProbe& probe = probes.emplace_back();
    probe.search = search;
    probe.value = all.number(0);
    probe.run.point = point;
    probe.run.replication = all.integer(1);
    probe.run.seed = all.integer(2);
    probe.run.done = true;
    probe.run.digest = all.text(3);
    if (!all.is_null(4)) probe.run.stationary = all.integer(4) != 0;
    set_metrics(database, all.text(5), probe.run);
  }
  return probes;
}

std::vector<StoredSearch> read_search_rows(const Database& database, std::int64_t points) {
  Statement all = database.prepare(
      "SELECT search, point, name, kind, value, low, high, status, detail FROM searches WHERE "
      "point < ? ORDER BY search, point");
  all.bind(0, points);
  std::vector<StoredSearch> searches;
  while (all.step()) {
    searches.push_back({all.integer(0), all.integer(1), all.text(2), all.text(3), number_in(all, 4),
                        number_in(all, 5), number_in(all, 6), all.text(7), all.text(8)});
  }
  return searches;
}

std::vector<MetricSum> read_sums(const Database& database, std::string_view metric) {
  Statement all = database.prepare(
      "SELECT point, value FROM runs JOIN metrics USING(run) WHERE name = ? ORDER BY run");
  all.bind(0, metric);
  std::vector<MetricSum> sums;
  while (all.step()) {
    if (sums.empty() || sums.back().point != all.integer(0)) sums.push_back({all.integer(0), 0, 0});
    ++sums.back().runs;
    sums.back().sum += all.number(1);
  }
  return sums;
}

}  // namespace headroom
