#pragma once
// The one way in which the fuzzer and the replay of its corpus read bytes as a trace file.

#include <filesystem>
#include <string>
#include <string_view>

#include "tests/fuzz/memory_file.hpp"

namespace headroom {

// A file in memory, with the chunk files of a RAGPulse trace beside it: readers open it by a path.
class TraceBytes {
 public:
  TraceBytes();
  ~TraceBytes();
  TraceBytes(const TraceBytes&) = delete;
  TraceBytes& operator=(const TraceBytes&) = delete;

  // Reads the bytes row by row, and again as a whole trace. Returns the format and the number of
  // rows, "azure 8", or the text of the DataError without the path in front. Anything else is a bug
  // and throws InternalError: another exception, a record that breaks the promises of TraceRecord,
  // two ways of reading that disagree, an error without the path.
  [[nodiscard]] std::string read(std::string_view bytes);

 private:
  std::filesystem::path folder_;
  std::string path_;
  MemoryFile memory_;
};

}  // namespace headroom
