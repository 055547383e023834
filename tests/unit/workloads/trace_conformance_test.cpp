// What must hold of the readers of all formats alike, checked on the sample of each.

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/workloads/trace_rows.hpp"
#include "tests/unit/workloads/trace_samples.hpp"
#include "workloads/traces/detect.hpp"

namespace headroom::trace_conformance_test {
namespace {

using trace_samples::bytes_of;
using trace_samples::gzip;
using trace_samples::joined;
using trace_samples::Layout;
using trace_samples::lines_of;
using trace_samples::Place;
using trace_samples::Sample;

std::string stripped(std::string text) {
  text.resize(text.find_last_not_of("\r\n") + 1);
  return text;
}

// The text with `end` in place of each line end.
std::string with_line_ends(const std::string& text, std::string_view end) {
  std::string all;
  for (const char c : text) all += c == '\n' ? std::string(end) : std::string(1, c);
  return all;
}

// The rows of the file that are earlier than the row before them; a row without a time stands where
// the latest one with a time of its session does.
std::int64_t backward_steps(const std::string& path) {
  TraceFile file(path);
  TraceRecord record;
  std::vector<std::pair<std::uint64_t, TimeNs>> stated;  // session and time
  std::int64_t steps = 0;
  TimeNs previous = INT64_MIN;
  while (file.next(record)) {
    TimeNs time = record.time_ns;
    if (time == kNoTime) {
      const auto found = std::find_if(stated.rbegin(), stated.rend(), [&](const auto& earlier) {
        return earlier.first == record.session;
      });
      time = found == stated.rend() ? previous : found->second;
    } else {
      stated.emplace_back(record.session, time);
    }
    steps += time < previous ? 1 : 0;
    previous = time;
  }
  return steps;
}

TEST_CASE("every format has a sample, recognised by that format alone", "[workloads]") {
  for (const TraceFormat& format : trace_formats()) {
    INFO(format.name);
    const auto samples = trace_samples::all();
    CHECK(std::ranges::any_of(samples, [&](const Sample& s) { return s.format == format.name; }));
  }
  for (const Sample& sample : trace_samples::all()) {
    INFO(sample.file);
    const std::string bytes = bytes_of(sample);
    CHECK(trace_rows::formats_of(bytes) == sample.format);
    CHECK(trace_rows::formats_of("\xEF\xBB\xBF\r\n\n" + with_line_ends(bytes, "\r\n")) ==
          sample.format);
    CHECK(trace_rows::formats_of(gzip(bytes)) == sample.format);
  }
}

TEST_CASE("line ends, blank lines and a byte order mark leave the records as they are",
          "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    INFO(sample.file);
    const Place place(sample);
    const std::string bytes = bytes_of(sample);
    const Place::Outcome expected = place.outcome(bytes);
    REQUIRE(expected.error.empty());
    REQUIRE(expected.records.size() >= 5);
    const std::string crlf = with_line_ends(bytes, "\r\n");
    for (const std::string& variant :
         {crlf, stripped(bytes), stripped(crlf), stripped(bytes) + '\r', "\xEF\xBB\xBF" + bytes,
          "\xEF\xBB\xBF" + stripped(crlf), "\n\r\n" + bytes, "\xEF\xBB\xBF\n" + bytes,
          bytes + "\n\r\n\n", with_line_ends(bytes, "\n\n"), with_line_ends(bytes, "\r\n\n\r\n")}) {
      CHECK(place.outcome(variant) == expected);
    }
  }
}

TEST_CASE("a compressed trace gives the records of the plain one", "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    INFO(sample.file);
    const Place place(sample);
    const std::string bytes = bytes_of(sample);
    const Place::Outcome expected = place.outcome(bytes);
    const std::size_t half = bytes.size() / 2;
    const std::string two_members = gzip(bytes.substr(0, half)) + gzip(bytes.substr(half));
    CHECK(place.outcome(gzip(bytes)) == expected);
    CHECK(place.outcome(two_members) == expected);
    CHECK(place.outcome(gzip("") + gzip(bytes) + gzip("")) == expected);
    CHECK(place.outcome(gzip("\xEF\xBB\xBF" + with_line_ends(bytes, "\r\n"))) == expected);
  }
}

TEST_CASE("a pipe gives the records of the file", "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    const std::string bytes = bytes_of(sample);
    for (const std::string& sent : {bytes, gzip(bytes)}) {
      INFO(sample.file);
      const Place place(sample);
      const Place::Outcome expected = place.outcome(sent);
      std::filesystem::remove(place.path());
      REQUIRE(::mkfifo(place.path().c_str(), 0600) == 0);
      // Byte by byte at first, so that reads are short, too.
      std::thread writer([&] {
        std::ofstream pipe(place.path(), std::ios::binary);
        for (std::size_t i = 0; i < sent.size(); ++i) {
          pipe << sent[i];
          if (i < 40) pipe.flush();
        }
      });
      const Place::Outcome outcome = place.outcome();
      writer.join();
      CHECK(outcome == expected);
    }
  }
}

TEST_CASE("rows out of order are counted and sorted", "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    INFO(sample.file);
    const Place place(sample);
    std::vector<std::string> lines = lines_of(bytes_of(sample));
    if (sample.late_line != 0) {  // to the front: into line 1, or behind the header
      const auto late = lines.begin() + static_cast<std::ptrdiff_t>(sample.late_line - 1);
      const auto front = lines.begin() + (sample.layout == Layout::table ? 1 : 0);
      REQUIRE(late > front);
      std::rotate(front, late, late + 1);
    }
    place.write(joined(lines));
    const Trace trace = read_trace(place.path(), {.zero_tokens = ZeroTokens::clamp});
    if (trace.clock != TraceClock::absolute) continue;
    CHECK(trace.backward_steps == backward_steps(place.path()));
    if (sample.late_line != 0) CHECK(trace.backward_steps > 0);
    CHECK(std::ranges::is_sorted(trace.rows, {}, &TraceRow::time_ns));
    CHECK(trace.rows.front().time_ns == 0);
    CHECK(trace.rows_read == static_cast<std::int64_t>(trace.rows.size()));
  }
}

}  // namespace
}  // namespace headroom::trace_conformance_test
