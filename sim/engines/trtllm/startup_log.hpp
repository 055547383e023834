#pragma once
// Start-up messages of TensorRT-LLM: the C++ runtime (October 2023 to 2025) and the PyTorch backend
// (April 2025 to 1.1).

#include <cstdint>
#include <string_view>

#include "sim/engines/startup_log.hpp"

namespace headroom {

// The C++ runtime does not print its fraction, and of its memory only what is free when the pool is
// sized; then `peak_gib` is what was not free. The PyTorch backend allocates a pool twice, a small
// one to profile with; the last one counts.
class TrtllmLogReader final : public StartupLogReader {
 public:
  void read(const LogLine& line) override;

  [[nodiscard]] std::int64_t marks() const override { return marks_; }
  [[nodiscard]] StartupLog finish() override;

 private:
  void read_settings(const LogLine& line);
  void read_runtime_memory(const LogLine& line);
  void read_failure(const LogLine& line);
  void fail(const LogLine& line, std::string_view message, StartupStage stage);
  void list_missing();

  StartupLog log_;
  std::int64_t marks_ = 0;
  std::int64_t mpi_ranks_ = 0;
  bool serving_ = false;
  bool pytorch_ = false;  // the PyTorch backend profiled
};

}  // namespace headroom
