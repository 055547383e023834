// The part of Replica that is about LoRA (docs/semantics.md 29): who uses an adapter is known as
// sums, in AdapterSlots by adapter and in the DecodeSet by rows.

#include "sim/kernel/check.hpp"
#include "sim/kernel/likely.hpp"
#include "sim/serving/replica.hpp"

namespace headroom {
namespace {

// An ending row has left the plans, a waiting one is in none.
bool takes_part(const Request& request) {
  return request.state == RequestState::prefilling || request.state == RequestState::decoding;
}

}  // namespace

// Of the step that is being planned, before anybody in it ends.
void Replica::count_adapters(StepShape& shape) {
  shape.adapters = static_cast<std::int64_t>(parts_.adapters->in_use().size());
  shape.adapter_tokens = shape.decode_rows > 0 ? sums_.decodes().adapted() : 0;
  for (const Chunk& chunk : plan_.chunks) {
    if (requests_[chunk.id].adapter != 0) shape.adapter_tokens += chunk.tokens;
  }
  parts_.adapters->on_step();
}

void Replica::leave_adapter(const Request& request) {
  if (rarely(parts_.adapters.has_value()) && takes_part(request))
    parts_.adapters->leave(request.adapter);
}

void Replica::check_adapters() const {
  std::int64_t rows = 0;
  for (RequestId id = 0; id < stories_.size(); ++id) {
    if (!stories_[id].here || !takes_part(requests_[id])) continue;
    rows += requests_[id].adapter != 0 ? 1 : 0;
  }
  HEADROOM_CHECK(rows == parts_.adapters->rows(), "rows with an adapter differ from the requests");
}

}  // namespace headroom
