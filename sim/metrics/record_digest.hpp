#pragma once
// What a request's record adds to the digest of its run.

#include "sim/kernel/digest.hpp"
#include "sim/serving/request.hpp"

namespace headroom {

inline void add_record(Digest& digest, const RequestRecord& record) {
  // Two values in one word; both stay apart whatever they are.
  const auto pack = [](std::int32_t high, std::int32_t low) {
    return (std::uint64_t{static_cast<std::uint32_t>(high)} << 32) |
           static_cast<std::uint32_t>(low);
  };
  digest.add(record.arrival_ns);
  digest.add(record.queued_ns);
  digest.add(record.first_scheduled_ns);
  digest.add(record.first_token_ns);
  digest.add(record.finish_ns);
  digest.add(record.index);
  digest.add(pack(record.prompt_tokens, record.output_tokens));
  digest.add(pack(record.max_tokens, record.class_id));
  digest.add(
      pack((record.replica << 8) | static_cast<std::uint8_t>(record.outcome), record.preemptions));
}

}  // namespace headroom
