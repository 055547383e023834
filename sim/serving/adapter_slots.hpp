#pragma once
// LoRA adapters: which ones the batch uses, and where each one is: in a slot of the device, in host
// memory, or on the disk alone (docs/semantics.md 29).
//
// One order of recency decides all. Adapters of the batch come first, in no order; behind them
// those of earlier steps, the latest in front; of those that the same step was the last to use, the
// smallest number. The first `device_slots` of all are on the device, the first `host_slots` in
// host memory too.

#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/time.hpp"

namespace headroom {

struct AdapterOptions {
  std::int32_t adapters = 0;      // numbered from 1; 0: the request uses no adapter
  std::int32_t device_slots = 1;  // distinct adapters of a batch, >= 1 (vLLM: max_loras)
  std::int32_t host_slots = 1;    // >= device_slots (vLLM: max_cpu_loras)
  Ticks load_ticks = 0;           // of one adapter, from host memory into its slot
  Ticks read_ticks = 0;           // from the disk to the host, before that
};

struct AdapterCounts {
  std::int64_t used = 0;   // distinct adapters that ever ran
  std::int64_t loads = 0;  // into a slot
  std::int64_t reads = 0;  // of these, from the disk

  friend constexpr bool operator==(const AdapterCounts&, const AdapterCounts&) = default;
  AdapterCounts& operator+=(const AdapterCounts& other) {
    used += other.used;
    loads += other.loads;
    reads += other.reads;
    return *this;
  }
};

class AdapterSlots {
 public:
  explicit AdapterSlots(const AdapterOptions& options);

  // Whether the batch may take in one more adapter than it has.
  [[nodiscard]] bool has_room() const {
    return static_cast<std::int32_t>(in_use_.size()) < options_.device_slots;
  }
  // Distinct adapters of the batch; their order means nothing.
  [[nodiscard]] std::span<const std::int32_t> in_use() const { return in_use_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }  // of the batch that use one

  // A request enters the batch; only with an adapter that is in use, or while there is room. 0: no
  // adapter.
  void join(std::int32_t adapter);
  // It takes part in no further plans.
  void leave(std::int32_t adapter);
  // All requests of the step being planned have joined.
  void on_step() { ++step_; }
  // The engine died. It starts with the adapters of the highest numbers: it loads all, from 1 on.
  void on_engine_lost();

  // How long the loads since the last call take.
  [[nodiscard]] TickSum take_load_ticks();
  [[nodiscard]] const AdapterCounts& counts() const { return counts_; }

 private:
  enum class Place : std::uint8_t { disk, host, device, in_use };
  using Hook =
      boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;
  struct State : Hook {
    std::int64_t rows = 0;
    std::int64_t last_used = 0;  // step
    std::int32_t adapter = 0;
    std::uint32_t seat = 0;  // in in_use_
    Place place = Place::disk;
    bool was_used = false;
  };
  struct Order {
    bool operator()(const State& a, const State& b) const {
      return a.last_used != b.last_used ? a.last_used > b.last_used : a.adapter < b.adapter;
    }
  };
  using Unused = boost::intrusive::set<State, boost::intrusive::compare<Order>>;

  void take_unused(State& state);
  void fill_device();

  AdapterOptions options_;
  std::vector<State> states_;  // by adapter
  std::vector<std::int32_t> in_use_;
  // The others in memory, in order: first those on the device, behind them those that are not.
  Unused on_device_;
  Unused in_host_;
  std::int64_t step_ = 0;  // beyond all numbers of adapters
  std::int64_t rows_ = 0;
  TickSum load_ticks_ = 0;
  AdapterCounts counts_;
};

}  // namespace headroom
