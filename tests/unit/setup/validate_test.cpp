#include <catch2/catch.hpp>

#include <string>

#include "sim/setup/options.hpp"
#include "sim/setup/resolve.hpp"

using namespace headroom;

namespace {

const std::string kLengths = R"("prompt": {"tokens": 8}, "output": {"tokens": 8})";

std::string error_of(const std::string& workload, const std::string& engine = "{}") {
  const std::string text =
      R"({"model": "m", "device": "d", "engine": )" + engine + R"(, "workload": )" + workload + "}";
  try {
    validate(parse_scenario(parse_json(text, "s.json")));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string synthetic(const std::string& rest) {
  return R"({"arrivals": {"process": "all_at_once"}, "num_requests": 3, )" + rest + "}";
}

}  // namespace

TEST_CASE("a complete synthetic workload is accepted") {
  CHECK(error_of(synthetic(kLengths)) == "no error");
  CHECK(error_of(R"({"trace": {"file": "t.csv"}})") == "no error");
}

TEST_CASE("what is missing is named") {
  CHECK(error_of("{}") ==
        "s.json: /workload: missing: expected trace.file, or arrivals with "
        "num_requests, prompt and output");
  CHECK(error_of(R"({"num_requests": 3, )" + kLengths + "}") ==
        "s.json: /workload/arrivals/request_rate: missing: expected requests per second");
  CHECK(error_of(R"({"arrivals": {"process": "all_at_once"}, )" + kLengths + "}") ==
        "s.json: /workload/num_requests: missing: expected how many requests to generate");
  CHECK(error_of(
            synthetic(R"("prompt": {"tokens": 8}, "output": {"law": "lognormal", "sigma": 1})")) ==
        "s.json: /workload/output/median: missing: expected either median or mean, in tokens");
  CHECK(error_of(synthetic(kLengths + R"(, "max_tokens": {"rule": "value"})")) ==
        "s.json: /workload/max_tokens/value: missing: expected tokens");
}

TEST_CASE("a trace and a generated workload exclude each other") {
  CHECK(error_of(R"({"trace": {"file": "t.csv"}, "num_requests": 3})") ==
        "s.json: /workload/trace/file: a trace has its own arrivals and lengths: remove arrivals, "
        "num_requests, prompt and output, or the trace");
}

TEST_CASE("an empty interval of lengths is refused") {
  CHECK(error_of(synthetic(
            R"("prompt": {"law": "uniform", "min": 9, "max": 8}, "output": {"tokens": 1})")) ==
        "s.json: /workload/prompt/max: value 8: expected at least min = 9");
}

TEST_CASE("the KV pool has one size") {
  CHECK(error_of(synthetic(kLengths),
                 R"({"num_gpu_blocks_override": 9, "kv_cache_memory_bytes": 9})") ==
        "s.json: /engine/num_gpu_blocks_override: the KV pool has one size: give this or "
        "kv_cache_memory_bytes, not both");
}

TEST_CASE("the vllm scheduler needs blocks") {
  CHECK(error_of(synthetic(kLengths), R"({"kv_allocator": "contiguous"})") ==
        "s.json: /engine/kv_allocator: scheduler vllm grows requests block by block: it needs "
        "kv_allocator paged");
}
