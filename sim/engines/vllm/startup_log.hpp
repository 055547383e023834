#pragma once
// Start-up messages of vLLM: V0 of August 2023 to 0.9, V1 of February 2025 to autumn 2026.
// Recognized by wording, not by version.

#include <cstdint>
#include <set>
#include <string>

#include "sim/engines/startup_log.hpp"

namespace headroom {

class VllmLogReader final : public StartupLogReader {
 public:
  void read(const LogLine& line) override;

  [[nodiscard]] std::int64_t marks() const override { return marks_; }
  [[nodiscard]] StartupLog finish() override;

 private:
  // What start-up is busy with: where an allocation that fails puts the blame.
  enum class Phase : std::uint8_t { loading, profiling, pool, capture, warm_up, serving };

  void read_start(const LogLine& line);
  void read_settings(const LogLine& line);
  void read_figures(const LogLine& line);
  void read_phase(const LogLine& line);
  void read_failure(const LogLine& line);
  void fail(const LogLine& line, std::string_view message, StartupStage stage);
  [[nodiscard]] StartupStage stage() const;
  void start_again();
  void list_missing();

  StartupLog log_;
  std::int64_t marks_ = 0;
  Phase phase_ = Phase::loading;
  bool generic_failure_ = false;   // "out of memory" alone; a message that says more replaces it
  std::set<std::string> started_;  // processes that announced this start
};

}  // namespace headroom
