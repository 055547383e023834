#include "sim/serving/admission_rules.hpp"

#include <bit>

namespace headroom {

void AdmissionRules::fill(Request& request, const Arrival& arrival, std::uint64_t index) const {
  request = {};
  request.index = index;
  request.arrival_ns = arrival.time_ns;
  request.prompt_tokens = arrival.prompt_tokens;
  request.known_tokens = arrival.prompt_tokens;
  // Not declared: the engine's default, all that the context has room for (ENGINES.md 3.1).
  const std::int32_t room = room_behind(arrival.prompt_tokens);
  request.max_tokens = arrival.max_tokens > 0 ? arrival.max_tokens : room;
  if (rarely(limits_.cuts_max_tokens)) request.max_tokens = std::min(request.max_tokens, room);
  request.max_tokens = std::min(request.max_tokens, limits_.max_output_tokens);
  request.reserved_output = reserved_output(request, output_of(request, arrival));
  request.class_id = arrival.class_id;
  request.priority = arrival.priority;
  request.prefix = arrival.prefix;
  request.output_segment = arrival.output_segment;
  request.prompt_logprobs = arrival.prompt_logprobs;
  request.adapter = arrival.adapter;
  request.state = RequestState::waiting;
}

bool AdmissionRules::fits_context(const Request& request) const {
  const TokenCount declared = TokenCount{request.prompt_tokens} + request.max_tokens;
  return request.prompt_tokens < limits_.max_model_len &&
         request.prompt_tokens <= limits_.max_prompt_tokens && declared <= limits_.max_model_len;
}

bool AdmissionRules::can_ever_serve(const Request& request) const {
  const TokenCount least = TokenCount{request.prompt_tokens} +
                           (limits_.reserves_max_tokens ? request.reserved_output : 1);
  return fits_context(request) && least <= limits_.max_request_tokens;
}

std::int32_t AdmissionRules::reserved_output(const Request& request, std::int32_t output) const {
  const std::int32_t room = room_behind(request.prompt_tokens);
  switch (reservation_) {
    case OutputReservation::max_tokens: return request.max_tokens;
    case OutputReservation::max_model_len: return room;
    case OutputReservation::oracle: return output;
    case OutputReservation::pow2:
      return static_cast<std::int32_t>(std::min<std::uint32_t>(
          std::bit_ceil(static_cast<std::uint32_t>(output)), static_cast<std::uint32_t>(room)));
  }
  return request.max_tokens;
}

}  // namespace headroom
