#include "python/columns.hpp"

#include <nanobind/ndarray.h>

namespace nb = nanobind;

namespace headroom::python {
namespace {

using Memory = std::shared_ptr<const void>;

// Python's reference to the memory of a run.
nb::capsule owner_of(const Memory& memory) {
  return {new Memory(memory), [](void* held) noexcept { delete static_cast<Memory*>(held); }};
}

class Arrays {
 public:
  Arrays(std::size_t rows, const Memory& memory) : rows_(rows), owner_(owner_of(memory)) {}

  template <typename Value>
  void add(const char* name, const api::Column<Value>& column) {
    const auto stride = static_cast<std::int64_t>(column.stride);
    using Array = nb::ndarray<nb::numpy, const Value, nb::ndim<1>>;
    arrays_[name] = Array(column.first, {rows_}, owner_, {stride}).cast(nb::rv_policy::reference);
  }
  [[nodiscard]] nb::dict take() { return std::move(arrays_); }

 private:
  std::size_t rows_;
  nb::capsule owner_;
  nb::dict arrays_;
};

}  // namespace

nb::dict request_arrays(const api::RunTables& tables) {
  const api::RequestColumns& table = tables.requests;
  Arrays arrays(table.rows, tables.memory);
  arrays.add("class", table.class_id);
  arrays.add("replica", table.replica);
  arrays.add("arrival_ns", table.arrival_ns);
  arrays.add("queued_ns", table.queued_ns);
  arrays.add("first_scheduled_ns", table.first_scheduled_ns);
  arrays.add("first_token_ns", table.first_token_ns);
  arrays.add("finish_ns", table.finish_ns);
  arrays.add("prompt_tokens", table.prompt_tokens);
  arrays.add("output_tokens", table.output_tokens);
  arrays.add("max_tokens", table.max_tokens);
  arrays.add("preemptions", table.preemptions);
  arrays.add("outcome", table.outcome);
  return arrays.take();
}

nb::dict timeline_arrays(const api::RunTables& tables) {
  const api::TimelineColumns& table = tables.timeline;
  Arrays arrays(table.rows, tables.memory);
  arrays.add("time_ns", table.time_ns);
  arrays.add("replica", table.replica);
  arrays.add("running_requests", table.running_requests);
  arrays.add("waiting_requests", table.waiting_requests);
  arrays.add("kv_capacity_tokens", table.kv_capacity_tokens);
  arrays.add("kv_used_tokens", table.kv_used_tokens);
  arrays.add("kv_reserved_tokens", table.kv_reserved_tokens);
  arrays.add("kv_internal_tokens", table.kv_internal_tokens);
  arrays.add("kv_external_tokens", table.kv_external_tokens);
  arrays.add("kv_cached_tokens", table.kv_cached_tokens);
  arrays.add("oom", table.oom);
  return arrays.take();
}

}  // namespace headroom::python
