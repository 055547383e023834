#pragma once
// What an engine makes of an arrival before any queue (docs/semantics.md 11): the request that it
// takes in, and whether it can ever serve it.

#include <algorithm>
#include <cstdint>

#include "sim/kernel/likely.hpp"
#include "sim/serving/options.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

class AdmissionRules {
 public:
  AdmissionRules(const AdmissionLimits& limits, OutputReservation reservation)
      : limits_(limits), reservation_(reservation) {}

  // Makes `request` the one that waits for its first admission. In place: a copy of what was just
  // written in smaller parts would wait for it.
  void fill(Request& request, const Arrival& arrival, std::uint64_t index) const;

  // Prompt and answer fit into the context.
  [[nodiscard]] bool fits_context(const Request& request) const;
  // They do, and into an empty KV pool as well.
  [[nodiscard]] bool can_ever_serve(const Request& request) const;
  // An engine with so many requests turns away all others.
  [[nodiscard]] bool is_full(std::int64_t requests) const {
    return requests >= limits_.max_requests;
  }

 private:
  [[nodiscard]] std::int32_t room_behind(std::int32_t prompt_tokens) const {
    return std::max(1, limits_.max_model_len - prompt_tokens);
  }
  [[nodiscard]] std::int32_t reserved_output(const Request& request, std::int32_t output) const;

  // Both as constructed.
  AdmissionLimits limits_;
  OutputReservation reservation_;
};

// Tokens that the model really produces for it.
[[nodiscard]] inline std::int32_t output_of(const Request& request, const Arrival& arrival) {
  return std::min(arrival.output_tokens, request.max_tokens);
}

}  // namespace headroom
