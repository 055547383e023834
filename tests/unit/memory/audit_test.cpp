#include "sim/memory/audit.hpp"
#include "sim/engines/engines.hpp"
#include "sim/engines/vllm/engine.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/engines/llamacpp/engine.hpp"
#include "sim/kernel/errors.hpp"

namespace headroom::audit_test {

namespace {

using Catch::Matchers::Contains;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

Scenario llama_on_h100() {
  Scenario s;
  s.file = "test";
  s.model = "llama-3.1-8b";
  s.device.name = "h100-sxm";
  s.engine.name = "vllm";
  s.engine.version = "0.19";
  return s;
}

// Llama-3.1-8B keeps 32 layers x 2 x 8 heads x 128 x 2 bytes = 131,072 bytes per token.
Scenario with_pool(std::int64_t gib) {
  Scenario s = llama_on_h100();
  s.engine.kv_cache_memory_bytes = gib * kGib;
  return s;
}

AuditReport audit_of(const Scenario& scenario, AuditNeed need = {}, bool mitigate = false) {
  return audit({scenario, need, mitigate}, Catalog::embedded());
}

bool has_alert(const AuditReport& report, const std::string& name) {
  return std::ranges::any_of(report.alerts,
                             [&](const AuditAlert& alert) { return alert.name == name; });
}

const Fix* fix_of(const std::vector<Fix>& fixes, const std::string& option) {
  const auto found = std::ranges::find(fixes, option, &Fix::option);
  return found == fixes.end() ? nullptr : &*found;
}

const Mitigation* mitigation_of(const AuditReport& report, const std::string& words) {
  const auto found = std::ranges::find_if(report.mitigations, [&](const Mitigation& m) {
    return m.remedy.find(words) != std::string::npos;
  });
  return found == report.mitigations.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("an audit gives every byte a purpose and a source", "[audit]") {
  const AuditReport report = audit_of(llama_on_h100());
  ByteCount sum = 0;
  for (const AuditTerm& term : report.terms) {
    CHECK(term.bytes > 0);
    CHECK_FALSE(term.why.empty());
    sum += term.bytes;
  }
  CHECK(sum == report.system.budget.capacity_bytes);
  CHECK(report.verdict == AuditVerdict::fits);
  CHECK(report.fixes.empty());
}

TEST_CASE("an audit of llama.cpp on two devices is of the fullest", "[audit]") {
  Scenario s = llama_on_h100();
  s.engine = {};
  s.engine.name = "llamacpp";
  s.engine.pipeline_parallel_size = 2;
  s.engine.own.edit<LlamacppOptions>().ctx_size = 8192;
  const AuditReport report = audit_of(s);
  const auto why = [&](MemoryPurpose purpose) {
    return std::ranges::find(report.terms, purpose, &AuditTerm::purpose)->why;
  };
  CHECK(why(MemoryPurpose::weights).find("of the fullest of 2 devices") != std::string::npos);
  // 17 layers and 15 with the output, 32 MiB of cache each; bytes per token are of those.
  const ByteCount kv = report.system.budget.terms[MemoryPurpose::kv_pool];
  CHECK((kv == 17 * kGib / 32 || kv == 15 * kGib / 32));
  CHECK(report.system.budget.kv_pool_bytes == kv);
}

TEST_CASE("Ollama and Sarathi have fixes of their own options", "[audit]") {
  const auto check_fix = [](const Scenario& scenario, const std::string& option) {
    INFO(option);
    const AuditReport report = audit_of(scenario, {.context = 8000});
    CHECK(report.verdict == AuditVerdict::context_too_long);
    const Fix* fix = fix_of(report.fixes, option);
    REQUIRE(fix != nullptr);
    CHECK(fix->from == "4096");
    CHECK(fix->to == "8000");
  };
  Scenario ollama = llama_on_h100();
  ollama.engine = {};
  ollama.engine.name = "ollama";
  ollama.engine.own.edit<OllamaOptions>().num_ctx = 4096;
  check_fix(ollama, "engine.num_ctx");
  Scenario sarathi = llama_on_h100();
  sarathi.engine = {};
  sarathi.engine.name = "sarathi";
  sarathi.engine.max_model_len = 4096;
  check_fix(sarathi, "engine.max_model_len");
}

TEST_CASE("constants are measured on the device of their logs and estimates elsewhere", "[audit]") {
  const auto origin = [](const Scenario& s) {
    const AuditReport report = audit_of(s);
    return std::ranges::find(report.terms, MemoryPurpose::activations, &AuditTerm::purpose)->origin;
  };
  Scenario s = llama_on_h100();
  CHECK(origin(s) == TermOrigin::measured);
  s.engine.version.reset();  // the newest
  CHECK(origin(s) == TermOrigin::estimate);
  s.engine.version = "0.19";
  s.device.name = "h200-sxm";
  CHECK(origin(s) == TermOrigin::estimate);
}

TEST_CASE("what does not start is answered with every single change that helps", "[audit]") {
  // 8 GiB hold 65,536 tokens; the model's own length is 131,072, so the pool must be 16 GiB, the
  // length 65,536, the KV 8 bit wide, or the heads (or layers) on two devices. Weights in 8 bit do
  // not change a pool of a given size.
  const AuditReport report = audit_of(with_pool(8));
  CHECK(report.verdict == AuditVerdict::does_not_start);
  CHECK(has_alert(report, "does_not_start"));
  REQUIRE(report.fixes.size() == 5);
  CHECK(report.fixes[0].option == "engine.kv_cache_memory_bytes");
  CHECK(report.fixes[0].to == std::to_string(16 * kGib));
  CHECK(report.fixes[1].option == "engine.max_model_len");
  CHECK(report.fixes[1].from == "131072");
  CHECK(report.fixes[1].to == "65536");
  CHECK(report.fixes[1].cost_text == "requests longer than 65,536 tokens are rejected");
  CHECK(report.fixes[2].option == "engine.kv_cache_dtype");
  CHECK(report.fixes[2].cost == FixCost::quality);
  CHECK(report.fixes[3].option == "engine.tensor_parallel_size");
  CHECK(report.fixes[3].to == "2");
  CHECK(report.fixes[4].option == "engine.pipeline_parallel_size");
  CHECK(fix_of(report.fixes, "engine.quantization") == nullptr);
}

TEST_CASE("more memory comes before rejected requests, and both before quality", "[audit]") {
  // H100, utilization 0.3: 23.76 GiB less 14.99 weights, 1.89 activations and 0.25 outside are 6.63
  // GiB = 54,300 tokens. 8 requests of 8,192 take 8 GiB and, beside the null block, one block more:
  // 8.002 GiB. For them to fit for certain, the pool must be a ninth larger, as its size is known
  // to 10 %: 8.891 GiB, or 0.0286 of 79.19 GiB more: 0.33.
  Scenario s = llama_on_h100();
  s.engine.gpu_memory_utilization = 0.3;
  s.engine.max_model_len = 8192;
  const AuditReport report = audit_of(s, {8192, 8});
  CHECK(report.verdict == AuditVerdict::pool_too_small);
  REQUIRE_FALSE(report.fixes.empty());
  CHECK(report.fixes[0].option == "engine.gpu_memory_utilization");
  CHECK(report.fixes[0].to == "0.33");
  CHECK(report.fixes[0].pool_requests == 9);
  CHECK(std::ranges::is_sorted(report.fixes, {}, &Fix::cost));
}

TEST_CASE("a pool that is just large enough is tight", "[audit]") {
  Scenario s = llama_on_h100();
  s.engine.gpu_memory_utilization = 0.3;  // 6.63 GiB for KV, as above
  s.engine.max_model_len = 53'000;        // 6.47 GiB
  const AuditReport report = audit_of(s);
  CHECK(report.verdict == AuditVerdict::tight);
  // What starts for certain: 90 % of the 54,300 tokens.
  const Fix* shorter = fix_of(report.fixes, "engine.max_model_len");
  REQUIRE(shorter != nullptr);
  CHECK(std::stoi(shorter->to) == Approx(0.9 * 54'300).epsilon(0.01));
  s.engine.max_model_len = 40'000;
  CHECK(audit_of(s).verdict == AuditVerdict::fits);
  CHECK(audit_of(s, {53'000, 1}).verdict == AuditVerdict::context_too_long);
  s.engine.max_model_len = -1;  // the engine takes what fits
  CHECK(audit_of(s).verdict == AuditVerdict::fits);
}

TEST_CASE("the null block keeps the pool from holding one request more", "[audit]") {
  // 16 GiB are 8,192 blocks of 16, one of which is never handed out: 15 requests of 512 blocks.
  Scenario s = with_pool(16);
  s.engine.max_model_len = 8192;
  CHECK(audit_of(s, {8192, 15}).verdict == AuditVerdict::fits);
  const AuditReport report = audit_of(s, {8192, 16});
  CHECK(report.verdict == AuditVerdict::pool_too_small);
  CHECK(report.headroom.pool_requests == 15);
}

TEST_CASE("limits of the engine are raised to what is asked, and no further", "[audit]") {
  Scenario s = with_pool(16);
  s.engine.max_model_len = 4096;
  s.engine.max_num_seqs = 4;
  const AuditReport longer = audit_of(s, {5000, 1});
  CHECK(longer.verdict == AuditVerdict::context_too_long);
  REQUIRE_FALSE(longer.fixes.empty());
  CHECK(longer.fixes[0].option == "engine.max_model_len");
  CHECK(longer.fixes[0].to == "5000");

  const AuditReport more = audit_of(s, {4096, 6});
  CHECK(more.verdict == AuditVerdict::too_many_requests);
  REQUIRE_FALSE(more.fixes.empty());
  CHECK(more.fixes[0].option == "engine.max_num_seqs");
  CHECK(more.fixes[0].to == "6");
}

TEST_CASE("a share above what is free is lowered", "[audit]") {
  // GB10 natively: 121.70 GiB less 5.84 of the system are 115.86 free, 0.952 of the total: 0.96 is
  // refused, and 0.95 starts.
  Scenario s = llama_on_h100();
  s.device.name = "gb10";
  s.engine.gpu_memory_utilization = 0.96;
  s.engine.max_model_len = 8192;
  const AuditReport report = audit_of(s);
  CHECK(report.verdict == AuditVerdict::does_not_start);
  const Fix* share = fix_of(report.fixes, "engine.gpu_memory_utilization");
  REQUIRE(share != nullptr);
  CHECK(share->to == "0.95");
  CHECK(share->cost == FixCost::none);
}

TEST_CASE("weights that are quantised already are not quantised again", "[audit]") {
  // Qwen3-32B keeps 256 KiB per token, 10 GiB at its 40,960 tokens. 0.9 x 47.5 GiB less 32.7 of
  // weights and 0.8 beside them are 9.3 GiB; on two devices each has half of the weights and KV.
  Scenario s = llama_on_h100();
  s.device.name = "rtxa6000";
  s.model = "qwen3-32b-fp8";
  const AuditReport report = audit_of(s);
  CHECK(report.verdict == AuditVerdict::does_not_start);
  CHECK(fix_of(report.fixes, "engine.quantization") == nullptr);
  CHECK(fix_of(report.fixes, "engine.tensor_parallel_size") != nullptr);
}

TEST_CASE("requests in flight above 80 % of the pool are a warning", "[audit]") {
  // 16 GiB hold 16.0 requests of 8,192 tokens by the engine's count; 80 % are 12.8.
  Scenario s = with_pool(16);
  s.engine.max_model_len = 8192;
  s.engine.max_num_seqs = 12;
  CHECK_FALSE(has_alert(audit_of(s), "in_flight"));
  s.engine.max_num_seqs = 13;
  CHECK(has_alert(audit_of(s), "in_flight"));
}

TEST_CASE("a pool reserved on purpose is a note, weights that fill the device an alert",
          "[audit]") {
  const auto device_alert = [](const Scenario& s) {
    const AuditReport report = audit_of(s);
    const auto found = std::ranges::find(report.alerts, "device_memory", &AuditAlert::name);
    REQUIRE(found != report.alerts.end());
    return *found;
  };
  CHECK(device_alert(llama_on_h100()).level == AuditLevel::note);
  // Qwen2.5-32B: 61.0 GiB of weights, 2.2 of activations and 0.76 outside torch are 81 % of 79.19.
  Scenario s = llama_on_h100();
  s.model = "qwen2.5-32b";
  s.engine.max_model_len = 8192;
  s.engine.own.edit<VllmOptions>().enforce_eager = true;
  const AuditAlert alert = device_alert(s);
  CHECK(alert.level == AuditLevel::warning);
  CHECK(alert.limit == kMemoryWarningShare);
}

TEST_CASE("quantized weights do not imply quantized KV", "[audit]") {
  Scenario s = llama_on_h100();
  CHECK_FALSE(has_alert(audit_of(s), "kv_format"));
  s.engine.quantization = "fp8";
  CHECK(has_alert(audit_of(s), "kv_format"));
  s.engine.kv_cache_dtype = "fp8";
  CHECK_FALSE(has_alert(audit_of(s), "kv_format"));
}

TEST_CASE("a dropped page cache gives back its share of the pool", "[audit]") {
  // TensorRT-LLM reads MemFree: 12.6 GiB of page cache cost 0.9 x 12.6 GiB of KV, at 57,344 bytes
  // per token of Qwen2.5-7B 212,337 tokens, to a block of 32.
  Scenario s = llama_on_h100();
  s.model = "qwen2.5-7b";
  s.device.name = "gb10";
  s.environment.name = "native-gb10";
  s.engine.name = "trtllm";
  const AuditReport report = audit_of(s, {}, true);
  const Mitigation* drop = mitigation_of(report, "page cache");
  REQUIRE(drop != nullptr);
  CHECK(drop->regained >= 212337 - 32);
  CHECK(drop->regained <= 212337 + 32);
  CHECK_FALSE(drop->source.empty());
  CHECK(std::ranges::is_sorted(report.mitigations, std::greater<>(), &Mitigation::regained));
}

TEST_CASE("an engine that reads MemAvailable regains nothing from a dropped cache", "[audit]") {
  Scenario s = llama_on_h100();
  s.model = "qwen2.5-7b";
  s.device.name = "gb10";
  s.environment.name = "native-gb10";
  s.engine.gpu_memory_utilization = 0.8;
  const AuditReport current = audit_of(s, {}, true);
  CHECK(mitigation_of(current, "page cache") == nullptr);
  CHECK(mitigation_of(current, "MemAvailable") == nullptr);
  CHECK(mitigation_of(current, "larger share") != nullptr);
  CHECK(mitigation_of(current, "the size of the pool directly") != nullptr);
}

TEST_CASE("without the container its measured overhead comes back", "[audit]") {
  // 30.13 GiB of steady overhead: 0.9 x 30.13 GiB at 57,344 bytes are 507,754 tokens.
  Scenario s = llama_on_h100();
  s.model = "deepseek-r1-distill-qwen-7b";
  s.device.name = "gb10-2025";
  s.environment.name = "docker-measured-deepseek-7b";
  s.engine.name = "trtllm";
  const AuditReport report = audit_of(s, {}, true);
  const Mitigation* native = mitigation_of(report, "without the container");
  REQUIRE(native != nullptr);
  CHECK(native->regained >= 507754 - 64);
  CHECK(native->regained <= 507754 + 64);
}

TEST_CASE("nothing on the host helps a device with its own memory", "[audit]") {
  const AuditReport report = audit_of(llama_on_h100(), {}, true);
  CHECK(report.mitigated);
  CHECK(report.mitigations.empty());
}

TEST_CASE("every engine can be audited", "[audit]") {
  for (const Engine* engine : engines()) {
    INFO(engine->name);
    Scenario s = llama_on_h100();
    s.engine.name = engine->name;
    const AuditReport report = audit_of(s, {1024, 1});
    ByteCount sum = 0;
    for (const AuditTerm& term : report.terms) sum += term.bytes;
    CHECK(sum == report.system.budget.capacity_bytes);
  }
}

TEST_CASE("a need must be a number of requests and tokens", "[audit]") {
  CHECK_THROWS_WITH(audit_of(llama_on_h100(), {-1, 1}), Contains("--context"));
  CHECK_THROWS_WITH(audit_of(llama_on_h100(), {1024, 0}), Contains("--concurrency"));
}

}  // namespace headroom::audit_test
