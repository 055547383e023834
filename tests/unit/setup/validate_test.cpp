#include <catch2/catch.hpp>

#include <string>

#include "sim/setup/options.hpp"
#include "sim/setup/resolve.hpp"

namespace headroom::validate_test {

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
        "s.json: /workload/num_requests: missing: expected how many requests to generate, "
        "or num_sessions, or duration_s");
  CHECK(error_of(
            synthetic(R"("prompt": {"tokens": 8}, "output": {"law": "lognormal", "sigma": 1})")) ==
        "s.json: /workload/output/median: missing: expected either median or mean");
  CHECK(error_of(synthetic(kLengths + R"(, "max_tokens": {"rule": "value"})")) ==
        "s.json: /workload/max_tokens/value: missing: expected tokens");
}

TEST_CASE("a trace and a generated workload exclude each other") {
  CHECK(error_of(R"({"trace": {"file": "t.csv"}, "num_requests": 3})") ==
        "s.json: /workload/trace/file: a trace has its own arrivals and lengths: remove arrivals, "
        "closed_loop, servegen, num_requests, prompt and output, or the trace");
}

TEST_CASE("users of a closed loop need no arrivals") {
  CHECK(error_of(R"({"closed_loop": {"users": 3}, "duration_s": 9, )" + kLengths + "}") ==
        "no error");
  CHECK(error_of(R"({"closed_loop": {"users": 3}, "arrivals": {"request_rate": 1},
                     "num_requests": 9, )" +
                 kLengths + "}") ==
        "s.json: /workload/closed_loop/users: users send when they have an answer: remove "
        "arrivals");
  CHECK(error_of(R"({"closed_loop": {"start_within_s": 3}, "num_requests": 9, )" + kLengths +
                 "}") == "s.json: /workload/closed_loop/users: missing: expected how many users");
}

TEST_CASE("what only synthetic requests have is refused with a trace") {
  const std::string trace = R"({"trace": {"file": "t.csv"}, )";
  CHECK(error_of(trace + R"("patience": {"answer": {"mean_s": 1}}})") ==
        "s.json: /workload/patience: has no effect with a trace");
  CHECK(error_of(trace + R"("length_correlation": 0.5})") ==
        "s.json: /workload/length_correlation: has no effect with a trace");
  CHECK(error_of(R"({"trace": {"file": "t.csv", "copy_shift_s": 1}})") ==
        "s.json: /workload/trace/copy_shift_s: has no effect with one copy");
  CHECK(error_of(R"({"trace": {"file": "t.csv", "from_s": 2, "to_s": 2}})") ==
        "s.json: /workload/trace/to_s: value 2: expected above from_s = 2");
}

TEST_CASE("an optional section is complete or not there") {
  CHECK(error_of(synthetic(kLengths + R"(, "documents": {"share": 0.5})")) ==
        "s.json: /workload/documents/count: missing: expected how many different ones");
  CHECK(error_of(synthetic(kLengths + R"(, "sessions": {"tool_share": 0.5})")) ==
        "s.json: /workload/sessions/turns: missing: expected a law, e.g. {\"law\": \"fixed\", "
        "\"tokens\": 512}");
  CHECK(error_of(synthetic(kLengths + R"(, "patience": {"answer": {"law": "uniform"}})")) ==
        "s.json: /workload/patience/answer/max_s: missing: expected the longest, in seconds");
}

TEST_CASE("each class says who it is and where its requests come from") {
  const std::string shared = R"({"arrivals": {"request_rate": 1}, "num_requests": 3, "classes": [)";
  const std::string one = R"({"name": "a", )" + kLengths + "}";
  CHECK(error_of(shared + one + "]}") == "no error");
  CHECK(error_of(shared + "{" + kLengths + "}]}") ==
        "s.json: /workload/classes/0/name: missing: expected a name, which results show");
  CHECK(error_of(shared + one + ", " + one + "]}") ==
        "s.json: /workload/classes/1/name: class 0 has the same");
  CHECK(error_of(R"({"classes": [)" + one + "]}") ==
        "s.json: /workload/classes/0/arrivals: missing: expected arrivals, closed_loop or a trace, "
        "here or for all classes");
  CHECK(error_of(shared + R"({"name": "a", "promt": {}}]})") ==
        "s.json: /workload/classes/0/promt: unknown key (nearest: prompt)");
  CHECK(error_of(shared + R"({"name": "a", "prompt": {"tokens": 0}}]})") ==
        "s.json: /workload/classes/0/prompt/tokens: value 0: expected integer >= 1 and <= "
        "100000000");
  CHECK(error_of(R"({"share": 2, "trace": {"file": "t.csv"}})") ==
        "s.json: /workload/share: only a class has a share of the arrivals");
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

}  // namespace headroom::validate_test
