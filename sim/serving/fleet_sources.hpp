#pragma once
// The event sources in the queue of a fleet, in rows of one kind each. A source has a number in the
// event queue; at the same nanosecond and priority the smaller number comes first.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace headroom {

enum class SourceKind : std::uint8_t {
  replica,     // step_end, plan
  workload,    // arrival; cancel: a client gives up
  api_server,  // one per replica; step_end: an answer reaches its client, arrival: a request the
               // engine
  entries,     // arrival: a request enters its engine behind others
  handovers,   // arrival: of prompts computed elsewhere
  verdicts,    // arrival: of answers that are judged
  faults,      // cancel
  lifecycle    // cancel: replicas come and go
};
inline constexpr std::size_t kSourceKinds = 8;

class FleetSources {
 public:
  struct Row {
    SourceKind kind = SourceKind::replica;
    std::uint32_t count = 0;
    bool daemon = false;  // does not keep a run going
  };
  // Rows without sources are left out.
  FleetSources(std::initializer_list<Row> rows) {
    for (const Row& row : rows) {
      if (row.count == 0) continue;
      first_[static_cast<std::size_t>(row.kind)] = count_;
      for (std::uint32_t i = 0; i < row.count; ++i) sources_.push_back({row.kind, i, row.daemon});
      count_ += row.count;
    }
  }

  struct Source {
    SourceKind kind = SourceKind::replica;
    std::uint32_t number = 0;  // among those of its kind
    bool daemon = false;
  };
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] const Source& operator[](std::uint32_t source) const { return sources_[source]; }
  [[nodiscard]] std::uint32_t of(SourceKind kind, std::uint32_t number = 0) const {
    return first_[static_cast<std::size_t>(kind)] + number;
  }

 private:
  std::uint32_t count_ = 0;
  std::array<std::uint32_t, kSourceKinds> first_{};
  std::vector<Source> sources_;
};

}  // namespace headroom
