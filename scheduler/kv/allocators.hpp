#pragma once
// The table of all KV allocators: what each is and can do. A new one is a file pair and a row in
// allocators.cpp.

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "scheduler/kv/paged.hpp"
#include "sim/options/rows.hpp"
#include "sim/serving/kv_allocator.hpp"

namespace headroom {

// What a pool is made of. Each allocator takes what it needs.
struct AllocatorInputs {
  PagedKvOptions paged;
  bool radix_tree = false;     // the prefix cache of `paged` is RadixKv's
  TokenCount tokens = 0;       // of the pool, in tokens
  std::int32_t sequences = 1;  // the most at once
  TokenCount longest = 0;      // tokens of the longest sequence
  OptionBag own;
};

struct AllocatorPolicy {
  std::string_view name = {};  // as scenarios spell it: engine.kv_allocator
  std::string_view doc = {};
  bool in_blocks = false;     // memory is taken in blocks as a request grows
  bool in_one_range = false;  // of an address space without a null block
  // Whether requests look for cached prefixes; empty: as the batch policy says.
  std::optional<bool> (*finds_prefixes)(const OptionBag& own) = nullptr;
  std::vector<OwnRow> (*options)() = nullptr;
  std::unique_ptr<KvAllocator> (*make)(const AllocatorInputs& inputs) = nullptr;
};

[[nodiscard]] std::span<const AllocatorPolicy> allocator_policies();
// A name of the table.
[[nodiscard]] const AllocatorPolicy& allocator_policy(std::string_view name);

}  // namespace headroom
