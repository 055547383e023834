#include "sim/report/text/audit_report.hpp"
#include "sim/engines/engines.hpp"
#include "sim/report/json/audit_json.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/report/text/memory_validation_report.hpp"
#include "sim/report/text/wrapped_text.hpp"

namespace headroom::audit_report_test {

namespace {

using Catch::Matchers::Contains;

AuditReport tight_report() {
  AuditQuery query;
  query.scenario.file = "test";
  query.scenario.model = "llama-3.1-8b";
  query.scenario.device.name = "gb10";
  query.scenario.environment.name = "native-gb10";
  query.scenario.engine.kv_cache_memory_bytes = std::int64_t{8} << 30;
  query.mitigate = true;
  return audit(query, Catalog::embedded());
}

void check_width(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= width);
  }
}

}  // namespace

TEST_CASE("words are broken at the width and indented below their label", "[report]") {
  CHECK(wrapped("ab", "one two three", 4, 11) == "ab  one two\n    three\n");
  CHECK(wrapped("ab", "abcdefghij", 4, 8) == "ab  abcd\n    efgh\n    ij\n");
  CHECK(wrapped("longer", "text", 4, 20) == "longer\n    text\n");
}

TEST_CASE("an audit names the failure, the smallest fix and its cost", "[report]") {
  const AuditReport report = tight_report();
  const std::string text = audit_text(report);
  check_width(text, kAuditWidth);
  CHECK_THAT(text, Contains("DOES NOT START"));
  CHECK_THAT(text, Contains("smallest fix  engine.kv_cache_memory_bytes"));
  CHECK_THAT(text, Contains("requests longer than 65,536"));
  CHECK_THAT(text, Contains("weights"));
  CHECK_THAT(text, Contains("total"));
}

TEST_CASE("the JSON of an audit carries bytes that add up", "[report]") {
  const auto json = nlohmann::json::parse(audit_json(tight_report()));
  CHECK(json.at("verdict") == "does_not_start");
  std::int64_t sum = 0;
  for (const auto& term : json.at("terms")) sum += term.at("bytes").get<std::int64_t>();
  CHECK(sum == json.at("system").at("capacity_bytes").get<std::int64_t>());
  CHECK(json.at("fixes").at(0).at("cost") == "none");
  CHECK(json.at("failure").at("stage") == "max_length_request");
  CHECK(json.contains("mitigations"));
}

TEST_CASE("a log audit shows each cause with the line it was read from", "[report]") {
  StartupLog log;
  log.name = "start.log";
  log.engine = &engine_named("vllm");
  log.version = Found<std::string>{"0.19.0", 1};
  log.model = Found<std::string>{"meta-llama/Llama-3.1-8B", 2};
  log.max_model_len = Found<std::int64_t>{8192, 2};
  log.memory.total_gib = Found<double>{79.19, 4};
  log.memory.weights_gib = Found<double>{14.99, 5};
  log.memory.available_kv_gib = Found<double>{54.0, 7};
  const LogAudit audit = audit_log(log, {}, Catalog::embedded());
  const std::string text = log_audit_text(audit);
  check_width(text, kAuditWidth);
  CHECK_THAT(text, Contains("(line 5)"));
  CHECK_THAT(text, Contains("guessed from 79.19 GiB"));
  const auto json = nlohmann::json::parse(log_audit_json(audit));
  CHECK(json.at("attribution").at(0).at("line") == 7);
}

TEST_CASE("a recording is reported with its baseline, peak and alerts", "[report]") {
  std::istringstream csv("time_s,used_gib\n0,10\n1,10\n2,75\n3,10\n");
  SeriesOptions options;
  options.capacity_gib = 80;
  const SeriesReport report = report_memory_series(read_memory_series(csv, "gpu.csv"), options);
  const std::string text = series_text("gpu.csv", report);
  check_width(text, kAuditWidth);
  // 75 of 80 GiB are above 72, the 90 %.
  CHECK_THAT(text, Contains("memory critical"));
  CHECK_THAT(text, Contains("75.00 GiB at 2.0 s"));
  CHECK(nlohmann::json::parse(series_json("gpu.csv", report)).at("peak").at("gib") == 75.0);
}

TEST_CASE("a validation says which figures used to choose the constants", "[report]") {
  MemoryValidation validation;
  validation.files = {"vllm019_h100_startup.csv"};
  ValidationRow row;
  row.file = validation.files.front();
  row.label = "A-model-with-a-name-that-is-longer-than-the-column";
  row.weights = {10.0, 10.5};
  row.kv = {50.0, 49.5};
  row.error_gib = -0.5;
  row.error_share = -0.01;
  validation.rows.push_back(row);
  validation.excluded.push_back({row.file, 3, "other/model", "no geometry"});
  const std::string text = memory_validation_text(validation);
  check_width(text, kValidationWidth);
  CHECK_THAT(text, Contains("used to choose the constants"));
  CHECK_THAT(text, Contains("10.00 +0.50"));
  CHECK_THAT(text, Contains("other/model: no geometry"));
  const auto json = nlohmann::json::parse(memory_validation_json(validation));
  CHECK(json.at("rows").at(0).at("error_share") == -0.01);
  CHECK(json.at("excluded").at(0).at("why") == "no geometry");
}

}  // namespace headroom::audit_report_test
