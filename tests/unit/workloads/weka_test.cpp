#include "workloads/traces/weka.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/workloads/trace_rows.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::weka_test {
namespace {

using Rows = std::vector<std::string>;

// A session of one request with these keys.
std::string session(const std::string& request, const std::string& keys = R"("block_size": 64)") {
  return R"({"id": "s", )" + keys + R"(, "requests": [{"type": "n", )" + request + "}]}\n";
}

trace_rows::Names names() {
  trace_rows::Names all;
  for (const std::string name : {"s1", "s2", "s4"}) {
    all.of.emplace_back(text_id(name), name);
    for (std::uint64_t id = 1; id < 10; ++id) {
      all.of.emplace_back(mixed_id(text_id(name), id), name + "." + std::to_string(id));
    }
  }
  return all;
}

TEST_CASE("sessions of a WekaTrace are read with their subagents in place", "[workloads]") {
  const Rows rows = trace_rows::in_file(trace_rows::sample("weka.jsonl"), names());
  CHECK(rows == Rows{// Two blocks of 64 and the rest of the 150 tokens.
                     "0,150,20 class=big session=s1 prefix=s1.1:64|s1.2:64|s1.3:22 ttft=750000000 "
                     "e2el=4125000000",
                     // Ids of whole blocks only: 8 of the 200 tokens have none.
                     "9700000000,200,5 class=big session=s1 after=5500000000 "
                     "prefix=s1.1:64|s1.2:64|s1.4:64 e2el=1000000000",
                     // Two subagents, side by side.
                     "12000000000,64,3 class=small session=s1 prefix=s1.9:64 e2el=2000000000",
                     "14500000000,100,4 class=small session=s1 after=250000000 prefix=s1.9:64",
                     "12250000000,65,1 class=small session=s1 prefix=s1.9:64|s1.8:1",
                     // The request after them waits for the last.
                     "20000000000,300,0 class=big session=s1 after=1500000000 "
                     "prefix=s1.1:64|s1.2:64|s1.4:64",
                     // Blocks of 16 with ids that all sessions share.
                     "0,33,2 class=big session=s2 prefix=1:16|2:16|3:1",
                     "3500000000,8,2 class=big session=s2",
                     // Does not wait for a subagent that was only launched.
                     "4000000000,40,2 class=big session=s2 prefix=1:16|2:16",
                     "500000000,64,7 class=big session=s4 prefix=s4.1:64"});
}

TEST_CASE("a WekaTrace has a clock per session", "[workloads]") {
  const Trace trace = read_trace(trace_rows::sample("weka.jsonl"), {});
  CHECK(trace.format == "weka");
  CHECK(trace.clock == TraceClock::per_session);
  CHECK(trace.rows_read == 10);
  CHECK(trace.rows_dropped.output_only == 1);
  CHECK(trace.rows[1].time_ns == 9'700'000'000);
}

TEST_CASE("line ends do not matter to a WekaTrace", "[workloads]") {
  CHECK(
      trace_rows::line_ends_do_not_matter(trace_rows::bytes_of(trace_rows::sample("weka.jsonl"))));
}

TEST_CASE("subagents nest", "[workloads]") {
  const std::string inner = R"({"type": "n", "t": 3, "in": 3, "out": 1})";
  const std::string middle = R"({"type": "subagent", "requests": [)" + inner + "]}";
  const std::string outer = R"({"type": "subagent", "requests": [)" + middle + "]}";
  CHECK(trace_rows::in(R"({"id": 5, "block_size": 64, "requests": [)" + outer + "]}") ==
        Rows{"3000000000,3,1 session=5"});
}

TEST_CASE("an empty subagent changes nothing for the request after it", "[workloads]") {
  CHECK(trace_rows::in(R"({"id": 5, "block_size": 64, "requests": [)"
                       R"({"type": "n", "t": 0, "in": 3, "out": 1},)"
                       R"({"type": "subagent", "status": "async_launched", "requests": []},)"
                       R"({"type": "n", "t": 9, "in": 3, "out": 1, "think_time": 2}]})") ==
        Rows{"0,3,1 session=5", "9000000000,3,1 session=5 after=2000000000"});
}

TEST_CASE("a malformed session of a WekaTrace is refused with line, key and value", "[workloads]") {
  const std::string good = R"({"id": "first", "block_size": 64, "requests": []})"
                           "\n";
  const auto error = [&](const std::string& row) { return trace_rows::error_in(good + row); };
  CHECK(error(session(R"("t": 0, "in": 128, "out": 1, "hash_ids": [1, 2, 3])")) ==
        ":2: hash_ids is '3 ids', expected at most 2: one for each block of 64 of the 128 tokens "
        "(1 rows read)");
  CHECK(error(session(R"("t": 0, "in": 9, "out": 1, "hash_ids": [-4])")) ==
        ":2: hash_ids is '-4', expected integers >= 0 (1 rows read)");
  CHECK(error(session(R"("t": -1, "in": 9, "out": 1)")) ==
        ":2: t is '-1', expected a number >= 0 within 285 years (1 rows read)");
  CHECK(error(session(R"("in": 9, "out": 1)")) ==
        ":2: t is missing, expected seconds since the start of the session (1 rows read)");
  CHECK(error(session(R"("t": 0, "out": 1)")) ==
        ":2: in is missing, expected an integer in 0 .. 2147483647 (1 rows read)");
  CHECK(error(session(R"("t": 0, "in": 1, "out": 1)", R"("hash_id_scope": "galaxy")")) ==
        ":2: hash_id_scope is 'galaxy', expected local or global (1 rows read)");
  CHECK(error(session(R"("t": 0, "in": 1, "out": 1)", R"("block_size": 0)")) ==
        ":2: block_size is '0', expected at least 1 (1 rows read)");
  CHECK(error(R"({"id": "first", "block_size": 64, "requests": []})") ==
        ":2: id is 'first', expected a session that was not read before (1 rows read)");
  CHECK(error(R"({"block_size": 64, "requests": []})") ==
        ":2: id is missing, expected the name of the session (1 rows read)");
  CHECK(error(R"({"id": "x", "block_size": 64})") ==
        ":2: requests is missing, expected an array of objects (1 rows read)");
  CHECK(error(R"({"id": "x", "requests": [{"type": "z"}]})") ==
        ":2: type is 'z', expected n, s or subagent (1 rows read)");
  CHECK(error("{\"id\":") == ":2: malformed JSON at byte 7");
}

}  // namespace
}  // namespace headroom::weka_test
