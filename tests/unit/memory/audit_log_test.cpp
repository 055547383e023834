#include "sim/memory/audit_log.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "sim/engines/vllm/engine.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::audit_log_test {

namespace {

using Catch::Matchers::Contains;

FoundNumber number(double value, std::int64_t line) { return Found<double>{value, line}; }
FoundCount count(std::int64_t value) { return Found<std::int64_t>{value, 1}; }

// A start-up of the H100 campaign: 79.19 x 0.95 - 14.99 - 1.89 - 0.25 = 58.10 GiB.
StartupLog llama_log() {
  StartupLog log;
  log.name = "start.log";
  log.engine = &vllm_engine();
  log.version = Found<std::string>{"0.19.0", 1};
  log.model = Found<std::string>{"meta-llama/Llama-3.1-8B-Instruct", 2};
  log.tensor_parallel = count(1);
  log.max_model_len = count(8192);
  log.max_num_seqs = count(1024);
  log.max_num_batched_tokens = count(8192);
  log.gpu_memory_utilization = number(0.95, 3);
  log.memory.total_gib = number(79.19, 4);
  log.memory.free_gib = number(78.68, 4);
  log.memory.requested_gib = number(75.23, 4);
  log.memory.weights_gib = number(14.99, 5);
  log.memory.activation_gib = number(1.89, 6);
  log.memory.non_torch_gib = number(0.25, 6);
  log.memory.available_kv_gib = number(58.11, 7);
  return log;
}

bool assumes(const LogAudit& audit, const std::string& words) {
  return std::ranges::any_of(audit.assumptions, [&](const std::string& text) {
    return text.find(words) != std::string::npos;
  });
}

const Attribution& cause_of(const LogAudit& audit, MemoryCause cause) {
  const auto found = std::ranges::find(audit.attribution, cause, &Attribution::cause);
  REQUIRE(found != audit.attribution.end());
  return *found;
}

}  // namespace

TEST_CASE("a logged start-up is modelled from what its log says", "[audit]") {
  const LogAudit audit = audit_log(llama_log(), {}, Catalog::embedded());
  const Resolved& r = audit.system.resolved;
  CHECK(r.device.id == "h100-sxm");
  CHECK(assumes(audit, "guessed from 79.19 GiB"));
  CHECK(r.max_num_seqs == 1024);
  CHECK(r.max_model_len == 8192);
  // The campaign's rows are reproduced to 0.05 GiB.
  CHECK(*cause_of(audit, MemoryCause::pool).difference() == Approx(0).margin(0.05));
}

TEST_CASE("a log of other people's checkpoint is read by the words of its name", "[audit]") {
  StartupLog log = llama_log();
  log.model->value = "/models/Llama-3.1-8B-Instruct-AWQ";
  const LogAudit audit = audit_log(log, {}, Catalog::embedded());
  CHECK(audit.system.resolved.model.id == "llama-3.1-8b");
  CHECK(main_dtype(audit.system.resolved.model) == Dtype::int4);
  CHECK(assumes(audit, "is read as llama-3.1-8b, quantised to awq"));
}

TEST_CASE("a device that is named is not guessed", "[audit]") {
  LogAuditQuery query;
  query.device = "h100-pcie";
  const LogAudit audit = audit_log(llama_log(), query, Catalog::embedded());
  CHECK(audit.system.resolved.device.id == "h100-pcie");
  CHECK_FALSE(assumes(audit, "guessed"));
  // The log's total stands, whatever the catalog says of the board.
  CHECK(audit.modelled.total_gib == Approx(79.19).margin(1e-6));
}

TEST_CASE("weights that are too large explain the pool they cost", "[audit]") {
  // 2 GiB more weights than the model has: 2 GiB less KV.
  StartupLog log = llama_log();
  log.memory.weights_gib = number(16.99, 5);
  log.memory.available_kv_gib = number(56.11, 7);
  const LogAudit audit = audit_log(log, {}, Catalog::embedded());
  CHECK(cause_of(audit, MemoryCause::weights).pool_effect_gib == Approx(-2.0).margin(0.02));
  CHECK(cause_of(audit, MemoryCause::unexplained).pool_effect_gib == Approx(0).margin(0.02));
}

TEST_CASE("what the log does not say must be given", "[audit]") {
  const Catalog catalog = Catalog::embedded();
  StartupLog log = llama_log();
  log.model = Found<std::string>{"someone/unheard-of", 2};
  CHECK_THROWS_WITH(audit_log(log, {}, catalog), Contains("--model"));
  log = llama_log();
  log.memory.total_gib.reset();
  CHECK_THROWS_WITH(audit_log(log, {}, catalog), Contains("--device"));
  log = llama_log();
  log.memory.total_gib = number(3.21, 4);
  CHECK_THROWS_WITH(audit_log(log, {}, catalog), Contains("no device in the catalog"));
}

}  // namespace headroom::audit_log_test
