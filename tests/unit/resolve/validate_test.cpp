#include <catch2/catch.hpp>

#include <string>

#include "sim/resolve/resolve.hpp"
#include "sim/scenario/options.hpp"
#include "tests/support/about.hpp"

namespace headroom::validate_test {

namespace {

const std::string kLengths = R"("prompt": {"tokens": 8}, "output": {"tokens": 8})";

test::About error_of(const std::string& workload, const std::string& engine = "{}") {
  const std::string text =
      R"({"model": "m", "device": "d", "engine": )" + engine + R"(, "workload": )" + workload + "}";
  return test::about([&] { validate(parse_scenario(parse_json(text, "s.json"))); });
}

std::string synthetic(const std::string& rest) {
  return R"({"arrivals": {"process": "all_at_once"}, "num_requests": 3, )" + rest + "}";
}

}  // namespace

TEST_CASE("a complete synthetic workload is accepted") {
  CHECK(error_of(synthetic(kLengths)) == test::no_error());
  CHECK(error_of(R"({"trace": {"file": "t.csv"}})") == test::no_error());
}

TEST_CASE("what is missing is named") {
  CHECK(error_of("{}") == test::missing_at(""));  // several things at once
  CHECK(error_of("{" + kLengths + "}") == test::missing_at(""));
  CHECK(error_of(R"({"num_requests": 3, )" + kLengths + "}") ==
        test::missing_at("/workload/arrivals/request_rate"));
  CHECK(error_of(R"({"arrivals": {"process": "all_at_once"}, )" + kLengths + "}") ==
        test::missing_at("/workload/num_requests"));
  CHECK(error_of(
            synthetic(R"("prompt": {"tokens": 8}, "output": {"law": "lognormal", "sigma": 1})")) ==
        test::missing_at("/workload/output/median"));
  CHECK(error_of(synthetic(kLengths + R"(, "max_tokens": {"rule": "value"})")) ==
        test::missing_at("/workload/max_tokens/value"));
}

TEST_CASE("a trace and a generated workload exclude each other") {
  CHECK(error_of(R"({"trace": {"file": "t.csv"}, "num_requests": 3})") ==
        test::conflict_at("/workload/trace/file"));
}

TEST_CASE("users of a closed loop need no arrivals") {
  CHECK(error_of(R"({"closed_loop": {"users": 3}, "duration_s": 9, )" + kLengths + "}") ==
        test::no_error());
  CHECK(error_of(R"({"closed_loop": {"users": 3}, "arrivals": {"request_rate": 1},
                     "num_requests": 9, )" +
                 kLengths + "}") == test::conflict_at("/workload/closed_loop/users"));
  CHECK(error_of(R"({"closed_loop": {"start_within_s": 3}, "num_requests": 9, )" + kLengths +
                 "}") == test::missing_at("/workload/closed_loop/users"));
}

TEST_CASE("what only synthetic requests have is refused with a trace") {
  const std::string trace = R"({"trace": {"file": "t.csv"}, )";
  CHECK(error_of(trace + R"("patience": {"answer": {"mean_s": 1}}})") ==
        test::no_effect_at("/workload/patience"));
  CHECK(error_of(trace + R"("length_correlation": 0.5})") ==
        test::no_effect_at("/workload/length_correlation"));
  CHECK(error_of(R"({"trace": {"file": "t.csv", "copy_shift_s": 1}})") ==
        test::no_effect_at("/workload/trace/copy_shift_s"));
  CHECK(error_of(R"({"trace": {"file": "t.csv", "from_s": 2, "to_s": 2}})") ==
        test::value_at("/workload/trace/to_s"));
}

TEST_CASE("an optional section is complete or not there") {
  CHECK(error_of(synthetic(kLengths + R"(, "documents": {"share": 0.5})")) ==
        test::missing_at("/workload/documents/count"));
  CHECK(error_of(synthetic(kLengths + R"(, "sessions": {"tool_share": 0.5})")) ==
        test::missing_at("/workload/sessions/turns"));
  CHECK(error_of(synthetic(kLengths + R"(, "patience": {"answer": {"law": "uniform"}})")) ==
        test::missing_at("/workload/patience/answer/max_s"));
}

TEST_CASE("each class says who it is and where its requests come from") {
  const std::string shared = R"({"arrivals": {"request_rate": 1}, "num_requests": 3, "classes": [)";
  const std::string one = R"({"name": "a", )" + kLengths + "}";
  CHECK(error_of(shared + one + "]}") == test::no_error());
  CHECK(error_of(shared + "{" + kLengths + "}]}") == test::missing_at("/workload/classes/0/name"));
  CHECK(error_of(shared + one + ", " + one + "]}") ==
        test::conflict_at("/workload/classes/1/name"));
  CHECK(error_of(R"({"classes": [)" + one + "]}") ==
        test::missing_at("/workload/classes/0/arrivals"));
  CHECK(error_of(shared + R"({"name": "a", "promt": {}}]})") ==
        test::unknown_at("/workload/classes/0/promt"));
  CHECK(error_of(shared + R"({"name": "a", "prompt": {"tokens": 0}}]})") ==
        test::value_at("/workload/classes/0/prompt/tokens"));
  CHECK(error_of(R"({"share": 2, "trace": {"file": "t.csv"}})") ==
        test::conflict_at("/workload/share"));
}

TEST_CASE("an empty interval of lengths is refused") {
  CHECK(error_of(synthetic(
            R"("prompt": {"law": "uniform", "min": 9, "max": 8}, "output": {"tokens": 1})")) ==
        test::value_at("/workload/prompt/max"));
}

TEST_CASE("the KV pool has one size") {
  CHECK(error_of(synthetic(kLengths),
                 R"({"num_gpu_blocks_override": 9, "kv_cache_memory_bytes": 9})") ==
        test::conflict_at("/engine/num_gpu_blocks_override"));
}

TEST_CASE("the vllm scheduler needs blocks") {
  CHECK(error_of(synthetic(kLengths), R"({"kv_allocator": "contiguous"})") ==
        test::conflict_at("/engine/kv_allocator"));
}

}  // namespace headroom::validate_test
