#include "workloads/traces/headroom_csv_writer.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/random.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/unit/workloads/record_text.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::headroom_csv_writer_test {
namespace {

std::string written(const std::vector<TraceRecord>& records, const TraceCsvColumns& columns) {
  std::string text;
  TraceCsvWriter writer([&](std::string_view piece) { text += piece; }, columns);
  for (const TraceRecord& record : records) writer.write(record);
  writer.finish();
  return text;
}

std::string written(const std::vector<TraceRecord>& records, TraceClock clock) {
  TraceCsvColumns columns{.clock = clock};
  for (const TraceRecord& record : records) columns.include(record);
  return written(records, columns);
}

std::vector<std::string> texts(const std::vector<TraceRecord>& records) {
  std::vector<std::string> all;
  for (const TraceRecord& record : records) all.push_back(record_text(record));
  return all;
}

constexpr std::array<std::string_view, 6> kClasses = {"",
                                                      "chat",
                                                      "a,b",
                                                      "\"quoted\"",
                                                      " say \"hi\", twice ",
                                                      "\xC3\xBC"
                                                      "ber"};

bool coin(RandomStream& random) { return random.uniform_int(0, 1) == 1; }

// Small as often as large, the ends of the range included.
std::int64_t number(RandomStream& random, std::int64_t low, std::int64_t high) {
  switch (random.uniform_int(0, 3)) {
    case 0: return low;
    case 1: return high;
    case 2: return random.uniform_int(low, std::min(low + 9, high));
    default: return random.uniform_int(low, high);
  }
}

void add_prefix(RandomStream& random, TraceRecord& record) {
  std::int32_t left = record.prompt_tokens;
  for (std::int64_t n = random.uniform_int(0, 4); n > 0 && left > 0; --n) {
    const std::uint64_t id = coin(random) ? random.bits() : UINT64_MAX;
    const auto tokens = static_cast<std::int32_t>(number(random, 1, left));
    record.prefix.push_back({.id = id, .tokens = tokens});
    left -= tokens;
  }
}

void add_session(RandomStream& random, TraceClock clock, TraceRecord& record) {
  const bool needs_session = clock == TraceClock::per_session;
  if (!needs_session && coin(random)) return;
  record.session = coin(random) ? random.bits() >> 1 : kNoSession - 1;
  if (coin(random)) return;
  record.after_previous_ns = number(random, 0, kLatestTraceNs);
  if (coin(random)) record.time_ns = kNoTime;
}

TraceRecord random_record(RandomStream& random, TraceClock clock) {
  TraceRecord record;
  if (clock != TraceClock::none) record.time_ns = number(random, 0, kLatestTraceNs);
  record.prompt_tokens = static_cast<std::int32_t>(number(random, 0, INT32_MAX));
  record.output_tokens = static_cast<std::int32_t>(number(random, 0, INT32_MAX));
  record.thinking_tokens = static_cast<std::int32_t>(number(random, 0, record.output_tokens));
  record.max_tokens = static_cast<std::int32_t>(number(random, 0, INT32_MAX));
  record.priority = static_cast<std::int32_t>(number(random, INT32_MIN, INT32_MAX));
  record.class_name = kClasses[static_cast<std::size_t>(random.uniform_int(0, 5))];
  add_session(random, clock, record);
  add_prefix(random, record);
  if (coin(random)) record.output_segment = random.bits();
  if (coin(random)) record.gives_up_ns = number(random, 0, kLatestTraceNs);
  if (coin(random)) record.measured_ttft_ns = number(random, 0, kLatestTraceNs);
  if (coin(random)) record.measured_e2el_ns = number(random, 0, kLatestTraceNs);
  return record;
}

std::vector<TraceRecord> random_records(RandomStream& random, TraceClock clock, int count) {
  std::vector<TraceRecord> records;
  while (static_cast<int>(records.size()) < count) {
    records.push_back(random_record(random, clock));
    // The first row tells the clock, so it has a time where there is one.
    if (records.size() == 1 && clock != TraceClock::none) records[0].time_ns = 0;
  }
  return records;
}

}  // namespace

TEST_CASE("a table has the columns that were asked for", "[workloads]") {
  TraceRecord record;
  record.time_ns = 7;
  record.prompt_tokens = 20;
  record.output_tokens = 3;
  record.class_name = "a";
  record.session = 5;
  record.prefix = {{.id = 1, .tokens = 16}, {.id = 2, .tokens = 4}};
  CHECK(written({record}, TraceCsvColumns{}) == "arrival_ns,prompt_tokens,output_tokens\n7,20,3\n");
  CHECK(written({record}, TraceCsvColumns{.max_tokens = true, .session = true, .prefix = true}) ==
        "arrival_ns,prompt_tokens,output_tokens,max_tokens,session,prefix\n"
        "7,20,3,,5,1:16|2:4\n");
  CHECK(written({record}, TraceClock::per_session) ==
        "session_time_ns,prompt_tokens,output_tokens,class,session,prefix\n"
        "7,20,3,a,5,1:16|2:4\n");
  CHECK(written({}, TraceClock::absolute) == "arrival_ns,prompt_tokens,output_tokens\n");
}

TEST_CASE("records of every clock are equal after a round trip", "[workloads]") {
  RandomStream random(20, "round trip");
  for (const TraceClock clock : {TraceClock::absolute, TraceClock::per_session, TraceClock::none}) {
    for (int i = 0; i < 40; ++i) {
      const std::vector<TraceRecord> records = random_records(random, clock, i);
      const TempFile file(written(records, clock));
      REQUIRE(records_of_file(file.path()) == texts(records));
      const bool has_rows = !records.empty();
      if (has_rows) CHECK(TraceFile(file.path()).clock() == clock);
    }
  }
}

TEST_CASE("a table longer than the writer's buffer has no seam", "[workloads]") {
  RandomStream random(21, "round trip");
  const std::vector<TraceRecord> records = random_records(random, TraceClock::absolute, 5'000);
  const std::string text = written(records, TraceClock::absolute);
  CHECK(text.size() > 400'000);
  CHECK(records_of(text) == texts(records));
}

TEST_CASE("the samples of other formats are equal after a round trip", "[workloads]") {
  for (const char* name : {"burstgpt.csv", "vidur.csv", "vidur_lengths.csv", "splitwise.csv",
                           "tracelab_csv.csv", "blis.csv", "headroom.csv"}) {
    const std::string path = sample_path(name);
    TraceRecord record;
    TraceCsvColumns columns;
    TraceFile first(path);
    columns.clock = first.clock();
    while (first.next(record)) columns.include(record);
    std::string text;
    TraceCsvWriter writer([&](std::string_view piece) { text += piece; }, columns);
    TraceFile second(path);
    while (second.next(record)) writer.write(record);
    writer.finish();
    CHECK(records_of(text) == records_of_file(path));
  }
}

TEST_CASE("a row that the table cannot state is refused before anything of it is written",
          "[workloads]") {
  TraceRecord good;
  good.time_ns = 0;
  good.prompt_tokens = 8;
  good.output_tokens = 4;
  good.class_name = "a";
  good.session = 1;
  const auto error_of = [&](TraceClock clock, const TraceRecord& bad) -> std::string {
    TraceRecord first = good;
    if (clock == TraceClock::none) first.time_ns = kNoTime;
    TraceCsvColumns columns{.clock = clock, .after_previous = true};
    columns.include(first);
    columns.include(bad);
    std::string text;
    TraceCsvWriter writer([&](std::string_view piece) { text += piece; }, columns);
    writer.write(first);
    try {
      writer.write(bad);
    } catch (const DataError& error) {
      writer.finish();
      CHECK(text == written({first}, columns));
      return error.what();
    }
    return "no error";
  };
  const auto with = [&](auto change) {
    TraceRecord record = good;
    change(record);
    return record;
  };
  const TraceRecord timeless = with([](TraceRecord& r) { r.time_ns = kNoTime; });
  CHECK(error_of(TraceClock::absolute, good) == "no error");
  CHECK(error_of(TraceClock::absolute, timeless) ==
        "row 2: neither a time nor a gap after the previous answer");
  CHECK(error_of(TraceClock::none, good) == "row 2: a time in a table without times");
  CHECK(error_of(TraceClock::none, timeless) == "no error");
  CHECK(error_of(TraceClock::absolute, with([](TraceRecord& r) { r.time_ns = -1; })) ==
        "row 2: time out of range");
  CHECK(error_of(TraceClock::per_session, with([](TraceRecord& r) { r.session = kNoSession; })) ==
        "row 2: no session");
  CHECK(error_of(TraceClock::absolute, with([](TraceRecord& r) {
                   r.session = kNoSession;
                   r.after_previous_ns = 0;
                 })) == "row 2: a gap after the previous answer, but no session");
  CHECK(error_of(TraceClock::absolute, with([](TraceRecord& r) { r.thinking_tokens = 5; })) ==
        "row 2: more thinking tokens than output tokens");
  CHECK(error_of(TraceClock::absolute, with([](TraceRecord& r) {
                   r.prefix = {{.id = 1, .tokens = 5}, {.id = 2, .tokens = 4}};
                 })) == "row 2: more tokens in the prefix than in the prompt");
  CHECK(error_of(TraceClock::absolute, with([](TraceRecord& r) { r.class_name = "a\nb"; })) ==
        "row 2: a line break in the class name");
}

TEST_CASE("the first row of a table with times has one", "[workloads]") {
  TraceRecord record;
  record.session = 1;
  record.after_previous_ns = 5;
  CHECK_THROWS_WITH(written({record}, TraceClock::absolute), "row 1: no time in the first row");
}

}  // namespace headroom::headroom_csv_writer_test
