#include "sim/serving/fleet_sources.hpp"

#include <catch2/catch.hpp>

namespace headroom::fleet_sources_test {
namespace {

TEST_CASE("sources are numbered row by row, and rows without any are left out") {
  const FleetSources sources{{SourceKind::replica, 3},
                             {SourceKind::workload, 1},
                             {SourceKind::api_server, 0},
                             {SourceKind::verdicts, 1},
                             {SourceKind::faults, 1, true}};
  CHECK(sources.count() == 6);
  CHECK(sources.of(SourceKind::replica, 2) == 2);
  CHECK(sources.of(SourceKind::workload) == 3);
  CHECK(sources.of(SourceKind::verdicts) == 4);
  const auto [kind, number, daemon] = sources[1];
  CHECK(kind == SourceKind::replica);
  CHECK(number == 1);
  CHECK_FALSE(daemon);
  CHECK(sources[5].kind == SourceKind::faults);
  CHECK(sources[5].daemon);
}

}  // namespace
}  // namespace headroom::fleet_sources_test
