#pragma once
// The made-up traces of tests/data/traces, one or two for each format, and files made from them.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/memory_file.hpp"

namespace headroom::trace_samples {

enum class Layout { table, json_lines, document };

struct Sample {
  std::string_view file;    // below tests/data/traces
  std::string_view format;  // its name in the table of formats
  Layout layout;
  // Its last bytes, where no record depends on them: a column that is not read, or a zero where an
  // empty field is a zero, too.
  std::string_view idle_end = {};
  // A line, from 1, whose row is later than the first one and may stand in front of it; 0: none.
  std::size_t late_line = 0;
};

[[nodiscard]] std::span<const Sample> all();
[[nodiscard]] std::string bytes_of(const Sample& sample);

// The lines of a text, each with its line end.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);
[[nodiscard]] std::string joined(std::span<const std::string> lines);

// One member of a gzip file.
[[nodiscard]] std::string gzip(std::string_view bytes);

// A place for files made from a sample, with what belongs to it beside them (lengths of chunks, a
// header). Gone with the object.
class Place {
 public:
  explicit Place(const Sample& sample);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  void write(std::string_view bytes) const { memory_.write(bytes); }

  // What reading a file with these bytes comes to.
  struct Outcome {
    std::vector<std::string> records;  // as trace_rows::in_file; none after an error
    std::string error;                 // without the path in front; empty: none
    friend bool operator==(const Outcome&, const Outcome&) = default;
  };
  [[nodiscard]] Outcome outcome(std::string_view bytes) const;
  [[nodiscard]] Outcome outcome() const;  // of what is there

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
  MemoryFile memory_;
};

}  // namespace headroom::trace_samples
