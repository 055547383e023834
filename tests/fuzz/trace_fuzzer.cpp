// libFuzzer program: bytes are a trace file of any format. scripts/fuzz.sh builds and runs it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/trace_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static headroom::TraceBytes file;
  static_cast<void>(file.read({reinterpret_cast<const char*>(data), size}));
  return 0;
}
