#pragma once
// What was measured of a server.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/metrics/itl_meter.hpp"
#include "sim/metrics/serving_metrics.hpp"
#include "sim/observe/load_watch.hpp"
#include "sim/observe/server_facts.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

struct ObservedRequest {
  Arrival sent;                       // as the workload wanted it; its prefix is in `pieces`
  std::vector<PrefixSegment> pieces;  // of the prompt
  TimeNs sent_ns = 0;                 // when it was sent; times count from the run's start
  TimeNs first_token_ns = -1;
  TimeNs last_token_ns = -1;
  std::int32_t prompt_tokens = 0;  // by the server's count, where it has one
  std::int32_t output_tokens = 0;  // likewise; of an answer that broke off: those that came
  std::int64_t chunks = 0;
  TimeNs longest_gap_ns = 0;
  Outcome outcome = Outcome::unfinished;
  std::string problem;  // why it is not finished

  [[nodiscard]] TimeNs late_ns() const { return sent_ns - sent.time_ns; }
};

enum class ObservationEnd : std::uint8_t {
  complete,     // the workload's requests, or as many as were allowed
  seconds,      // no more were sent after the time that was allowed
  interrupted,  // by the user
  server_lost   // several requests in a row failed
};
[[nodiscard]] std::string_view name_of(ObservationEnd end);

struct Observation {
  std::string url;
  std::string started_utc;        // "2026-11-26T07:30:00Z"
  std::uint64_t prompt_seed = 0;  // of the made-up text
  ServerFacts server;
  std::string engine;  // by the names of its metrics; empty: not known
  std::vector<ObservedRequest> warmup;
  std::vector<ObservedRequest> requests;  // in the order in which they were sent
  ItlMeter itl;                           // of finished ones
  std::vector<LoadSample> load;           // times count from the run's start
  std::string load_problem;
  TimeNs duration_ns = 0;
  ObservationEnd end = ObservationEnd::complete;

  // As a simulated run's, by the same definitions.
  [[nodiscard]] std::vector<RequestRecord> records() const;
  [[nodiscard]] ServingMetrics metrics() const;
  [[nodiscard]] std::int64_t count(Outcome outcome) const;
  // What a reader of the figures has to know, one sentence each.
  [[nodiscard]] std::vector<std::string> notes() const;
};

}  // namespace headroom
