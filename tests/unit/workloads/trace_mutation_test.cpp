// Damaged traces: every sample cut off, with each of its numbers replaced by a wrong one, and with
// a piece of another format in its middle. What reading comes to is an error that names the place,
// never the records of the whole file.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/workloads/trace_numbers.hpp"
#include "tests/unit/workloads/trace_samples.hpp"

namespace headroom::trace_mutation_test {
namespace {

using trace_samples::bytes_of;
using trace_samples::gzip;
using trace_samples::joined;
using trace_samples::Layout;
using trace_samples::lines_of;
using trace_samples::Meaning;
using trace_samples::Number;
using trace_samples::numbers_of;
using trace_samples::Place;
using trace_samples::Sample;

// ":12: ..."
bool names_line(const std::string& error, std::size_t line) {
  return error.starts_with(":" + std::to_string(line) + ": ");
}

bool names_some_line(const std::string& error) {
  const std::size_t end = error.find_first_not_of("0123456789", 1);
  return error.starts_with(':') && end > 1 && end != std::string::npos && error[end] == ':';
}

std::string without(std::string_view text, std::string_view end) {
  return std::string(text.substr(0, text.find_last_not_of("\r\n") + 1 - end.size()));
}

std::string replaced(const std::string& bytes, const Number& number, std::string_view value) {
  std::string text = bytes;
  const bool is_word = number.bare && value == "x";
  return text.replace(number.begin, number.size, is_word ? "\"x\"" : value);
}

// The last part of "request_latency/value".
std::string_view last_key(std::string_view key) { return key.substr(key.find('/') + 1); }

TEST_CASE("a trace that is cut off is an error or has fewer records", "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    INFO(sample.file);
    const Place place(sample);
    const std::string bytes = bytes_of(sample);
    const Place::Outcome whole = place.outcome(bytes);
    const std::string content = without(bytes, sample.idle_end);
    // A document anywhere, other files within the last line.
    const std::size_t first = sample.layout == Layout::document ? 1 : content.rfind('\n') + 2;
    for (std::size_t size = first; size < content.size(); ++size) {
      const Place::Outcome outcome = place.outcome(bytes.substr(0, size));
      INFO("cut at byte " << size << " of " << bytes.size() << ": " << outcome.error);
      REQUIRE(outcome != whole);
      REQUIRE((outcome.error.empty() || names_some_line(outcome.error)));
    }
  }
}

TEST_CASE("a compressed trace that is cut off anywhere is an error", "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    INFO(sample.file);
    const Place place(sample);
    const std::string packed = gzip(bytes_of(sample));
    for (std::size_t size = 2; size < packed.size(); size += 7) {
      REQUIRE(place.outcome(packed.substr(0, size)).error ==
              ": damaged gzip file (it ends too early)");
    }
    CHECK(place.outcome(packed.substr(0, packed.size() - 1)).error ==
          ": damaged gzip file (it ends too early)");
    CHECK(place.outcome(packed + "x").error.starts_with(": damaged gzip file"));
  }
}

TEST_CASE("a wrong value for any number is an error that names its line and its key",
          "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    const Place place(sample);
    const std::string bytes = bytes_of(sample);
    for (const Number& number : numbers_of(sample, bytes)) {
      const Meaning meaning = trace_samples::meaning_of(sample, number.key);
      for (const std::string_view value : trace_samples::wrong_values(meaning)) {
        const std::string error = place.outcome(replaced(bytes, number, value)).error;
        INFO(sample.file << ":" << number.line << ": " << number.key << " = " << value << ": "
                         << error);
        CHECK(names_line(error, number.line));
        CHECK(error.find(last_key(number.key)) != std::string::npos);
      }
    }
  }
}

// What may stand in the middle of a file of the sample's layout without breaking its text: a table
// as `cat` would put it behind another one, the first rows of JSON lines, a document.
std::string piece_of(const Sample& sample) {
  const std::vector<std::string> lines = lines_of(bytes_of(sample));
  return sample.layout == Layout::document ? joined(lines) : joined(std::span(lines).first(2));
}

TEST_CASE("a piece of another format in the middle is an error", "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    const Place place(sample);
    const std::vector<std::string> lines = lines_of(bytes_of(sample));
    // Behind a document, behind some rows of others.
    const std::size_t kept = sample.layout == Layout::document ? lines.size() : 3;
    const std::string before = joined(std::span(lines).first(kept));
    const std::string after = joined(std::span(lines).subspan(kept));
    for (const Sample& other : trace_samples::all()) {
      if (other.format == sample.format) continue;
      std::string mixed = before;
      mixed += piece_of(other);
      mixed += after;
      const std::string error = place.outcome(mixed).error;
      INFO(other.file << " in " << sample.file << ": " << error);
      CHECK_FALSE(error.empty());
      // Documents say how many there are; with RAGPulse's keys in it, files of chunks are looked
      // for.
      const bool says_more = sample.layout == Layout::document || other.format == "ragpulse";
      CHECK((names_some_line(error) || says_more));
    }
  }
}

// Rows of tables say nothing of their columns: with as many fields, one of splitwise-sim passes for
// one of vidur's, as counts, texts and times stand where such may stand.
bool passes_for(const Sample& other, const Sample& sample) {
  return other.format == "splitwise" && sample.file == "vidur.csv";
}

TEST_CASE("a row of another table in the middle is an error", "[workloads]") {
  for (const Sample& sample : trace_samples::all()) {
    if (sample.layout != Layout::table) continue;
    const Place place(sample);
    const std::vector<std::string> lines = lines_of(bytes_of(sample));
    for (const Sample& other : trace_samples::all()) {
      const bool skipped = other.layout != Layout::table || other.format == sample.format;
      if (skipped || passes_for(other, sample)) continue;
      std::vector<std::string> mixed = lines;
      mixed.insert(mixed.begin() + 3, lines_of(bytes_of(other))[1]);
      const std::string error = place.outcome(joined(mixed)).error;
      INFO("a row of " << other.file << " in " << sample.file);
      CHECK(names_line(error, 4));
    }
  }
}

}  // namespace
}  // namespace headroom::trace_mutation_test
